import pytest

from lightrag_dagster.query.types import Citation


@pytest.mark.parametrize(
    ("page", "page_end", "pages"),
    [(None, None, ""), (3, None, "page 3"), (3, 3, "page 3"), (3, 4, "pages 3–4"), (1, 12, "pages 1–12")],
)
def test_a_citation_names_all_its_pages(page: int | None, page_end: int | None, pages: str) -> None:
    assert Citation("s", "a.pdf", "doc-1", 0, page, 0, 1, page_end=page_end).pages == pages
