"""The formats of a source's files: part 5 of issue 49."""

import gzip
import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, SourceSettings, load_settings
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source, find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.support import FLOOD, RIVER, build, published, snapshot_contents

MAIL = "From: Ida Wren <ida@weir.example>\nDate: Tue, 4 Mar 2025 10:00:00 +0000\nSubject: {}\n\n{}\n"
SKIPPED = "; docs/sources.md lists those that can be read"
TOO_LARGE = "larger than documents.max_bytes = 5000 when it is unpacked"
RST = "Weirs\n=====\n\n.. _weirs:\n\nSee :ref:`weirs`.\n"
TYPES = [
    {},
    {"**/copyright": "text", "*.dat": "md"},
    {"guide.txt": "text", "*.dat": "md"},
    {"*.dat": "text", "*": "log"},
    {"*": "log", "*.dat": "md"},
    {"mail/cur/**": "eml", "*.pot": "log"},
]


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def settings_of(tmp_path: Path, home: str = "home", **named: Any) -> Settings:
    source = {"uri": str(tmp_path / "files"), **named}
    documents = {"max_bytes": 5000, "accept_deletes": True}
    (tmp_path / "sources").mkdir(exist_ok=True)
    return load_settings(
        home=tmp_path / home, sources=tmp_path / "sources", named_sources={"office": source}, documents=documents
    )


def read(settings: Settings) -> dict[str, dict[str, Any]]:
    """Read the source as the pipeline does, and return its rows by path."""
    tables, recipes = SourceTables(Home.of(settings)), Recipes.of(settings)
    version = read_source(find_source(settings, "office"), tables, recipes).version
    return {row["path"]: row for row in tables.read("raw_documents", "office", version.version).to_pylist()}


def said(rows: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str, str | None]]:
    return {path: (row["status"], row["media_type"], row["error"]) for path, row in rows.items()}


def test_what_the_name_does_not_say_the_content_does(tmp_path: Path) -> None:
    write(
        tmp_path / "files",
        {
            "README": "Weirs of the Ill.",
            "docs/copyright": "Copyright by Ida Wren.",
            "docs/guide.txt": RST,
            "tool": b"\x7fELF\0\1\2",
            "image.bmp": b"BM",
            "notes.md.gz": gzip.compress(b"# Levels\n\nThe gauge."),
            "late.eml.gz": gzip.compress(MAIL.format("Late", "It rose.").encode()),
            "changelog.gz": gzip.compress(b"* First"),
            "bomb.md.gz": gzip.compress(bytes(500_000)),
            "bomb.gz": gzip.compress(bytes(500_000)),
            "cut.md.gz": gzip.compress(b"x" * 500)[:-9],
            "a.tar.gz": gzip.compress(b""),
            "scan.png.gz": gzip.compress(b"\x89PNG"),
            "large": "x" * 5001,
            "large-tool": b"\0" * 5001,
            "mail/cur/1700000001.M1P7.imap1:2,S": MAIL.format("Levels", "The gauge rose."),
            "mail/new/1700000002.M1P7.mail.example.com": MAIL.format("Weir", "The weir is shut."),
            "all.mbox": f"From a@b Tue Mar  4 10:00:00 2025\n{MAIL.format('One', 'First.')}",
        },
    )
    rows = read(settings_of(tmp_path))
    assert said(rows) == {
        "README": ("processed", "text/plain", None),
        "docs/copyright": ("processed", "text/plain", None),
        "docs/guide.txt": ("processed", "text/x-rst", None),
        "tool": (
            "skipped",
            "application/octet-stream",
            f"unsupported file type (without suffix, and no text){SKIPPED}",
        ),
        "image.bmp": ("skipped", "application/octet-stream", f"unsupported file type (.bmp){SKIPPED}"),
        "notes.md.gz": ("processed", "text/markdown", None),
        "late.eml.gz": ("processed", "message/rfc822", None),
        "changelog.gz": ("processed", "text/plain", None),
        "bomb.md.gz": ("failed", "text/markdown", TOO_LARGE),
        "bomb.gz": ("failed", "text/plain", TOO_LARGE),
        "cut.md.gz": ("failed", "text/markdown", "damaged or cut short; copy the file again, or pack it again"),
        "a.tar.gz": ("skipped", "application/octet-stream", f"unsupported file type (.tar.gz){SKIPPED}"),
        "scan.png.gz": ("skipped", "image/png", rows["scan.png.gz"]["error"]),
        "large": ("failed", "text/plain", "larger than documents.max_bytes = 5000"),
        "large-tool": (
            "skipped",
            "application/octet-stream",
            f"unsupported file type (without suffix, and no text){SKIPPED}",
        ),
        "mail/cur/1700000001.M1P7.imap1:2,S": ("processed", "message/rfc822", None),
        "mail/new/1700000002.M1P7.mail.example.com": ("processed", "message/rfc822", None),
        "all.mbox": ("processed", "application/mbox", None),
    }
    assert {path: rows[path]["title"] for path in ("README", "notes.md.gz", "changelog.gz", "docs/guide.txt")} == {
        "README": "README",
        "notes.md.gz": "Levels",
        "changelog.gz": "changelog.gz",
        "docs/guide.txt": "guide.txt",
    }
    assert rows["docs/guide.txt"]["content"] == "Weirs\n=====\n\nSee weirs."
    assert rows["mail/cur/1700000001.M1P7.imap1:2,S"]["title"] == "Levels"


def test_what_is_behind_a_packed_file_is_noted(tmp_path: Path) -> None:
    write(
        tmp_path / "files",
        {"a.md.gz": gzip.compress(b"# Levels") + b"rest", "b.txt.gz": gzip.compress(b"B") + bytes(9)},
    )
    assert {path: (row["content"], row["error"]) for path, row in read(settings_of(tmp_path)).items()} == {
        "a.md.gz": ("# Levels", "bytes behind what is packed by gzip are left out"),
        "b.txt.gz": ("B", None),
    }


def test_what_a_mail_server_keeps_beside_mails_is_no_document(tmp_path: Path) -> None:
    kept = [
        *("dovecot-uidlist", "dovecot.index", "dovecot.index.log", "dovecot.index.log.2", "dovecot-uidvalidity.5f3a"),
        *("dovecot.index.cache", "maildirsize", "tmp/1700000003.M1P7.host", "x/dovecot.list.index.log"),
        *("subscriptions", "courierimapuiddb", "dovecot-keywords", "dovecot.mailbox.log"),
    ]
    others = ["cur/1700000001.M1P7.host:2,S", "dovecot.md", "dovecot-guide.txt", "maildirsize.md", "subscriptions.csv"]
    write(tmp_path / "files", dict.fromkeys([*kept, *others], MAIL.format("Levels", "The gauge rose.")))
    rows = read(settings_of(tmp_path))
    assert {path for path, row in rows.items() if row["status"] == "skipped"} == {*kept}
    said = "a file of the mail server; the mails of a maildir are in cur and new"
    assert all(rows[path]["error"].startswith((said, "unsupported file type (.")) for path in kept)
    assert {rows[path]["media_type"] for path in kept} == {"application/x-mail-server"}  # no type that is unknown
    named = read(settings_of(tmp_path, "other", types={"subscriptions": "text"}))
    assert named["subscriptions"]["content"].endswith("The gauge rose.")


def test_what_office_keeps_beside_an_open_document_is_skipped(tmp_path: Path) -> None:
    write(
        tmp_path / "files",
        {"a/~$report.docx": b"\x05Marta", "~$b.XLSX": b"\x05Marta", "~$ a.md": "# A", "~b.md": "# B"},
    )
    rows = read(settings_of(tmp_path))
    skipped = {path: row["error"] for path, row in rows.items() if row["status"] != "processed"}
    assert skipped == dict.fromkeys(
        ["a/~$report.docx", "~$b.XLSX"], "a lock file of Office, beside a document that is open"
    )


def test_what_windows_keeps_in_a_folder_is_skipped_unless_types_name_it(tmp_path: Path) -> None:
    kept = ["a/desktop.ini", "Desktop.INI"]
    write(tmp_path / "files", dict.fromkeys([*kept, "a/my desktop.ini"], "[.ShellClassInfo]\nIconIndex=0"))
    rows = read(settings_of(tmp_path))
    skipped = {path: row["error"] for path, row in rows.items() if row["status"] == "skipped"}
    assert skipped == dict.fromkeys(kept, "a file of Windows that says how a folder is shown")
    named = read(settings_of(tmp_path, "other", types={"a/desktop.ini": "text"}))
    assert [path for path, row in named.items() if row["status"] == "skipped"] == ["Desktop.INI"]


def test_a_mail_of_a_maildir_that_is_marked_as_deleted_is_skipped(tmp_path: Path) -> None:
    names = ["1.M1P7.host:2,ST", "2.M1P7.host,S=9:2,FRTa", "3.M1P7.host!2,T", "4.M1P7.host:2,S", "5.M1T7.host:2,"]
    paths = [f"cur/170000000{name}" for name in names]
    write(tmp_path / "files", dict.fromkeys(paths, MAIL.format("Levels", "The gauge rose.")))
    for name, types in (("plain", {}), ("typed", {"cur/**": "eml"})):
        rows = read(settings_of(tmp_path, name, types=types))
        assert [path for path in paths if rows[path]["status"] == "skipped"] == paths[:3]
        assert {rows[path]["error"] for path in paths[:3]} == {"a mail that is marked as deleted (flag T)"}
        assert {rows[path]["media_type"] for path in paths[:3]} == {"application/x-mail-server"}


@pytest.mark.parametrize(
    ("types", "path", "media_type"),
    [
        ({"**/copyright": "text"}, "a/copyright", "text/plain"),
        ({"cur/**": "eml"}, "cur/1", "message/rfc822"),
        ({"*.DAT": "md", "*.dat": "html", "*": "log"}, "x.dat", "text/html"),
        ({"*.dat": "text", "**/*": "md"}, "x.dat", "text/plain"),
        ({"**/*.txt": "md"}, "a/b.txt", "text/markdown"),
        ({"*.txt": "text"}, "rst.txt", "text/plain"),
        ({"*.dat.gz": "md"}, "x.dat.gz", "text/markdown"),
        ({"*.pl": "py"}, "x.pl", "text/x-python"),
    ],
)
def test_the_settings_of_a_source_name_types_and_the_first_that_matches_counts(
    tmp_path: Path, types: dict[str, str], path: str, media_type: str
) -> None:
    data = MAIL.format("Levels", "It rose.") if media_type == "message/rfc822" else RST
    write(tmp_path / "files", {path: gzip.compress(data.encode()) if path.endswith(".gz") else data})
    row = read(settings_of(tmp_path, types=types))[path]
    assert (row["path"], row["status"], row["media_type"]) == (path, "processed", media_type)
    assert row["title"] in ("Levels", "Weirs", path.rpartition("/")[2])


@pytest.mark.parametrize("name", ["emll", "", "tar.gz", "a/eml", "plain", "bin"])
def test_a_type_that_there_is_not_withholds_the_source_with_a_list_of_those_there_are(
    tmp_path: Path, name: str
) -> None:
    settings = settings_of(write(tmp_path, {"files/a.md": "A."}), types={"**/copyright": name})
    with pytest.raises(SourceError) as error:
        list(list_files(find_source(settings, "office")))
    begin = f"source 'office': types: **/copyright: {name!r} is not known; known are text, bat, c, cfg, conf, "
    assert str(error.value).startswith(begin)
    assert " mbox, md, " in str(error.value)


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"uri": "a.csv", "rows": {}, "types": {"*": "md"}}, "types are for files; rows have rows.format"),
        ({"uri": "a", "types": {"{partition}/*": "md"}}, "{partition} is not replaced in patterns"),
        ({"uri": "a", "types": ["md"]}, "named_sources.x.types"),
    ],
)
def test_types_that_cannot_be_meant_are_refused(named: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_settings(named_sources={"x": named})
    assert reason in str(error.value)


@pytest.mark.long
@pytest.mark.parametrize(
    "types", [*TYPES[:2], *(pytest.param(one, marks=pytest.mark.long) for one in TYPES[2:])], ids=json.dumps
)
def test_after_a_change_of_types_a_source_is_as_if_it_was_read_for_the_first_time(
    tmp_path: Path, types: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path / "files",
        {
            "a.dat": "# Dated\n\nText.",
            "README": RIVER,
            "d/copyright": "Mine.",
            "guide.txt": RST,
            "x.pot": "msg",
            "mail/cur/1:2,S": MAIL.format("Levels", "It rose."),
            "same.md": FLOOD,
            "tool": b"\0",
        },
    )
    now = time.time() + 60
    monkeypatch.setattr(time, "time", lambda: now)  # so that stamps are stable
    for before in TYPES:
        home = f"home {before}"
        read(settings_of(tmp_path, home, types=before))
        settings, clean = (
            settings_of(tmp_path, home, types=types),
            settings_of(tmp_path, f"clean {before}", types=types),
        )
        tables = SourceTables(Home.of(settings))
        pending = why_ingest(find_source(settings, "office"), tables, Recipes.of(settings))
        assert (pending == "raw_documents, input changed") == (before != types)
        assert read(settings) == read(clean)


def test_a_change_of_types_reads_the_files_that_it_concerns_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "files", {"a.md": "A", "b.md": "B", "c.md": "C", "x.dat": "X.", "README": "R.", "tool": b"\0"})
    now = time.time() + 60
    monkeypatch.setattr(time, "time", lambda: now)
    unopened = []
    for types in ({}, {}, {"*.dat": "text"}, {"a.md": "text", "*.dat": "text"}, {"a.md": "text"}, {"*": "md"}, {}):
        settings = settings_of(tmp_path, types=types)
        report = read_source(find_source(settings, "office"), SourceTables(Home.of(settings)), Recipes.of(settings))
        unopened.append(report.documents is not None and report.kept)
    # What is skipped by its name is never opened, nor counted.
    assert unopened == [0, 5, 5, 5, 5, 0, 0]


def test_types_are_no_part_of_a_recipe(tmp_path: Path) -> None:
    one, other = (Recipes.of(settings_of(tmp_path, types=types)) for types in ({}, {"*": "md"}))
    assert one.table_recipes == other.table_recipes
    assert one.generation == other.generation


def test_an_archive_and_partitions_have_types_too(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in {"cur/1:2,S": MAIL.format("Levels", "It rose."), "README": "Text.", "x.dat": "X."}.items():
            archive.writestr(path, text)
    write(tmp_path, {"a.zip": packed.getvalue(), "days/2026-01-01/x.dat": "A", "days/2026-01-01/README": "B"})
    settings = settings_of(tmp_path, uri=f"zip::{tmp_path}/a.zip", types={"*.dat": "md"})
    assert {path: row["media_type"] for path, row in read(settings).items()} == {
        "cur/1:2,S": "message/rfc822",
        "README": "text/plain",
        "x.dat": "text/markdown",
    }

    def partitioned(types: dict[str, str]) -> Source:
        named = SourceSettings(uri=f"{tmp_path}/days/{{partition}}", asset="crawl/days", types=types)
        kinds = tuple((glob, f".{name}") for glob, name in types.items())
        return Source("days", Partitioned("days", named, {"2026-01-01": "1"}), kinds)

    listed = {one.path: one.kind for one in list_files(partitioned({"*.dat": "md"}))}
    assert listed == {"2026-01-01/x.dat": ".md", "2026-01-01/README": ""}
    both = {"*.dat": "md", "*": "log"}
    states = [partitioned(types).origin.state for types in ({}, both, dict(reversed(both.items())))]  # type: ignore[attr-defined]
    assert len({one["settings"] for one in states}) == 3


@pytest.mark.long  # one source is quick, above
def test_a_run_after_a_change_of_types_publishes_what_a_clean_build_does(tmp_path: Path) -> None:
    write(tmp_path / "files", {"a.dat": RIVER, "same.md": FLOOD})
    build(settings_of(tmp_path))
    changed, clean = (settings_of(tmp_path, home, types={"*.dat": "md"}) for home in ("home", "clean"))
    build(changed)
    build(clean)
    assert published(changed).rows["extractions"] == 2
    assert snapshot_contents(changed) == snapshot_contents(clean)
