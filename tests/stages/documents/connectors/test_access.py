"""Who may see a document: by settings, a column or a file beside it, never by the document itself."""

import json
import unicodedata
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import obstore
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.core.installed import installed
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.connectors import folder
from lightrag_dagster.stages.documents.connectors.access import MOST, access_of
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, ListedFile
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.tables.upstream import record_partitions
from lightrag_dagster.storage.take_over import take_over
from tests import layouts
from tests.buckets import S3Server
from tests.packages import install
from tests.stages.documents.connectors.test_web import Page, Server
from tests.support import FLOOD, OFFICE, RIVER, build

HOSTILE = "---\naccess: board\ntags: [board]\nauthor: board\n---\n\n"
BESIDE = {"**": "{sidecar}"}


@pytest.fixture(autouse=True)
def _stable_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "STABLE_AFTER", -1.0)


def write(where: Path, files: dict[str, str | bytes]) -> None:
    for path, data in files.items():
        (where / path).parent.mkdir(parents=True, exist_ok=True)
        (where / path).write_bytes(data.encode() if isinstance(data, str) else data)


def settings_of(tmp_path: Path, access: dict[str, str] | None, home: str = "home", **named: Any) -> Settings:
    source = {"uri": str(tmp_path / "files"), **({"access": access} if access else {}), **named}
    (tmp_path / "sources").mkdir(exist_ok=True)
    return load_settings(home=tmp_path / home, sources=tmp_path / "sources", named_sources={"office": source})


def rows(settings: Settings) -> dict[str, dict[str, Any]]:
    """Read the source as the pipeline does, and return its rows by path."""
    tables, recipes = SourceTables(Home.of(settings)), Recipes.of(settings)
    version = read_source(find_source(settings, "office"), tables, recipes).version
    return {row["path"]: row for row in tables.read("raw_documents", "office", version.version).to_pylist()}


def read(settings: Settings) -> dict[str, list[str] | None]:
    return {path: row["access"] for path, row in rows(settings).items()}


def waiting(settings: Settings) -> str | None:
    return why_ingest(find_source(settings, "office"), SourceTables(Home.of(settings)), Recipes.of(settings))


@pytest.mark.parametrize(
    ("access", "found"),
    [
        ({"**": "board"}, ["board"]),
        ({"**": " board ,staff,, board"}, ["board", "staff"]),
        ({"**": "{list}"}, ["b", "a c"]),
        ({"**": "{one},{list}"}, ["x", "b", "a c"]),
        ({"**": "team-{list}"}, ["team-b", "team-a c"]),
        ({"**": "{one}/{list}"}, ["x/b", "x/a c"]),
        ({"**": "team-{none},staff"}, ["staff"]),
        ({"**": "{none}"}, []),
        ({"**": ""}, []),
        ({"**": "{{one}}"}, ["{one}"]),
        ({"**": "{braces}"}, ["{one}"]),
        ({"**": unicodedata.normalize("NFD", "Größe")}, ["Größe"]),
        ({"**": "{accents}"}, ["Größe"]),
        ({"b/**": "one", "**/*.md": "two", "**": "three"}, ["two"]),
        ({"*": "one"}, []),
        ({}, []),
    ],
)
def test_a_template_has_values_with_commas_between_them(access: dict[str, str], found: list[str]) -> None:
    columns = {
        "list": "b, a c, b",
        "one": "x",
        "none": " , ",
        "braces": "{one}",
        "accents": unicodedata.normalize("NFD", "Größe"),
    }
    assert list(access_of(access, "a/x.md", columns.__getitem__)) == found


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"access": {"**": "{team}"}}, "access: {team} is a column of rows; files have {sidecar} alone"),
        ({"access": {"**": "{}"}}, "access: {} is a column of rows"),
        ({"access": {"**": "{sidecar"}}, "expected '}' before end of string"),
        ({"access": {"**": "{a,b}"}, "rows": {}}, "expected '}' before end of string"),
        ({"access": {"{partition}/*": "board"}}, "{partition} is not replaced in patterns"),
        ({"access": {"**": ["board"]}}, "access.**"),
        ({"access": "board"}, "named_sources.office.access"),
    ],
)
def test_access_that_cannot_be_meant_is_refused_in_one_line(named: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_settings(named_sources={"office": {"uri": "files", **named}})
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.long
def test_settings_say_it_and_documents_do_not(tmp_path: Path) -> None:
    mail = "From: board@weir.example\nX-Access: board\nKeywords: board\nSubject: board\n\nThe gauge rose.\n"
    files: dict[str, str | bytes] = {"minutes/a.md": HOSTILE + RIVER, "b.md": HOSTILE + FLOOD, "c.eml": mail}
    files |= {"d.bin": b"\0", "e.md": ""}
    write(tmp_path / "files", files)
    found = rows(settings_of(tmp_path, {"minutes/**": "managers"}))
    assert {path: row["access"] for path, row in found.items()} == dict.fromkeys(files) | {"minutes/a.md": ["managers"]}
    assert found["b.md"]["tags"] == ["board"]
    assert set(read(settings_of(tmp_path, None, "another")).values()) == {None}


def test_a_file_beside_a_document_says_it_and_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(
        tmp_path / "files",
        {
            "a.md": HOSTILE + RIVER,
            "a.md.access": "\ufeffmanagers, staff\r\n\r\nmanagers\nGr\u006f\u0308\u00dfe\n",
            "b.md": HOSTILE + FLOOD,
            "minutes/c.md": OFFICE,
            "minutes/c.md.access": "all",
            "d.bin": b"\0",
            "d.bin.access": "all",
            "e.md": "E.",
            "e.md.access": "",
            "gone.md.access": "all",
            ".access": "hidden",
        },
    )
    access = {"minutes/**": "board", "**": "{sidecar}"}
    assert read(settings_of(tmp_path, access)) == {
        "a.md": ["managers", "staff", "Größe"],
        "b.md": None,
        "minutes/c.md": ["board"],
        "d.bin": ["all"],
        "e.md": None,
    }
    list(list_files(find_source(settings_of(tmp_path, access), "office")))
    assert caplog.text.count("2 files, such as gone.md.access, are beside no document") == 1
    with_rest = settings_of(tmp_path, {"**": "staff, x-{sidecar}"}, "another")
    assert read(with_rest) == {
        "a.md": ["staff", "x-managers", "x-staff", "x-Größe"],
        "b.md": ["staff"],
        "minutes/c.md": ["staff", "x-all"],
        "d.bin": ["staff", "x-all"],
        "e.md": ["staff"],
    }
    without = rows(settings_of(tmp_path, {"**": "board"}, "third"))
    skipped = {path for path, row in without.items() if row["status"] == "skipped"}
    assert skipped == {"a.md.access", "minutes/c.md.access", "d.bin", "d.bin.access", "e.md.access", "gone.md.access"}


@pytest.mark.parametrize("include", [["**/*.md"], ["a/*", "b.md"]])
def test_patterns_of_documents_are_those_of_the_files_beside_them(tmp_path: Path, include: list[str]) -> None:
    write(tmp_path / "files", {"a/x.md": RIVER, "a/x.md.access": "one", "b.md": FLOOD, "b.md.access": "two"})
    expected = {"a/x.md": ["one"], "b.md": ["two"]}
    assert read(settings_of(tmp_path, BESIDE, include=include)) == expected
    write(tmp_path / "files", {"a/no.md": "No.", "a/no.md.access": "none"})
    assert read(settings_of(tmp_path, BESIDE, include=include, exclude=["**/no.md"])) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x" * MOST, None),
        (b"x" * (MOST + 1), "is longer than 10,000 bytes"),
        ("Größe".encode("utf-16"), "is not UTF-8"),
        (None, "is refused: it leads out of the source, or is not a regular file"),
    ],
)
def test_a_file_beside_a_document_that_is_none_gives_no_value_and_is_said(
    tmp_path: Path, data: bytes | None, reason: str | None
) -> None:
    write(tmp_path / "files", {"a.md": RIVER, "b.md": FLOOD, "b.md.access": "staff"})
    beside, settings = tmp_path / "files" / "a.md.access", settings_of(tmp_path, {"**": "all, {sidecar}"})
    if data is None:
        write(tmp_path, {"elsewhere": "staff"})
        beside.symlink_to(tmp_path / "elsewhere")
    else:
        beside.write_bytes(data)
    found = rows(settings)
    assert (found["a.md"]["content"], found["b.md"]["access"]) == (RIVER.strip(), ["all", "staff"])
    assert found["a.md"]["access"] == (None if reason else ["all", "x" * MOST])
    assert found["a.md"]["error"] == (f"no access value: the file beside it {reason}" if reason else None)
    assert "raw_documents" not in (waiting(settings) or "")
    beside.unlink()
    beside.write_text("staff")
    assert "raw_documents" in (waiting(settings) or "")
    found = rows(settings)
    assert (found["a.md"]["access"], found["a.md"]["error"]) == (["all", "staff"], None)


@pytest.mark.long
def test_a_changed_file_beside_a_document_changes_its_row_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "files", {"a.md": RIVER, "a.md.access": "staff", "b.md": FLOOD})
    settings, clean = (settings_of(tmp_path, BESIDE, home) for home in ("home", "clean"))
    before, beside = rows(settings), tmp_path / "files" / "a.md.access"
    for text, expected in (("board", ["board"]), (None, None), ("staff", ["staff"]), (b"\xff", None), ("x", ["x"])):
        beside.unlink()
        if text is not None:
            write(tmp_path / "files", {"a.md.access": text})
        assert waiting(settings) == "raw_documents, input changed"
        after = rows(settings)
        assert after["a.md"]["access"] == expected
        assert {**after["a.md"], "access": None, "error": None} == {**before["a.md"], "access": None}
        assert after["b.md"] == before["b.md"]
        assert "raw_documents" not in (waiting(settings) or "")
        if text is None:
            beside.touch()
    assert after == rows(clean)


@pytest.mark.long
def test_a_change_of_access_asks_no_model_about_anything(tmp_path: Path) -> None:
    write(tmp_path / "files", {"a.md": RIVER, "b.md": FLOOD, "a.md.access": "staff"})
    settings = settings_of(tmp_path, None)
    build(settings)
    tables = SourceTables(Home.of(settings))
    before = [tables.require(table, "office").version for table in ("raw_documents", "chunks", "extractions")]
    ordered = ({"**": "all", "a.md": "never"}, {"a.md": "now", "**": "all"})
    for number, access in enumerate(({"**": "all"}, BESIDE, *ordered, {"**": "all"}, BESIDE)):
        changed = settings_of(tmp_path, access)
        assert waiting(changed) == "raw_documents, input changed"
        assert read(changed) == read(settings_of(tmp_path, access, f"clean {number}"))
    build(changed)
    after = [tables.require(table, "office").version for table in ("raw_documents", "chunks", "extractions")]
    assert (before[0] != after[0], before[1:]) == (True, after[1:])


def test_an_archive_has_files_beside_documents_and_one_that_is_damaged_is_read_again(tmp_path: Path) -> None:
    def pack(text: str, *, damaged: bool = False) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("d/a.md", RIVER)
            archive.writestr("d/a.md.access", text)
        data = (tmp_path / "a.zip").read_bytes()
        (tmp_path / "a.zip").write_bytes(data.replace(text.encode(), b"boa" + text.encode()[3:]) if damaged else data)

    settings = settings_of(tmp_path, BESIDE, uri=f"zip::{tmp_path}/a.zip")
    pack("staff")
    assert read(settings) == {"d/a.md": ["staff"]}
    pack("staff", damaged=True)
    assert read(settings) == {"d/a.md": ["staff"]}  # with the same sum, it counts as the same
    pack("staff and", damaged=True)
    found = rows(settings)["d/a.md"]
    assert (found["access"], found["content"]) == (None, RIVER.strip())
    assert found["error"].startswith("no access value: the file beside it cannot be read: ")
    assert waiting(settings) == "raw_documents, input changed"  # which is said of what failed, too
    pack("staff and")
    assert read(settings) == {"d/a.md": ["staff and"]}
    assert rows(settings)["d/a.md"]["error"] is None


def test_files_of_a_web_server_have_files_beside_them(tmp_path: Path) -> None:
    pages = {"a.md": RIVER, "a.md.access": "staff", "b.md": FLOOD, "c.md": OFFICE}
    with closing(Server()) as server:
        server.pages = {f"/docs/{path}": Page(text) for path, text in pages.items()}
        server.pages["/docs/c.md.access"] = Page(status=403)
        found = rows(settings_of(tmp_path, BESIDE, uri=f"{server.url}/docs", include=["a.md", "b.md", "c.md"]))
        days = settings_of(
            tmp_path, BESIDE, "days", uri=f"{server.url}/{{partition}}", include=["a.md", "b.md"], asset="a"
        )
        record_partitions(Home.of(days), "office", "a", {"docs": "1"}, 0)
        assert read(days) == {"docs/a.md": ["staff"], "docs/b.md": None}
    assert {path: row["access"] for path, row in found.items()} == {"a.md": ["staff"], "b.md": None, "c.md": None}
    assert found["c.md"]["error"] == (
        "no access value: the file beside it cannot be read: the server answered 403 Forbidden"
    )


def test_objects_of_a_bucket_have_objects_beside_them(tmp_path: Path, buckets: S3Server) -> None:
    uri = buckets.new_bucket()
    for key, text in {"p/a.md": RIVER, "p/a.md.access": "staff", "p/b.md": FLOOD}.items():
        obstore.put(buckets.store(uri), key, text.encode())
    settings = settings_of(tmp_path, BESIDE, uri=f"{uri}/p/**/*.md")
    assert read(settings) == {"a.md": ["staff"], "b.md": None}
    obstore.put(buckets.store(uri), "p/a.md.access", b"board")
    assert read(settings) == {"a.md": ["board"], "b.md": None}


class Shelf:
    """A kind of source whose package says what no setting does."""

    def __init__(self, uri: str) -> None: ...

    def files(self) -> Iterator[ListedFile]:
        """Yield documents, and a file beside one."""
        for path in ("a.md", "b.md", "b.md.access"):
            yield ListedFile(path, f"place {path}", 1, EPOCH, "1", True, access=("board",), sidecar="place a.md")

    def read(self, listed: ListedFile, most: int) -> bytes:
        """Return the place as a text."""
        assert listed.place == f"place {listed.path}"
        return listed.place.encode()


@pytest.mark.parametrize(
    ("access", "found"),
    [
        (None, {"a.md": None, "b.md": None, "b.md.access": None}),
        ({"a.md": "staff"}, {"a.md": ["staff"], "b.md": None, "b.md.access": None}),
        (BESIDE, {"a.md": None, "b.md": ["place b.md.access"]}),
    ],
)
def test_a_package_says_nothing_that_the_settings_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, access: dict[str, str] | None, found: dict[str, list[str] | None]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "shelves", "1.0", {"lightrag_dagster.sources": {"closed": f"{__name__}:Shelf"}})
    installed.cache_clear()
    assert read(settings_of(tmp_path, access, uri="closed://x")) == found
    installed.cache_clear()


def to_jsonl(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))


def test_a_column_of_a_table_says_it_and_its_texts_do_not(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    one = {"id": "a", "text": HOSTILE + RIVER, "team": ["board", "staff"], "tags": "x"}
    to_jsonl(file, one, {"id": "m/b", "text": HOSTILE + FLOOD, "team": None, "tags": "staff"})
    access = {"m/**": "minutes, {team}", "**": "{team}"}
    settings = settings_of(tmp_path, access, uri=str(file), rows={"tags": "tags"})
    before = rows(settings)
    assert {path: row["access"] for path, row in before.items()} == {"a": ["board", "staff"], "m/b": ["minutes"]}
    assert before["a"]["tags"] == ["x"]
    to_jsonl(file, one | {"team": ["staff"]}, {"id": "m/b", "text": HOSTILE + FLOOD, "team": None, "tags": "staff"})
    assert waiting(settings) == "raw_documents, input changed"
    assert rows(settings) == before | {"a": before["a"] | {"access": ["staff"]}}
    assert set(read(settings_of(tmp_path, None, uri=str(file), rows={})).values()) == {None}


@pytest.mark.parametrize("column", ["sidecar", "group", "partition"])
def test_an_unknown_column_withholds_the_source(tmp_path: Path, column: str) -> None:
    to_jsonl(tmp_path / "rows.jsonl", {"id": "a", "text": RIVER, "team": "x"})
    settings = settings_of(tmp_path, {"**": f"{{{column}}}"}, uri=str(tmp_path / "rows.jsonl"), rows={})
    with pytest.raises(SourceError, match=f"its rows have no column '{column}'; there are id, team, text; nothing"):
        list(list_files(find_source(settings, "office")))


def test_an_element_of_a_list_is_one_value_though_it_has_a_comma(tmp_path: Path) -> None:
    groups = {"a": ["Legal, London", " staff ", "staff"], "b": [7, None, "", True], "c": "Legal, London"}
    to_jsonl(tmp_path / "rows.jsonl", *({"id": one, "text": RIVER, "teams": teams} for one, teams in groups.items()))
    settings = settings_of(tmp_path, {"**": "{teams}, x-{teams}"}, uri=str(tmp_path / "rows.jsonl"), rows={})
    assert read(settings) == {
        "a": ["Legal, London", "staff", "x-Legal, London", "x-staff"],
        "b": ["7", "true", "x-7", "x-true"],
        "c": ["Legal", "London", "x-Legal", "x-London"],
    }


def test_rows_with_a_watermark_keep_their_values_until_they_change(tmp_path: Path) -> None:
    file, river = tmp_path / "rows.jsonl", {"id": "a", "text": RIVER, "team": "x", "at": 1}
    flood = {"id": "b", "text": FLOOD, "team": "y", "at": 2}

    def settings(access: dict[str, str] | None) -> Settings:
        return settings_of(tmp_path, access, uri=str(file), rows={"watermark": "at"})

    to_jsonl(file, river, flood)
    assert read(settings({"**": "{team}"})) == {"a": ["x"], "b": ["y"]}
    to_jsonl(file, river | {"team": "z"}, flood | {"team": "v"})  # unseen below the highest value, as any change is
    assert read(settings({"**": "{team}"})) == {"a": ["x"], "b": ["v"]}
    to_jsonl(file, river | {"team": "z", "at": 3}, flood | {"team": "v"})
    assert read(settings({"**": "{team}"})) == {"a": ["z"], "b": ["v"]}
    for access, found in (({"a": "1", "**": "2"}, ["1"]), ({"**": "2", "a": "1"}, ["2"]), (None, None)):
        assert read(settings(access))["a"] == found


@pytest.mark.long
def test_partitions_have_files_beside_documents_and_what_cannot_be_listed_keeps_its_values(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for day in ("1", "2"):
        write(lake / day, {"a.md": f"{RIVER} {day}", "a.md.access": f"day {day}", "m/b.md": f"{FLOOD} {day}"})

    def found(access: dict[str, str] | None, versions: tuple[str, str]) -> dict[str, list[str] | None]:
        settings = settings_of(tmp_path, access, uri=f"{lake}/{{partition}}", asset="crawl/pages")
        record_partitions(Home.of(settings), "office", "crawl/pages", dict(zip("12", versions, strict=True)), 0)
        return {path: who for path, who in read(settings).items() if "/" in path}

    access = {"m/**": "minutes", "**": "{sidecar}"}
    first = {"1/a.md": ["day 1"], "1/m/b.md": ["minutes"], "2/a.md": ["day 2"], "2/m/b.md": ["minutes"]}
    assert found(access, ("1", "1")) == first
    write(lake / "1", {"a.md.access": "another"})
    (lake / "2").rename(tmp_path / "away")
    assert found(access, ("2", "1")) == first | {"1/a.md": ["another"]}
    assert found(access, ("2", "2")) == first | {"1/a.md": ["another"]}  # the second cannot be listed
    changed = {"m/**": "board", "**": "{sidecar}"}
    after = {"1/a.md": ["another"], "1/m/b.md": ["board"], "2/a.md": None, "2/m/b.md": ["board"]}
    assert found(changed, ("2", "2")) == after
    assert found(changed, ("2", "3")) == after
    assert set(found(None, ("2", "3")).values()) == {None}
    (tmp_path / "away").rename(lake / "2")
    assert found(changed, ("2", "3")) == after | {"2/a.md": ["day 2"]}


def test_a_document_that_cannot_be_read_has_todays_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "files", {"a.md": RIVER})
    assert read(settings_of(tmp_path, {"**": "board"})) == {"a.md": ["board"]}
    opened = folder.opened

    def fail(place: str) -> int:
        raise OSError(5, "the disk does not answer")

    monkeypatch.setattr(folder, "opened", fail)
    row = rows(settings_of(tmp_path, {"**": "staff"}))["a.md"]
    assert (row["status"], row["access"], row["content"]) == ("stale", ["staff"], RIVER.strip())
    monkeypatch.setattr(folder, "opened", opened)
    assert read(settings_of(tmp_path, None)) == {"a.md": None}


@pytest.mark.long
def test_a_home_that_was_made_before_there_was_access_has_none_until_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "files", {"a.md": RIVER})
    settings = settings_of(tmp_path, {"**": "board"})
    build(settings)
    home = Home.of(settings)
    monkeypatch.setitem(layouts.LACKED, "raw_documents", "access")
    layouts.as_another_layout(home)
    (file,) = home.root.glob("tables/raw_documents/*/*.parquet")
    assert "access" not in pq.ParquetFile(file).schema_arrow.names
    take_over(home)
    tables = SourceTables(home)
    version = tables.require("raw_documents", "office").version
    assert tables.read("raw_documents", "office", version)["access"].to_pylist() == [None]
    (stamps,) = home.root.glob("tables/stamps/*/*.json")
    stamps.write_text(json.dumps(json.loads(stamps.read_text()) | {"recipe": "that of other columns"}))
    assert read(settings) == {"a.md": ["board"]}
