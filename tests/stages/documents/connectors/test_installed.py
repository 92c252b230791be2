import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lightrag_dagster.core.installed import installed
from lightrag_dagster.settings import SourceSettings
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.installed import InstalledSource
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, ListedFile
from lightrag_dagster.stages.documents.connectors.patterns import Patterns
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source
from tests.packages import install

LISTED = ListedFile("a.md", "A", 5, EPOCH, "1", stamp_is_stable=True)


class Shelf:
    """A kind of source: `path=stamp` for each document after `shelf://`."""

    at_once = 3

    def __init__(self, uri: str) -> None:
        self._given = uri.removeprefix("shelf://").split(",")

    def files(self) -> Iterator[ListedFile]:
        """Yield what the URI names."""
        for path, _, stamp in (one.partition("=") for one in self._given):
            yield replace(LISTED, path=path, place=path.upper(), stamp=stamp)

    def read(self, listed: ListedFile, most: int) -> bytes | str:
        """Return the place, as a text for one that is called TEXT.MD."""
        return listed.place if listed.place == "TEXT.MD" else f"{most} of {listed.place}".encode()


@pytest.fixture(autouse=True)
def shelves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that brings this kind of source."""
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "shelves", "1.0", {"lightrag_dagster.sources": {"shelf": f"{__name__}:Shelf"}})
    installed.cache_clear()
    yield
    installed.cache_clear()


def shelf(given: str, **patterns: tuple[str, ...]) -> InstalledSource:
    found = choose_origin("s", SourceSettings.model_validate({"uri": f"shelf://{given}", **patterns}))
    assert isinstance(found, InstalledSource)
    return found


def test_documents_are_listed_by_patterns_and_refused_as_of_any_source() -> None:
    found = list(list_files(Source("s", shelf("a.md=1,b.dat=1,c/d.md=1,c\n.md=1,e.txt=1", exclude=("e.*",)))))
    assert [(one.path, one.refused) for one in found] == [
        ("a.md", None),
        ("b.dat", "unsupported file type (.dat); docs/sources.md lists those that can be read"),
        ("c/d.md", None),
        ("c\\n.md (49c35e74)", "path holds control characters or is not UTF-8; rename it"),
    ]


def test_a_document_without_a_stamp_is_an_error_since_it_would_never_be_read_again() -> None:
    with pytest.raises(ValueError, match=r"'b\.md' has no stamp"):
        list(shelf("a.md=1,b.md").files())


def test_the_first_bytes_are_read_and_nothing_else() -> None:
    origin = shelf("a.md=1")
    assert origin.read(LISTED, 4) == b"4 of"
    with pytest.raises(TypeError, match="bytes-like"):
        origin.read(replace(LISTED, place="TEXT.MD"), 4)


def test_the_package_says_how_many_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shelf("a.md=1").at_once == 3
    monkeypatch.delattr(Shelf, "at_once")
    assert shelf("a.md=1").at_once == 1


def test_it_goes_to_other_processes_without_its_connection() -> None:
    origin = shelf("a.md=1")
    origin.read(LISTED, 4)
    assert pickle.loads(pickle.dumps(origin)) == InstalledSource("shelf://a.md=1", Patterns(("**/*",)))
