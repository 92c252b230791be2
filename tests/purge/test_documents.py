"""Finding what a purge is about: one look at each table, however many documents are gone."""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest

from lightrag_dagster.core import identity
from lightrag_dagster.errors import SourceError, StoreError
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.cache_usage import Gone
from lightrag_dagster.purge.documents import copies, find_gone, holders, noted, stored_documents
from lightrag_dagster.purge.purge import _forget_records
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.files.atomic import write_text
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest, Pins
from lightrag_dagster.storage.purging import unfinished_purge
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, pinned_snapshots
from lightrag_dagster.storage.tables.acceptance import MADE_FROM
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.storage.corpus import merge, rows
from tests.support import write_source

Result = TypeVar("Result")


def counted(function: Callable[[], Result]) -> tuple[Result, Counter[str]]:
    """Return a result, and how often tables were read, sources listed and whole columns worked on for it."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        name, file = frame.f_code.co_name, Path(frame.f_code.co_filename)
        if event == "call" and (name in ("read_parquet", "list_files") or file.parts[-2:] == ("pyarrow", "compute.py")):
            calls[name] += 1

    sys.setprofile(note)
    try:
        return function(), calls
    finally:
        sys.setprofile(None)


def gone_of(settings: Settings, names: Sequence[str]) -> Gone:
    return find_gone(Situation.looking(settings), names)


def write_documents(home: Home, source: str, documents: dict[str, str]) -> None:
    """Write the tables of a source whose documents have these hashes, by path, and no chunks."""
    found = [
        {"source": source, "doc_id": identity.document_id(source, path), "path": path, "content_hash": content}
        for path, content in documents.items()
    ]
    records, tables, versions = {"raw_documents": found}, SourceTables(home), dict[str, str]()
    for table, schema in SOURCE_TABLES.items():
        parent = MADE_FROM.get(table)
        inputs = {parent: versions[parent]} if parent else {}
        values = [{"status": "processed", **row} for row in records.get(table, [])]
        written = tables.write(table, source, rows(schema, values), inputs=inputs, recipe="code")
        versions[table] = written.version


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Manifest]:
    """A home whose snapshot lacks 40 documents that it had, and has copies of two of them."""
    home = Home(tmp_path_factory.mktemp("purged") / "home")
    gone = {f"gone-{number}.md": f"hash {number}" for number in range(40)}
    write_documents(home, "notes", gone | {"kept.md": "kept", "empty.md": "", "gone-empty.md": ""})
    write_documents(home, "notes", gone | {"kept.md": "changed"})
    write_documents(home, "notes", {"kept.md": "kept", "renamed.md": "hash 7", "empty.md": ""})
    write_documents(home, "archive", {"copy.md": "hash 7", "other.md": "hash 12"})
    generation = merge(home, "archive", "notes")
    return home, Manifest.model_construct(snapshot_id=generation.id)


def test_copies_of_many_documents_are_found_by_one_join(home: tuple[Home, Manifest]) -> None:
    def found(number: int) -> tuple[dict[str, list[str]], Counter[str]]:
        gone = {"notes": {f"gone-{one}.md" for one in range(number)} | {"gone-empty.md"}}
        return counted(lambda: copies(home[0], gone, home[1]))

    few, many = found(8), found(40)
    assert few[0] == {"notes/gone-7.md": ["archive/copy.md", "notes/renamed.md"]}
    assert many[0] == few[0] | {"notes/gone-12.md": ["archive/other.md"]}
    assert few[1] == many[1]
    assert many[1]["read_parquet"] == 3 + 2  # the versions of the source, and the snapshot's two sources


def test_copies_of_a_whole_source_are_found(home: tuple[Home, Manifest]) -> None:
    assert copies(home[0], {"archive": set()}, home[1]) == {
        "archive/copy.md": ["archive/copy.md", "notes/renamed.md"],
        "archive/other.md": ["archive/other.md"],
    }


def test_holders_of_many_documents_are_found_by_reading_each_version_once(home: tuple[Home, Manifest]) -> None:
    def found(number: int) -> tuple[dict[str, list[str]], Counter[str]]:
        return counted(lambda: holders(home[0], {"notes": {f"gone-{one}.md" for one in range(number)}}))

    few, many = found(1), found(40)
    assert few[0] == {"notes/gone-0.md": []}
    assert len(many[0]) == 40
    assert few[1]["read_parquet"] == many[1]["read_parquet"] == 3


def test_holders_are_the_snapshots_that_have_a_document(published_home: Path) -> None:
    (snapshot,) = list_snapshots(Home(published_home))
    gone = {"office": set[str](), "archive": {"flood.md", "never.md"}}
    assert holders(Home(published_home), gone) == {
        "archive/flood.md": [snapshot.snapshot_id],
        "archive/never.md": [],
        "office": [snapshot.snapshot_id],
    }


def test_names_of_other_snapshots_are_forgotten(tmp_path: Path) -> None:
    home = Home(tmp_path)
    names = {"before": "gen-1", "today": "gen-2", "earlier": "gen-0"}
    write_text(home.pins, Pins(names=names).model_dump_json())
    _forget_records(home, {}, Manifest.model_construct(snapshot_id="gen-2"))
    assert pinned_snapshots(home) == {"today": "gen-2"}


def test_a_source_is_listed_once(settings: Settings) -> None:
    write_source(settings, "notes", {"kept.md": "Kept."})
    write_documents(Home(settings.home), "notes", {f"{number}.md": "hash" for number in range(20)})
    names = [f"notes/{number}.md" for number in range(20)]
    few, many = (counted(partial(gone_of, settings, asked)) for asked in (names[:1], names))
    assert many[0] == {"notes": {f"{number}.md" for number in range(20)}}
    assert many[1]["list_files"] == few[1]["list_files"] > 0
    with pytest.raises(SourceError, match=r"notes/kept\.md is still in its source"):
        gone_of(settings, [*names, "notes/kept.md"])


def test_a_name_that_never_was_a_source_is_asked_about(settings: Settings) -> None:
    write_source(settings, "notes", {"kept.md": "Kept."})
    write_documents(Home(settings.home), "notes", {"a/kept.md": "kept"})
    write_documents(Home(settings.home), "left", {"all.md": "left"})
    for name, meant in (("kept.md", "notes/a/kept.md"), ("a/kept.md", "notes/a/kept.md"), ("note/b.md", "notes")):
        source = name.split("/")[0]
        with pytest.raises(SourceError, match=rf"never was a source '{source}', .*; did you mean {meant}\?"):
            gone_of(settings, [name])
    with pytest.raises(SourceError, match=r"did you mean left\?"):
        gone_of(settings, ["lefd"])
    for name in ("something", "", ".", ".."):
        with pytest.raises(SourceError, match=f"never was a source '{name}', or it is purged already$"):
            gone_of(settings, [name])
    assert gone_of(settings, ["left"]) == {"left": set()}


def test_a_path_that_never_was_a_document_is_asked_about(settings: Settings) -> None:
    write_source(settings, "notes", {"kept.md": "Kept."})
    write_documents(Home(settings.home), "notes", {"2023/january.md": "gone", "kept.md": "kept"})
    write_documents(Home(settings.home), "notes", {"kept.md": "kept"})
    for name, meant in (("notes/2023/januar.md", "notes/2023/january.md"), ("notes/kept.txt", "notes/kept.md")):
        with pytest.raises(SourceError, match=rf"no table has {name}: .*; did you mean {meant}\?"):
            gone_of(settings, [name])
    with pytest.raises(SourceError, match=r"purged already$"):
        gone_of(settings, ["notes/something-else-altogether.html"])
    assert gone_of(settings, ["notes/2023/january.md"]) == {"notes": {"2023/january.md"}}


def test_accents_may_be_composed_or_not(settings: Settings) -> None:
    source, kept, gone = "e\u0301quipe", "kept-e\u0301te\u0301.md", "proce\u0301dure.md"
    write_source(settings, source, {kept: "Kept."})
    write_documents(Home(settings.home), source, {kept: "kept", gone: "gone"})
    write_documents(Home(settings.home), "e\u0301cole", {"all.md": "left"})
    assert gone_of(settings, ["\u00e9quipe/proc\u00e9dure.md"]) == {source: {gone}}
    assert gone_of(settings, ["\u00e9cole"]) == {"e\u0301cole": set()}
    with pytest.raises(SourceError, match="is still in its source"):
        gone_of(settings, ["\u00e9quipe/kept-\u00e9t\u00e9.md"])


def test_what_an_interrupted_purge_was_about_is_known_until_it_ends(settings: Settings) -> None:
    write_source(settings, "notes", {"kept.md": "Kept."})
    home, whole = Home(settings.home), set[str]()
    first, second = {"notes": {"a.md", "b.md"}}, {"notes": {"b.md"}, "hidden": whole}
    for gone in (first, second):
        with pytest.raises(KeyboardInterrupt), noted(home, gone):
            raise KeyboardInterrupt
    assert gone_of(settings, ["notes/a.md", "notes/b.md", "hidden"]) == first | {"hidden": whole}
    said = f"`lightrag-dagster purge … --yes` finishes it, with the sources and paths that {home.purging} has"
    assert [line.endswith(said) for line in unfinished_purge(home)] == [True]
    noted_down = json.loads(home.purging.read_text())["gone"]
    assert {source: sorted(paths) for source, paths in noted_down.items()} == {"notes": ["a.md", "b.md"], "hidden": []}
    with noted(home, second):
        pass
    assert gone_of(settings, ["notes/a.md"]) == {"notes": {"a.md"}}
    for name in ("notes/b.md", "hidden"):
        with pytest.raises(SourceError, match="purged already"):
            gone_of(settings, [name])
    half = home.root / ".purging.json.0a1b2c3d.tmp"  # of a purge that was killed at its first write
    half.write_text("a.md")
    with noted(home, {"notes": {"a.md"}}):
        pass
    assert not home.purging.exists()
    assert not half.exists()
    assert unfinished_purge(home) == []


def test_a_purge_of_edits_stays_unfinished_after_one_of_documents(settings: Settings) -> None:
    home = Home(settings.home)
    with pytest.raises(KeyboardInterrupt), noted(home, {}):
        raise KeyboardInterrupt
    with noted(home, {"notes": {"a.md"}}):
        pass
    assert len(unfinished_purge(home)) == 1
    with noted(home, {}):
        pass
    assert unfinished_purge(home) == []


def test_an_old_version_that_is_damaged_is_left_out_and_todays_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home, folder = Home(tmp_path), Home(tmp_path).source_table("raw_documents", "notes")
    write_documents(home, "notes", {"gone.md": "old"})
    (old,) = folder.glob("*.parquet")
    write_documents(home, "notes", {"kept.md": "new"})
    (new,) = set(folder.glob("*.parquet")) - {old}
    old.write_bytes(b"damaged")
    assert stored_documents(home, "notes")["path"].to_pylist() == ["kept.md"]
    said = "left out, since no run reads this version of the documents of notes"
    assert [one.partition("; ")[0] for one in caplog.messages] == [f"{said}: {old} is damaged"]
    new.write_bytes(b"damaged")
    with pytest.raises(StoreError, match=re.escape(f"{new} is damaged")):
        stored_documents(home, "notes")


def test_the_id_of_a_row_may_be_like_a_path_that_leads_elsewhere(settings: Settings) -> None:
    write_source(settings, "notes", {"kept.md": "Kept."})
    gone = {"notes": {"a/../b", "../../x"}}
    with pytest.raises(KeyboardInterrupt), noted(Home(settings.home), gone):
        raise KeyboardInterrupt
    assert gone_of(settings, ["notes/a/../b", "notes/../../x"]) == gone


def test_a_damaged_record_is_a_line_of_warning(settings: Settings) -> None:
    home = Home(settings.home)
    home.root.mkdir(parents=True, exist_ok=True)
    home.purging.write_text("{")
    said = "a purge has not ended, so that removed texts may still be here"
    mended = "is damaged; delete it, and run the last `purge` again"
    assert unfinished_purge(home) == [f"{said}: {home.purging} {mended}"]


@pytest.mark.parametrize("source", ["..", "/etc", "notes/../.."])
def test_a_record_that_names_no_source_is_refused(settings: Settings, source: str) -> None:
    home = Home(settings.home)
    home.root.mkdir(parents=True, exist_ok=True)
    home.purging.write_text(json.dumps({"gone": {source: ["a"]}}))
    said = re.escape(f"{home.purging} names {source!r}, which cannot be a source; delete it, and run")
    with pytest.raises(StoreError, match=said):
        gone_of(settings, ["notes/a.md"])
    with pytest.raises(StoreError, match=said), noted(home, {"notes": {"a.md"}}):
        pass
