"""No filter lets a word of a hidden source or decision into the file; the report of everything says so of itself."""

from pathlib import Path

import pytest

from lightrag_dagster import Filters
from lightrag_dagster.report.page import _read
from lightrag_dagster.report.writing import UNFILTERED
from lightrag_dagster.storage.home import Home
from tests.query.filters.test_leaks import SOURCES, SUBSETS, hidden, make, word_of
from tests.report.homes import report


def leaked(tmp_path: Path, seed: int, subsets: list[tuple[str, ...]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each hidden word that is in the file under a filter."""
    home = make(tmp_path, seed)
    stored = Home.of(home.settings)
    whole = report(stored).html.lower()
    assert all(word_of(source) in whole for source in SOURCES)
    assert any(word in whole for word in home.words if word.startswith("zz"))
    assert UNFILTERED in whole
    code = "".join(map(_read, ("page/vendored/sigma.min.js", "page/vendored/graphology.umd.min.js"))).lower()
    found = []
    for allowed in subsets:
        page = report(stored, Filters(sources=allowed)).html.lower()
        assert UNFILTERED not in page
        found += [(word, allowed) for word in hidden(home, allowed) if page.count(word) > code.count(word)]
    return found


@pytest.mark.long  # tests/query/filters/test_leaks.py asks all quickly
def test_no_word_of_a_hidden_source_or_decision_is_in_the_file(tmp_path: Path) -> None:
    assert leaked(tmp_path, 0, [("archive",), ("notes", "office")]) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 7))
def test_no_word_is_in_the_file_under_any_filter(tmp_path: Path, seed: int) -> None:
    assert leaked(tmp_path, seed, SUBSETS) == []
