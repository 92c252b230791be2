from dataclasses import replace

import pytest

from lightrag_dagster.query.types import Citation, Keywords, Retrieval, Step


@pytest.mark.parametrize(
    ("page", "page_end", "pages"),
    [(None, None, ""), (3, None, "page 3"), (3, 3, "page 3"), (3, 4, "pages 3–4"), (1, 12, "pages 1–12")],
)
def test_a_citation_names_all_its_pages(page: int | None, page_end: int | None, pages: str) -> None:
    assert Citation("s", "a.pdf", "doc-1", 0, page, 0, 1, page_end=page_end).pages == pages


def test_retrievals_are_equal_by_what_they_found_not_by_how() -> None:
    found = Retrieval("Who?", "naive", "gen-1", Keywords())
    assert replace(found, steps=(Step("find", 1.0, {}),), notes=("an option changed nothing",)) == found
    assert replace(found, snapshot_id="gen-2") != found
