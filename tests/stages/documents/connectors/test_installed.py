import pickle
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.core.installed import InstalledError, installed
from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import SourceSettings
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.installed import InstalledSource, _opened
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
    for found in (installed, _opened):
        found.cache_clear()
    yield
    installed.cache_clear()


def changed(**fields: Any) -> ListedFile:
    return replace(LISTED, **fields)


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
    with pytest.raises(InstalledError, match=r"'b\.md' has no stamp"):
        list(shelf("a.md=1,b.md").files())


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (SystemExit(), "SystemExit; nothing was changed"),
        (KeyError("page"), "KeyError: 'page'"),
        ("b.md", "AttributeError: 'str' object has no attribute 'path'"),
        (changed(stamp=12), "TypeError: stamp of 'a.md' is 12, no str"),
        (changed(modified_at=None), "TypeError: modified_at of 'a.md' is None, no datetime"),
    ],
)
def test_a_package_that_ends_or_lists_other_things_costs_its_source_and_is_named(
    monkeypatch: pytest.MonkeyPatch, given: Any, reason: str
) -> None:
    def files(_: Shelf) -> Iterator[Any]:
        yield LISTED
        if isinstance(given, BaseException):
            raise given
        yield given

    monkeypatch.setattr(Shelf, "files", files)
    with pytest.raises(SourceError, match=re.escape(f"shelf = {__name__}:Shelf of shelves 1.0 failed: {reason}")):
        list(list_files(Source("s", shelf("a.md=1"))))


@pytest.mark.parametrize("at_once", [0, "four"])
def test_a_number_of_documents_at_once_that_is_none_costs_its_source(
    monkeypatch: pytest.MonkeyPatch, at_once: object
) -> None:
    monkeypatch.setattr(Shelf, "at_once", at_once)
    with pytest.raises(SourceError, match=r"shelves 1\.0 failed: ValueError: "):
        list(list_files(Source("s", shelf("a.md=1"))))


def test_the_first_bytes_are_read_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    origin = shelf("a.md=1")
    assert origin.read(LISTED, 4) == b"4 of"
    with pytest.raises(InstalledError, match=r"of shelves 1\.0 failed: TypeError: .*bytes-like"):
        origin.read(replace(LISTED, place="TEXT.MD"), 4)
    monkeypatch.setattr(Shelf, "read", lambda *_: sys.exit(3))
    with pytest.raises(InstalledError, match=r"of shelves 1\.0 failed: SystemExit: 3"):
        origin.read(LISTED, 4)


def test_the_package_says_how_many_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shelf("a.md=1").at_once == 3
    monkeypatch.delattr(Shelf, "at_once")
    assert shelf("a.md=1").at_once == 1


def test_it_goes_to_other_processes_without_its_connection() -> None:
    origin = shelf("a.md=1")
    origin.read(LISTED, 4)
    assert pickle.loads(pickle.dumps(origin)) == InstalledSource("shelf://a.md=1", Patterns(("**/*",)))
