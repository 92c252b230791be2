"""What becomes of documents: rows of RAW_DOCUMENTS and stamps, and chunks."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core import identity
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.listing_schemas import STAMPS
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.formats import format_of, media_type
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import ChunkingSettings, DocumentSettings
from lightrag_dagster.settings.sources import RowsSettings
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.rows import RowDocuments
from lightrag_dagster.stages.documents.connectors.tables import TableFiles
from lightrag_dagster.stages.documents.listing import list_files, rows_of
from lightrag_dagster.stages.documents.reading import read_listed
from lightrag_dagster.stages.documents.sources import Source
from tests.readers.office.word.documents import word
from tests.readers.office.word.test_runs import run, text
from tests.readers.office.workbooks import by_hand
from tests.readers.pdf.pages import Shown
from tests.readers.pdf.pages import pdf as pdf_of_pages
from tests.readers.pdf.test_columns import ACCOUNTS, RIGHT, rows
from tests.readers.pdf.test_columns import pdf as pdf_of_places
from tests.readers.pdf.test_text import pdf as pdf_of_a_font
from tests.readers.test_epub import book
from tests.readers.test_epub import page as page_of_book

DOCUMENTS = Path(__file__).parent / "documents"
SAMPLES = Path(__file__).parents[2] / "readers" / "samples"
_WRITTEN_BY_PROGRAMS = (
    *("python-docx.docx", "libreoffice.odt", "pandoc.rtf", "hand.rtf", "pandoc-3.epub"),
    *("reportlab-tables.pdf", "groff.pdf", "libreoffice-table.pdf", "python-pptx.pptx", "openpyxl.xlsx"),
    *("libreoffice-sheets.xlsx", "sphinx.html", "docutils-utf-16.html", "nodemailer-reply.eml", "japanese.eml"),
)
_CUT = ("chunk_id", "chunk_index", "content", "tokens", "char_start", "char_end", "heading", "context")
_PLACED = ("source", "doc_id", "path", "text_hash", "page", "page_end")
_PAGES = ("The gauge.", "The weir, and\n\nthe gates.", "", "Levels.")


def raw_documents() -> dict[str, Any]:
    """Return what is read of each file: rows and stamps of those without a parser, the text of the others.

    Here parsers run in this process, not in one of their own, which takes a second to start. Of an error it counts that
    there is one: its words may be mended without all documents being read again.
    """
    source = Source("notes", LocalFolder(DOCUMENTS))
    listed = [one for one in list_files(source) if not _has_parser(one.path)]
    before = (RAW_DOCUMENTS.empty_table(), STAMPS.empty_table())
    read = read_listed(source, pa.table(rows_of(source, listed)), before, DocumentSettings())
    found: dict[str, Any] = {"schemas": [_columns(RAW_DOCUMENTS), _columns(STAMPS)]}
    for row in read.documents.drop_columns("modified_at").to_pylist():
        found[row["path"]] = row | {"error": row["error"] is not None}
    for stamp in read.stamps.select(["doc_id", "digest"]).sort_by("doc_id").to_pylist():
        (path,) = [one.path for one in listed if identity.document_id(source.name, one.path) == stamp["doc_id"]]
        found[f"stamp of {path}"] = stamp
    days = (
        "3. März 2024",
        "3 mars 2024",
        "3 maja 2024",
        "3 мая 2024",
        "2024年5月3日",
        "令和5年5月1日",
        "03/13/2024",
        "20240313",
    )
    table = RowDocuments("rows", TableFiles(LocalFolder(DOCUMENTS)), RowsSettings(date="day"), {})
    for number, day in enumerate(days):
        found[f"row of {day}"] = table.document({"id": number, "text": "A row.", "day": day}).stamp
    with TemporaryDirectory() as folder:
        at = pa.array([datetime(2024, 4, 1, tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo"))
        pq.write_table(pa.table({"at": at}), Path(folder) / "rows.parquet")
        found["time with a zone"] = [str(row["at"]) for row in TableFiles(LocalFolder(Path(folder))).rows()]
    found["row of bytes"] = table.document({"id": 1, "text": b"Z\xfcrich", "day": ""}).refused is not None
    for name, data in _made().items():
        found[name] = extract_text(data, name).text
    parsed = [file for file in sorted(DOCUMENTS.iterdir()) if _has_parser(file.name)]
    for file in [*parsed, *(SAMPLES / name for name in _WRITTEN_BY_PROGRAMS)]:
        one = extract_text(file.read_bytes(), file.name)
        doubts = one.why_empty is not None, one.note is not None
        found[file.name] = one.title, one.text, one.media_type, one.pages, asdict(one.properties), doubts
    return found


def _made() -> dict[str, bytes]:
    """Return files of which the samples have none."""
    field = "".join(
        run(f'<w:fldChar w:fldCharType="{one}"/>') if one.isalpha() else text(one)
        for one in ("begin", "begin", "separate", "400", "end", "separate", "500", "end", " euros")
    )
    accounts = pdf_of_places(rows(ACCOUNTS, RIGHT), (712, 694, 666))
    page = pdf_of_pages([Shown(60, 700, "The weir"), Shown(60, 900, "above")])
    numbers = '<row><c t="inlineStr"><is><t>Level</t></is></c></row><row><c><v>0.33333333333333331</v></c></row>'
    heading = "BT /F 20 Tf 1 0 0 1 50 700 Tm (The A) Tj /F 10 Tf 1 0 0 1 50 660 Tm (A weir of stone, and more) Tj ET"
    seen = "BT /F 10 Tf 1 0 0 1 50 700 Tm (AAA AA Weir Works Ltd A) Tj ET"
    divided = pdf_of_pages(
        [Shown(60, 700, "# The weir of Coca-"), Shown(60, 686, "Cola and oth-"), Shown(60, 672, "ers")]
    )
    turned = pdf_of_pages([Shown(60, 500, "The weir"), Shown(60, 480, "A gate")], drawn="0 1 -1 0 595 0 cm")
    full = "".join(f"BT /F 10 Tf 1 0 0 1 50 {at} Tm (AAAAAAAAAAAAAAAAAAAA) Tj ET " for at in (700, 686))
    shown = b'{"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>Levels</b>"}'
    end = run('<w:br w:type="page"/>')
    mail = b"From a@b.example Tue Mar  4 10:00:00 2025\nFrom: a@b.example\nSubject: Gauge\n%s\n%s\n"
    garbled = "".join(f"BT /F 10 Tf 1 0 0 1 50 {at} Tm (AAAA AAA AAAA) Tj ET " for at in (700, 680))
    return {
        "field.docx": word(f"<w:p>{field}</w:p>"),
        "garbled.pdf": pdf_of_a_font(garbled, "FFFD"),
        "within.pdf": page,
        "general.xlsx": by_hand(f"<worksheet><sheetData>{numbers}</sheetData></worksheet>"),
        "accounts.pdf": accounts,
        "address.log": b"GET /a?lang=en&region=eu",
        "address.html": b"<h1>Use<br>of it</h1><p>Ask for a?lang=en&amp;region=eu, as all here do.</p>",
        "emoji.pdf": pdf_of_a_font(heading, "D83DDE00"),
        "directions.pdf": pdf_of_a_font(seen, "05D0"),
        "chinese.pdf": pdf_of_a_font(full, "6C34"),
        "divided.pdf": divided,
        "turned.pdf": turned.replace(b"/MediaBox", b"/Rotate 90/MediaBox"),
        "break.docx": word(f"<w:p>{text('one')}{end}{text('two')}</w:p>"),
        "mark.md": b"The pump costs 500<sup>1)</sup> euros.",
        "mark.pdf": pdf_of_pages([Shown(72, 700, "Price 500"), Shown(122.7, 704, "1", 7)]),
        "control.html": b"<body><nav>Home</nav><p>The weir\x0c was built in <s>1910</s> 1911.</p></body>",
        "signs.rtf": rb"{\rtf1{\fonttbl{\f1\fcharset2 Symbol;}}{\f1 m}m}",
        "column.csv": b"Price\n1,50\n2,50\n",
        "plain.mbox": mail % (b"", b"# no heading"),
        "page.mbox": mail % (b"Content-Type: text/html\n", b"<h1>Levels</h1><p>All of them rose in the night.</p>"),
        "display.ipynb": b'{"cells": [{"cell_type": "code", "source": "", "outputs": [{"data": %s}]}]}' % shown,
        "notes.epub": book(page_of_book('<p><i>weir</i><a href="#n1">1</a></p>')),
        "inches.tsv": b'pipe\tsize\n"old\t5\n"new" one\t6\n',
    }


def chunks() -> dict[str, Any]:
    """Return the chunks of some documents by every method, their windows full."""
    small = {"size": 40, "overlap": 8}
    semantic = small | {"method": "semantic"}
    thresholds = {"percentile": 60, "standard_deviation": 0.5, "interquartile": 0.2, "gradient": 60}
    ways: dict[str, dict[str, Any]] = {
        "token": small,
        "token, as is usual": {},
        "character": small | {"method": "character", "separators": (". ",)},
        "character, whole parts": {"size": 100_000, "method": "character"},
        "recursive": small | {"method": "recursive"},
        "structure": small | {"method": "structure"},
        "sentence": small | {"method": "sentence"},
        **{f"semantic, {how}": semantic | {"breakpoints": (how, at)} for how, at in thresholds.items()},
        "adaptive": small | {"method": "adaptive"},
        "custom": small | {"method": "custom", "function": f"{__name__}.by_lines"},
    }
    cut: dict[str, Any] = {way: _cut(ChunkingSettings(**settings)) for way, settings in ways.items()}
    return cut | {"places": _places()}


def _places() -> list[dict[str, Any]]:
    """Return what a table of chunks says besides where a text is cut."""
    document = _document("pages.pdf", "\n\n".join(filter(None, _PAGES)), pages=[0, 12, 38, 38])
    plain = _document("plain.txt", "One chunk.")
    documents = pa.Table.from_pylist([document, plain], RAW_DOCUMENTS)
    places: list[dict[str, Any]] = chunk_documents(documents, ChunkingSettings(), "recipe").select(_PLACED).to_pylist()
    return places


def by_lines(text: str, size: int, overlap: int, count: Any) -> Iterator[tuple[int, int, str | None]]:
    """Yield each line of a text with its number, as a function of one's own would."""
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        yield start, start + len(line), f"line {number} of {size}, {overlap}: {count(line)}" if number % 2 else None
        start += len(line)


def _cut(settings: ChunkingSettings) -> list[dict[str, Any]]:
    texts = [path for path in sorted(DOCUMENTS.iterdir()) if path.stem in ("handbook", "flood", "hochwasser", "kanji")]
    documents = [_document(path.name, path.read_text("utf-8")) for path in texts]
    documents.append(_document("long.txt", "Ünglaublich" * 90))
    rows = pa.Table.from_pylist(documents, RAW_DOCUMENTS)
    return chunk_documents(rows, settings, "recipe", _letters).select(_CUT).to_pylist()  # type: ignore[no-any-return]


def _document(path: str, text: str, pages: Sequence[int] | None = None) -> dict[str, Any]:
    """Return a row of RAW_DOCUMENTS."""
    return {
        "source": "notes",
        "doc_id": identity.document_id("notes", path),
        "path": path,
        "title": path,
        "content": text,
        "content_hash": identity.text_digest(text),
        "content_length": len(text),
        "summary": "",
        "media_type": media_type(path),
        "pages": pages,
        "status": "processed",
        "modified_at": datetime(2026, 1, 1, tzinfo=UTC),
    }


def _letters(texts: Sequence[str]) -> Vectors:
    """Return how often each text has each letter, as unit vectors; exact enough on every machine."""
    counts = np.array([[text.lower().count(letter) for letter in "abcdefghijklmnoprstuvwz。"] for text in texts]) + 0.1
    unit: Vectors = (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _has_parser(path: str) -> bool:
    """Tell whether files are parsed in a process of their own."""
    found = format_of(path)
    return found is not None and found.isolated


def _columns(schema: pa.Schema) -> list[str]:
    return [f"{field.name} {field.type}{'' if field.nullable else ' not null'}" for field in schema]
