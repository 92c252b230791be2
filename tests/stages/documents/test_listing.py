import os
import re
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import SourceSettings
from lightrag_dagster.stages.documents import listing as module
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.filesystem import FileSystem
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, STABLE_AFTER, ListedFile, Origin
from lightrag_dagster.stages.documents.connectors.patterns import Patterns
from lightrag_dagster.stages.documents.listing import list_files, listing_signature
from lightrag_dagster.stages.documents.sources import Source
from tests.support import without_rights


def write(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)


def listing(folder: Path, glob: str = "**/*") -> list[ListedFile]:
    return sorted(list_files(Source("s", LocalFolder(folder, Patterns((glob,))))), key=lambda one: one.path)


def refusals(folder: Path) -> dict[str, str | None]:
    return {listed.path: listed.refused for listed in listing(folder)}


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.txt", "a.html", ".hidden.md", ".git/x.md", "c/.d/e.md", "Z.MD")
    (tmp_path / "empty").mkdir()
    os.utime(tmp_path / "b.md", ns=(0, 1_700_000_000_123_456_789))
    found = listing(tmp_path)
    assert [listed.path for listed in found] == ["Z.MD", "a.html", "a/z.txt", "b.md"]
    assert {listed.refused for listed in found} == {None}
    assert found[3].size == 4
    assert LocalFolder(tmp_path).read(found[3], 3) == b"b.m"
    assert found[3].modified_at == datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)


def test_a_file_that_changed_seconds_ago_has_no_stable_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md")
    os.utime(tmp_path / "a.md", (0, 0))  # as programs do that copy files
    changed = (tmp_path / "a.md").stat().st_ctime
    found = []
    for seconds in (0, STABLE_AFTER - 1, STABLE_AFTER + 1):
        monkeypatch.setattr(time, "time", lambda now=changed + seconds: now)
        found += [one.stamp_is_stable for one in listing(tmp_path)]
    assert found == [False, False, True]


@pytest.mark.parametrize(
    ("content", "files", "size", "batches"),
    [(None, 2, 100, [2, 2, 1]), (b"1234", 100, 10, [3, 2]), (b"1234", 100, 8, [3, 2]), (b"1234", 5, 20, [5])],
)
def test_a_listing_is_written_some_documents_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, files: int, size: int, batches: list[int]
) -> None:
    class Five(LocalFolder):
        def files(self) -> Iterator[ListedFile]:
            return (replace(one, content=content) for one in super().files())

    monkeypatch.setattr(module, "_FILES_AT_ONCE", files)
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", size)
    write(tmp_path / "s", *(f"{number}.md" for number in range(5)))
    found = module.Listing(Source("s", Five(tmp_path / "s", Patterns(("**/*",)))), tmp_path / "listing")
    assert found.count == 5
    written = pq.ParquetFile(tmp_path / "listing").metadata
    assert [written.row_group(group).num_rows for group in range(written.num_row_groups)] == batches


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("**/*", ["a.md", "a.txt", "d/a.md", "d/e/a.md"]),
        ("**", ["a.md", "a.txt", "d/a.md", "d/e/a.md"]),
        ("*", ["a.md", "a.txt"]),
        ("**/*.md", ["a.md", "d/a.md", "d/e/a.md"]),
        ("*/*.md", ["d/a.md"]),
        ("d/**", ["d/a.md", "d/e/a.md"]),
        ("d/**/a.md", ["d/a.md", "d/e/a.md"]),
        ("**/e/*", ["d/e/a.md"]),
        ("?.[mt]*", ["a.md", "a.txt"]),
        ("*.MD", []),
        ("../*", []),
    ],
)
def test_glob(tmp_path: Path, glob: str, expected: list[str]) -> None:
    write(tmp_path, "a.md", "a.txt", "d/a.md", "d/e/a.md")
    assert [listed.path for listed in listing(tmp_path, glob)] == expected


@pytest.mark.parametrize(("content", "expected"), [("", ""), ("now", "now"), ("longer than listed", "longer t")])
def test_a_file_that_changed_since_it_was_listed_is_read_as_it_is(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "a.txt").write_text("listed")
    (listed,) = LocalFolder(tmp_path).files()
    (tmp_path / "a.txt").write_text(content)
    assert LocalFolder(tmp_path).read(listed, 8) == expected.encode()


def test_what_cannot_be_a_document_is_refused_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "image.BMP", "Makefile", "line\nbreak.md", "good.md")
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("")
    os.mkfifo(tmp_path / "pipe.txt")
    supported = "docs/sources.md lists those that can be read"
    unfit = "path holds control characters or is not UTF-8; rename it"
    assert refusals(tmp_path) == {
        "Makefile": None,
        "caf\\udce9.txt (57eaa2c0)": unfit,
        "good.md": None,
        "image.BMP": f"unsupported file type (.bmp); {supported}",
        "line\\nbreak.md (9681b4d3)": unfit,
        "pipe.txt": "not a regular file",
    }


@pytest.mark.parametrize("place", ["link", "folder", "tar"])
def test_a_place_that_is_not_utf_8_costs_its_files_alone(tmp_path: Path, place: str) -> None:
    bad, origin = os.fsdecode(b"caf\xe9.md"), cast("Origin", LocalFolder(tmp_path / "s"))
    write(tmp_path / "s", "good.md")
    (tmp_path / "s" / bad).write_text("x")
    expected = {"caf\\udce9.md (2cc4b280)": "path holds", "good.md": None}
    if place == "link":
        (tmp_path / "s" / "link.md").symlink_to(tmp_path / "s" / bad)
        expected["link.md"] = "its place,"
    elif place == "folder":
        origin = LocalFolder((tmp_path / "s").rename(tmp_path / os.fsdecode(b"\xe9")))
        expected["good.md"] = "its place,"
    else:
        with tarfile.open(tmp_path / "a.tar", "w") as archive:
            archive.add(tmp_path / "s", "")
        origin = FileSystem(f"tar::{tmp_path}/a.tar")
    source = Source("s", origin)
    found = pq.read_table(module.Listing(source, tmp_path / "listing").path).to_pylist()
    assert {one["path"]: one["refused"] and " ".join(one["refused"].split()[:2]) for one in found} == expected
    assert sorted(one["path"] for one in found if not one["place"]) == sorted(
        path for path, why in expected.items() if why
    )


def test_what_no_table_takes_withholds_its_source_alone(tmp_path: Path) -> None:
    class Stamped(LocalFolder):
        def files(self) -> Iterator[ListedFile]:
            return (replace(one, stamp="\udce9") for one in super().files())

    write(tmp_path / "s", "a.md")
    source = Source("s", Stamped(tmp_path / "s"))
    for make in (lambda: module.Listing(source, tmp_path / "listing"), lambda: module.source_signature(source, {})):
        with pytest.raises(SourceError, match="s cannot be listed: 'utf-8' codec can't encode"):
            make()


def test_a_folder_whose_name_is_not_utf_8_and_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"/\\udce9 cannot be listed: No such file"):
        listing(tmp_path / os.fsdecode(b"\xe9"))


def test_a_time_that_no_calendar_has_is_the_nearest_one(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    for seconds, year in ((253_402_300_800, 9999), (-62_135_600_000, 1)):
        os.utime(tmp_path / "a.md", (seconds, seconds))
        assert [one.modified_at.year for one in LocalFolder(tmp_path).files()] == [year]


def test_a_time_outside_the_calendar_in_utc_is_that_of_none(tmp_path: Path) -> None:
    times = [datetime.fromisoformat(one) for one in ("0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00")]

    class Dated(LocalFolder):
        def files(self) -> Iterator[ListedFile]:
            return (replace(one, modified_at=times.pop()) for one in super().files())

    write(tmp_path / "s", "a.md", "b.md")
    listed = module.Listing(Source("s", Dated(tmp_path / "s")), tmp_path / "listing")
    assert [one.modified_at for one in module.files_of(pq.read_table(listed.path))] == [EPOCH, EPOCH]


def test_links_stay_inside_the_source(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(tmp_path, "secret.md", "private/secret.md", "source/real.md", "source/folder/x.md")
    links = {
        "inside.md": source / "real.md",
        "outside.md": tmp_path / "secret.md",
        "relative.md": Path("../secret.md"),
        "private": tmp_path / "private",
        "loop": source,
        "twice": source / "folder",
        "self.md": source / "self.md",
        "gone.md": source / "missing.md",
        "type.md": source / "folder" / "image.bmp",
    }
    write(source, "folder/image.bmp")
    for name, target in links.items():
        (source / name).symlink_to(target)
    out = "symbolic link that leads out of the source"
    found = refusals(source)
    assert found.pop("folder/image.bmp")
    assert found == {
        "folder/x.md": None,
        "gone.md": "symbolic link that leads nowhere: No such file or directory",
        "inside.md": None,
        "outside.md": out,
        "private": out,
        "real.md": None,
        "relative.md": out,
        "self.md": "symbolic link that leads nowhere: Too many levels of symbolic links",
        "type.md": None,
    }


def test_a_sibling_folder_with_the_same_prefix_is_outside(tmp_path: Path) -> None:
    write(tmp_path, "source-private/secret.md", "source/real.md")
    (tmp_path / "source" / "link.md").symlink_to(tmp_path / "source-private" / "secret.md")
    assert refusals(tmp_path / "source")["link.md"] == "symbolic link that leads out of the source"


def test_what_is_excluded_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a.txt", "drafts/a.md", "d/b.md")
    patterns = Patterns(("**/*.md", "a.txt"), ("drafts/**", "**/b.*"))
    found = [listed.path for listed in LocalFolder(tmp_path, patterns).files()]
    assert sorted(found) == ["a.md", "a.txt"]


def test_a_folder_is_entered_only_if_a_file_in_it_may_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "drafts/a.md", "d/drafts/e/a.md", "d/b.md", "x/d/a.md", "drafts2/a.md")
    entered, scan, every = (
        list[str](),
        os.scandir,
        [".", "d", "d/drafts", "d/drafts/e", "drafts", "drafts2", "x", "x/d"],
    )

    def scandir(path: str) -> Any:
        entered.append(os.path.relpath(path, tmp_path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for patterns, folders, files in (
        (Patterns(("**/*",), ("**/drafts/**",)), [".", "d", "drafts2", "x", "x/d"], 4),
        (Patterns(("**/*.md",), ("drafts/*",)), every, 5),
        (Patterns(("d/*/e/*", "?/*.md")), [".", "d", "d/drafts", "d/drafts/e", "x"], 2),
        (Patterns(("*.md",)), ["."], 1),
    ):
        entered.clear()
        assert len([*LocalFolder(tmp_path, patterns).files()]) == files
        assert sorted(entered) == folders


@pytest.mark.parametrize(
    ("named", "left"),
    [
        *((one, ["a.md", "hrx", "hry/a.md"]) for one in ("hr", "hr/", "/hr/**", "./hr/**", "./hr", "hr/**", "**/hr")),
        *((one, ["a.md", "hrx", "hry/a.md"]) for one in ("[h]r", "[h]r/")),
        *((one, ["a.md", "hrx"]) for one in ("h*/", "*/", "**/", "hr*/")),
        *((one, ["a.md"]) for one in ("h*", "./h*", "**/h*")),
        ("hr/**/", ["a.md", "hr/a.md", "hrx", "hry/a.md"]),
        ("hrx/", ["a.md", "hr/a.md", "hr/b/a.md", "hrx", "hry/a.md"]),
    ],
)
def test_a_folder_that_exclude_names_is_left_out_with_all_in_it(tmp_path: Path, named: str, left: list[str]) -> None:
    write(tmp_path, "a.md", "hr/a.md", "hr/b/a.md", "hrx", "hry/a.md")
    origin = choose_origin("s", SourceSettings(uri=str(tmp_path), exclude=(named,)))
    assert sorted(one.path for one in origin.files()) == left


def test_a_folder_that_exclude_names_is_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "lost+found/a.md", "b/a.md")
    monkeypatch.setattr(os, "scandir", lambda path, scan=os.scandir: scan(path) if "lost" not in path else 1 / 0)
    for named in ("lost+found", "lost+found/", "lost*/", "lost*", "**/lost+found/"):
        origin = choose_origin("s", SourceSettings(uri=str(tmp_path), exclude=(named,)))
        assert [one.path for one in origin.files()] == ["b/a.md"]


def test_a_linked_folder_that_is_not_listed_is_refused_and_a_hidden_one_is_a_source_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "..2026/sub/a.md", "..2026/b.md", "hr/a.md", "seen/a.md", "d/a.md", ".git/x.md", "d/hr.md")
    links = {
        "..data": "..2026",
        "sub": "..data/sub",  # as Kubernetes mounts a ConfigMap
        "b.md": "..data/b.md",
        "d/salaries.md": "../hr/a.md",
        "d/hidden.md": "../.git/x.md",
        "people": "hr",
        "twice": "seen",
    }
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    file = "symbolic link to a file that `exclude` leaves out"
    folder = "symbolic link to a folder that is hidden or left out by `include` or `exclude`; link its files"
    expected = {
        **dict.fromkeys(["b.md", "d/a.md", "d/hr.md", "seen/a.md"]),
        **dict.fromkeys(["d/hidden.md", "d/salaries.md"], file),
        **dict.fromkeys(["people", "sub"], folder),
    }
    origin = LocalFolder(tmp_path, Patterns(("**/*",), ("hr/**", ".git/**")))
    assert {one.path: one.refused for one in origin.files()} == expected
    narrow = {one.path: one.refused for one in LocalFolder(tmp_path, Patterns(("d/*", "*"))).files()}
    assert narrow["people"] == folder
    assert narrow["d/salaries.md"] is None
    assert refusals(tmp_path / "..data") == {"b.md": None, "sub/a.md": None}


def test_the_source_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert refusals(tmp_path / "link") == {"a.md": None}


def test_one_file_may_be_a_source(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    assert refusals(tmp_path / "a.md") == {"a.md": None}


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, reason in {"missing": "No such file", "loop": "[Tt]oo many levels"}.items():
        with pytest.raises(SourceError, match=f"source 's': .*{name} cannot be listed: {reason}"):
            listing(tmp_path / name)


@pytest.mark.long
def test_an_unreadable_sub_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    program = "import sys; from pathlib import Path; from lightrag_dagster.stages.documents import listing, sources\n"
    program += "from lightrag_dagster.stages.documents.connectors.folder import LocalFolder\n"
    program += "list(listing.list_files(sources.Source('s', LocalFolder(Path(sys.argv[1])))))"
    said = without_rights("-c", program, tmp_path).stderr
    assert re.search("SourceError: .*closed cannot be listed: Permission denied", said)


def test_the_signature_changes_when_a_file_is_touched(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    first = listing_signature(listing(tmp_path))
    assert listing_signature(listing(tmp_path)) == first

    status = (tmp_path / "a.md").stat()
    (tmp_path / "a.md").write_text("A.md")  # the same size, and the same modification time set back
    os.utime(tmp_path / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    second = listing_signature(listing(tmp_path))
    (tmp_path / "b.md").rename(tmp_path / "c.md")
    third = listing_signature(listing(tmp_path))
    assert len({first, second, third}) == 3
