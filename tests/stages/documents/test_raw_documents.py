import os
import shutil
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.core import identity, progress
from lightrag_dagster.listing_schemas import STAMPS
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import DocumentSettings
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.listing import list_files, rows_of
from lightrag_dagster.stages.documents.raw_documents import read_documents, text_hash
from lightrag_dagster.stages.documents.reading import read_listed
from lightrag_dagster.stages.documents.sources import Source
from tests.readers.office.workbooks import too_large
from tests.readers.test_samples import SAMPLES

SETTINGS = DocumentSettings(max_bytes=1000)


def read(
    folder: Path,
    previous: pa.Table | None = None,
    between: Callable[[], object] = lambda: None,
    settings: DocumentSettings = SETTINGS,
) -> pa.Table:
    """List the folder, do what happens in between, then read what was listed."""
    source = Source("s", LocalFolder(folder))
    listed = pa.table(rows_of(source, list_files(source)))
    between()
    before = (previous or RAW_DOCUMENTS.empty_table(), STAMPS.empty_table())
    return read_listed(source, listed, before, settings)[0].sort_by("path")


def rows(table: pa.Table) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in table.to_pylist()}


@pytest.mark.parametrize(
    ("name", "text", "day"),
    [
        ("2024-03-12-survey.md", "x", date(2024, 3, 12)),
        ("minutes_2024_03_12.txt", "x", date(2024, 3, 12)),
        ("Protokoll 12 vom 2024.03.12.txt", "x", date(2024, 3, 12)),
        ("2024-03-12-survey.md", "---\ndate: 2023-01-02\n---\nx", date(2023, 1, 2)),
        ("v2024.13.40 of 1999-12-31.txt", "x", date(1999, 12, 31)),
        ("2024-03.12.txt", "x", None),
        ("12024-03-12.txt", "x", None),
        ("2024-03-123.txt", "x", None),
        ("2203-03-12.txt", "x", None),
        ("20240312_protokoll.pdf.txt", "x", date(2024, 3, 12)),
        ("IMG-20240312-WA0001.txt", "x", date(2024, 3, 12)),
        ("survey_12.03.2024.txt", "x", date(2024, 3, 12)),
        *[(f"{one}.txt", "x", None) for one in ("20241399", "12345678", "202403121", "v1.12.03.2024", "12.03.2024.1")],
        *[(f"{one}.txt", "x", None) for one in ("12.13.2024", "1.12.2024", "RFC 19000101", "part 19121213")],
        *[(f"{one}.txt", "x", None) for one in ("invoice 20481024", "19691231", "20380101")],
        *[(f"{one}.txt", "x", date(*day)) for one, *day in (("A19700101", 1970, 1, 1), ("2037.12.31", 2037, 12, 31))],
        ("Brief 1912-12-13.txt", "x", date(1912, 12, 13)),
    ],
)
def test_a_day_in_the_name_counts_where_the_text_says_none(
    tmp_path: Path, name: str, text: str, day: date | None
) -> None:
    (tmp_path / "2001-01-01").mkdir()
    (tmp_path / "2001-01-01" / name).write_text(text)
    assert read(tmp_path)["date"].to_pylist() == [day]


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("libreoffice.docx", date(2025, 3, 4)),
        ("due 2030-12-31 libreoffice.docx", date(2025, 3, 4)),
        ("1998-05-04 libreoffice.pdf", date(1998, 5, 4)),
        ("due 2030-12-31 libreoffice.pdf", date(2026, 11, 22)),
        ("2024-03-12 pandoc-3.epub", date(2025, 3, 4)),
    ],
)
def test_an_earlier_day_in_the_name_counts_before_that_on_which_a_program_made_a_pdf(
    tmp_path: Path, name: str, day: date
) -> None:
    shutil.copy(SAMPLES / name.rpartition(" ")[2], tmp_path / name)
    assert read(tmp_path, settings=DocumentSettings())["date"].to_pylist() == [day]


def test_a_document_becomes_a_row(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "guide.md").write_text("# Guide\n\nText &amp; more\n")
    table = read(tmp_path)
    assert table.schema.equals(RAW_DOCUMENTS)
    content = "# Guide\n\nText & more"
    [row] = table.to_pylist()
    assert row.pop("modified_at").timestamp() == pytest.approx((tmp_path / "a" / "guide.md").stat().st_mtime)
    assert row == {
        "source": "s",
        "doc_id": identity.document_id("s", "a/guide.md"),
        "path": "a/guide.md",
        "title": "Guide",
        "content": content,
        "content_hash": identity.text_digest(content),
        "content_length": len(content),
        "summary": content,
        "media_type": "text/markdown",
        "pages": None,
        "elements": None,
        "author": None,
        "date": None,
        "tags": None,
        "access": None,
        "language": None,
        "status": "processed",
        "duplicate_of": None,
        "error": None,
        "file_words": None,
        "lost_words": None,
        "lost_example": None,
        "recipe": None,
    }


def test_tables_and_figures_of_markdown_are_elements_and_those_of_plain_text_are_text(tmp_path: Path) -> None:
    text = "Levels:\n\n| at |\n|---|\n| 14 |\n\n![A weir](weir.png)"
    for name in ("a.md", "a.txt"):
        (tmp_path / name).write_text(text)
    found = rows(read(tmp_path))
    assert found["a.txt"]["elements"] is None
    assert [(one["kind"], one["caption"], text[one["start"] : one["end"]]) for one in found["a.md"]["elements"]] == [
        ("table", "Levels:", "| at |\n|---|\n| 14 |"),
        ("figure", "A weir", "![A weir](weir.png)"),
    ]


@pytest.mark.parametrize(("length", "summary"), [(250, "é" * 250), (251, "é" * 250 + "...")])
def test_the_summary_is_the_first_250_characters(tmp_path: Path, length: int, summary: str) -> None:
    (tmp_path / "a.txt").write_text("é" * length)
    assert rows(read(tmp_path))["a.txt"]["summary"] == summary


def test_a_bad_file_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    (tmp_path / "big.txt").write_text("x" * 1001)
    (tmp_path / "blank.md").write_text(" \n\t\x00 &nbsp;")
    (tmp_path / "doubt.txt").write_bytes(b"Kunde;Ort\n17;K\xf6ln, 5 m\xb2\n")
    (tmp_path / "edge.txt").write_text("x" * 1000)
    (tmp_path / "image.bmp").write_bytes(b"BM")
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    found = rows(read(tmp_path))
    assert {path: (row["status"], row["error"], row["media_type"]) for path, row in found.items()} == {
        "bad.txt": (
            "failed",
            "not valid UTF-8: unexpected end of data at byte 3; save the file as UTF-8",
            "text/plain",
        ),
        "big.txt": ("failed", "larger than documents.max_bytes = 1000", "text/plain"),
        "blank.md": ("empty", "no text was found in it", "text/markdown"),
        "doubt.txt": (
            "processed",
            "its encoding is not certain and read as Windows-1252; save the file as UTF-8",
            "text/plain",
        ),
        "edge.txt": ("processed", None, "text/plain"),
        "image.png": (
            "skipped",
            "an image; documents.recognise_text reads the text in it, documents.describe_figures says what it shows",
            "image/png",
        ),
        "image.bmp": (
            "skipped",
            "unsupported file type (.bmp); docs/sources.md lists those that can be read",
            "application/octet-stream",
        ),
        "link.md": ("failed", "symbolic link that leads out of the source", "text/markdown"),
    }
    for row in found.values():
        if row["status"] != "processed":
            assert (row["content"], row["content_hash"], row["content_length"], row["summary"]) == ("", "", 0, "")
            assert row["title"] == row["path"]


def test_a_duplicate_names_the_document_with_the_smallest_path_and_keeps_its_text(tmp_path: Path) -> None:
    for path, text in {"b.txt": "same", "a.md": " same\n", "c.txt": "same", "d.txt": "other"}.items():
        (tmp_path / path).write_text(text)
    found = rows(read(tmp_path))
    original = identity.document_id("s", "a.md")
    assert {path: (row["status"], row["duplicate_of"], row["content"]) for path, row in found.items()} == {
        "a.md": ("processed", None, "same"),
        "b.txt": ("duplicate", original, "same"),
        "c.txt": ("duplicate", original, "same"),
        "d.txt": ("processed", None, "other"),
    }


def test_empty_documents_are_not_duplicates_of_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "b.txt").write_text(" ")
    (tmp_path / "c.html").write_text("<p></p>")
    said = "it has no bytes", "no text was found in it", "no text was found in it"
    assert [(row["status"], row["error"]) for row in read(tmp_path).to_pylist()] == [("empty", why) for why in said]


def test_a_read_error_keeps_the_last_good_row_as_stale(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Good\n\ntext")
    (tmp_path / "b.md").write_text("other")
    first = read(tmp_path)
    (tmp_path / "new.md").write_text("never read before")

    def vanish() -> None:
        for name in ("a.md", "new.md"):
            (tmp_path / name).unlink()

    second = read(tmp_path, first, between=vanish)
    error = "cannot be read: No such file or directory"
    expected = rows(first)["a.md"] | {"status": "stale", "error": error}
    assert rows(second)["a.md"] == expected
    assert rows(second)["b.md"] == rows(first)["b.md"]
    assert (rows(second)["new.md"]["status"], rows(second)["new.md"]["error"]) == ("failed", error)

    (tmp_path / "a.md").write_text("seen by the listing, gone again")
    third = read(tmp_path, second, between=(tmp_path / "a.md").unlink)
    assert rows(third)["a.md"] == expected

    (tmp_path / "a.md").write_text("back again")
    assert rows(read(tmp_path, third))["a.md"]["status"] == "processed"


def test_a_file_that_became_unusable_is_failed_not_stale(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("good")
    first = read(tmp_path)
    (tmp_path / "a.md").write_bytes(b"\xff\x00")
    assert rows(read(tmp_path, first))["a.md"]["status"] == "failed"


def test_a_stale_row_is_judged_for_duplicates_anew(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("same")
    (tmp_path / "b.md").write_text("same")
    first = read(tmp_path)
    second = rows(read(tmp_path, first, between=(tmp_path / "b.md").unlink))
    assert (second["b.md"]["status"], second["b.md"]["duplicate_of"]) == ("stale", second["a.md"]["doc_id"])

    (tmp_path / "a.md").write_text("changed")
    (tmp_path / "b.md").write_text("same")
    third = rows(read(tmp_path, first, between=(tmp_path / "b.md").unlink))
    assert (third["b.md"]["status"], third["b.md"]["duplicate_of"]) == ("stale", None)


def test_rows_do_not_depend_on_where_the_source_lies(tmp_path: Path) -> None:
    tables = []
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        for path, data in {"a.md": b"# A", "b.txt": b"\xff", "c.bin": b"", "d.html": b"<p>", "e.md": b"e"}.items():
            (folder / path).write_bytes(data)
        (folder / "link.md").symlink_to(folder / "missing.md")
        tables.append(read(folder, between=(folder / "e.md").unlink).drop_columns("modified_at"))
    assert tables[0].equals(tables[1])
    assert str(tmp_path) not in str(tables[0].to_pylist())


def test_progress_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.md").write_text("b")
    reports: list[tuple[str, int, int]] = []
    with progress.listening(lambda *report: reports.append(report)):
        read(tmp_path)
    assert reports == [("documents", 1, 2), ("documents", 2, 2)]


def test_no_files_is_an_empty_table(tmp_path: Path) -> None:
    assert read(tmp_path).equals(RAW_DOCUMENTS.empty_table())


def test_the_text_hash_covers_text_media_type_and_pages() -> None:
    row: dict[str, Any] = {"content_hash": "h", "media_type": "text/plain", "pages": None, "path": "a.txt"}
    others: list[dict[str, Any]] = [
        {"content_hash": "i"},
        {"media_type": "text/markdown"},
        {"pages": [0]},
        {"pages": [0, 1]},
    ]
    assert len({text_hash(row | other) for other in ({}, *others)}) == 5
    assert text_hash(row | {"path": "b.txt"}) == text_hash(row)


def test_an_unchanged_document_keeps_its_time(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.bin"):
        (tmp_path / name).write_text(f"Of {name}.")
    before = read(tmp_path)
    (tmp_path / "b.txt").write_text("Other text.")
    for path in tmp_path.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    old, new = rows(before), rows(read(tmp_path, before))
    assert {path: new[path]["modified_at"] == old[path]["modified_at"] for path in new} == {
        "a.txt": True,
        "b.txt": False,
        "c.bin": True,
    }
    assert new["a.txt"] == old["a.txt"]


def test_properties_are_columns_and_front_matter_is_no_text(tmp_path: Path) -> None:
    block = "---\ntitle: Survey\nauthor: Ida Wren\ndate: 2025-03-04\ntags: [gauges, rivers]\nlang: de\n---\n"
    (tmp_path / "a.md").write_text(f"{block}# Heading\n\nKurz.")
    (tmp_path / "b.md").write_text(f"{block}The gauge at the weir was cleaned in spring, and its housing was cracked.")
    found = rows(read(tmp_path))
    columns = ("title", "author", "date", "tags", "language")
    said = ("Survey", "Ida Wren", date(2025, 3, 4), ["gauges", "rivers"])
    assert tuple(found["a.md"][name] for name in columns) == (*said, "de")
    # What is detected counts before what the document says.
    assert tuple(found["b.md"][name] for name in columns) == (*said, "en")
    assert found["a.md"]["content"] == "# Heading\n\nKurz."


def test_a_date_that_is_none_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "2024-03-12-a.md").write_text("---\ndate: March 2025\n---\nThe gauge was cleaned.")
    [row] = read(tmp_path).to_pylist()
    assert (row["status"], row["date"]) == ("processed", date(2024, 3, 12))
    assert row["error"] == "its date 'March 2025' is left out: write a day, such as 2024-03-05"


def test_a_document_can_be_switched_off(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: Later\ndraft: true\n---\nNot yet.")
    [row] = read(tmp_path).to_pylist()
    assert (row["status"], row["error"]) == ("disabled", "switched off by its front matter: draft: true")
    assert (row["title"], row["content"], row["content_hash"]) == ("Later", "", "")


def test_a_changed_property_is_a_change_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nauthor: Ida\ntags: [a]\n---\ntext")
    before = read(tmp_path)
    os.utime(tmp_path / "a.md", (1_000_000_000, 1_000_000_000))
    assert read(tmp_path, before).equals(before)
    (tmp_path / "a.md").write_text("---\nauthor: Ida\ntags: [b]\n---\ntext")
    assert rows(read(tmp_path, before))["a.md"]["modified_at"] > rows(before)["a.md"]["modified_at"]


@pytest.mark.long
def test_files_with_parsers_fail_alone_and_within_their_limits(tmp_path: Path) -> None:
    samples = Path(__file__).parents[2] / "readers/samples"
    (tmp_path / "too-large.xlsx").write_bytes(too_large())
    for name in ("damaged/without-text.pdf", "damaged/encrypted.docx", "hand.rtf"):
        (tmp_path / Path(name).name).write_bytes((samples / name).read_bytes())
    with zipfile.ZipFile(tmp_path / "long.epub", "w", zipfile.ZIP_DEFLATED) as book:
        place = "<container><rootfiles><rootfile full-path='a.opf'/></rootfiles></container>"
        package = (
            "<package><manifest><item id='a' href='a.html'/></manifest><spine><itemref idref='a'/></spine></package>"
        )
        page = f"<html><body><p>{'weir ' * 10_000}</p></body></html>"
        for name, text in {"META-INF/container.xml": place, "a.opf": package, "a.html": page}.items():
            book.writestr(name, text)
    found = rows(read(tmp_path, settings=DocumentSettings(max_bytes=45_000)))
    said = {name: (row["status"], (row["error"] or "").split(";")[0]) for name, row in found.items()}
    assert said == {
        "too-large.xlsx": ("failed", "needs more memory than documents.max_memory_mb = 2048"),
        "without-text.pdf": ("empty", "no text: it is in images, such as scanned pages"),
        "encrypted.docx": ("failed", "protected by a password, or in a format from before 2007"),
        "hand.rtf": ("processed", ""),
        "long.epub": ("failed", "its text is longer than documents.max_bytes = 45000"),
    }


def test_rows_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    rich = (Path(__file__).parents[2] / "readers/samples/hand.rtf").read_bytes()
    for number in range(30):
        (tmp_path / (f"{number}.rtf" if number % 3 else f"{number}.txt")).write_bytes(rich if number % 3 else b"text")
    listed = list(list_files(Source("s", LocalFolder(tmp_path))))
    contents = ((one, (tmp_path / one.path).read_bytes()) for one in listed)
    table, _ = read_documents("s", contents, None, DocumentSettings())
    assert table["path"].to_pylist() == [one.path for one in listed]
    assert table["media_type"].to_pylist() == [
        "application/rtf" if one.path.endswith(".rtf") else "text/plain" for one in listed
    ]
