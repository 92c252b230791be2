"""The sample pages, mails and texts of other programs: see tools/samples/make_pages.py and its neighbours."""

import datetime
from functools import cache
from pathlib import Path

import pytest

from lightrag_dagster.core.text.markdown import heading_paths
from lightrag_dagster.readers.content import Properties
from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.formats import FORMATS
from lightrag_dagster.readers.plain.escapes import read_json, unescaped

SAMPLES = Path(__file__).parent / "samples"
TEXTS = sorted(path.name for path in (SAMPLES / "texts").iterdir())
WRITTEN = datetime.date(2025, 3, 4)
LEVELS = "| Station | Level (m) | \n|---|---|\n| Steinhag | 1.42 | \n| Corley | 0.97 |"


@cache
def read(name: str) -> ExtractedText:
    return extract_text((SAMPLES / name).read_bytes(), name)


SURVEY = Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers"), "en")
OVERFLOW = "Überlauf und 水位"
PAGES = {
    "asciidoctor": (Properties("Gauge survey", language="en"), f"Gauge survey > Station visits > {OVERFLOW}"),
    "docutils-1252": (SURVEY, "Station visits > Überlauf"),
    "docutils-utf-16": (SURVEY, f"Gauge survey > Station visits > {OVERFLOW}"),
    "libreoffice": (
        Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers")),
        f"Station visits > {OVERFLOW}",
    ),
    "mkdocs": (Properties("Gauge survey - River office", "Ida Wren", language="en"), f"Station visits > {OVERFLOW}"),
    "pandoc": (SURVEY, f"Station visits > {OVERFLOW}"),
    "sphinx": (
        Properties("Gauge survey — River office documentation", tags=("gauges", "rivers"), language="en"),
        f"Gauge survey > Station visits > {OVERFLOW}",
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_keep_their_story_and_lose_what_is_around_it(name: str) -> None:
    page, (properties, last) = read(f"{name}.html"), PAGES[name]
    assert page.properties == properties
    assert [path for _, path in heading_paths(page.text)][-1] == last
    # Writers break lines where they like.
    text = " ".join(page.text.split())
    assert "The *Kingfisher* gauge at **Lerchbruck** was cleaned in spring. Its housing was cracked." in text
    assert "- Replace the seal - Check the logger" in text
    assert LEVELS in page.text
    assert "Der Pegel fiel um 12 cm über Nacht." in text
    assert name == "docutils-1252" or "水位は夜の間に下がった。 Уровень упал." in text
    assert "1. First, read the staff gauge. 2. Then call the office." in text
    for menu in ("Home", "Search", "All rights reserved", "©", "Powered by", "¶"):
        assert menu not in text


def test_a_page_of_a_shop_in_shift_jis() -> None:
    page = read("cms-shift-jis.html")
    assert page.properties == Properties("水位調査 | River office", "Ida Wren", WRITTEN, language="ja")
    assert page.text.startswith("# 水位調査\n\nKingfisher観測所は春に清掃されました。")
    assert page.text.endswith("\n\n| 地点 | Level (m) | \n|---|---|\n| Steinhag | 1.42 | \n| Corley | 0.97 |")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty.html", ""),
        ("damaged/zero-bytes.html", ""),
        ("hostile/entities.html", "# Gauge\n\nKingfisher &i; &x;"),
        (
            "damaged/truncated.html",
            "# Gauge survey\n\n- Author:\n- Ida Wren\n- Date:\n- 2025-03-04\n\n## Station visits\n\n"
            "The *Kingfisher* gauge at **Lerchbruck** was cleaned in spring. "
            "Its housing was cracked.\n\n- Replace the seal\n- Check the logger",
        ),
    ],
)
def test_odd_pages(name: str, text: str) -> None:
    assert read(name).text == text


def test_a_bar_in_a_cell_of_a_page_divides_nothing() -> None:
    assert r"| Kingfisher \| weir | 0.97 |" in read("sheetjs.html").text


IDA, OFFICE, DATE = "From: Ida Wren <ida@example.org>", "To: office@example.org", "Date: Tue, 04 Mar 2025 05:06:07 "
BOTH = f"{IDA}\nTo: Büro <office@example.org>, per@example.org\n{DATE}+0000"
UNNAMED = f"From: ida@example.org\n{OFFICE}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "mime-lite.eml",
            f"# Überlauf\n\n{IDA}\n{OFFICE}\nCc: per@example.org\n{DATE}+0100\n\n"
            "Der Kingfisher-Pegel fiel über Nacht – um 12 cm.\n\n## levels.csv\n\n| Steinhag | 1.42 |\n| --- | --- |",
        ),
        (
            "mutt.eml",
            f"# Уровень\n\n{IDA}\n{OFFICE}\n{DATE}+0000\n\nУровень на станции Kingfisher упал за ночь.\n\n"
            "## levels.txt\n\nSteinhag 1.42",
        ),
        (
            "nodemailer.eml",
            f"# Pegel 水位 am Morgen\n\n{BOTH}\n\nThe Kingfisher gauge fell by 12 cm.\n水位。\n\n"
            "## 水位 2025.csv\n\n| a | b |\n| --- | --- |",
        ),
        (
            "nodemailer-html.eml",
            f"# Levels\n\n{BOTH}\n\n## Levels\n\nThe **Kingfisher** gauge fell.\n\n"
            "| Station | Level | \n|---|---|\n| Steinhag | 1.42 |",
        ),
        ("swaks.eml", f"# Test of the gauge\n\n{UNNAMED}\n{DATE}+0000\n\nThe Kingfisher gauge fell."),
        (
            "signed.eml",
            f"# Gauge survey\n\n{UNNAMED}\n\nThe Kingfisher gauge fell über Nacht.\n\nAttachments: smime.p7s",
        ),
        (
            "damaged/truncated.eml",
            f"# Pegel 水位 am Morgen\n\n{BOTH}\n\nThe Kingfisher gauge fell by 12 cm.\n水位。",
        ),
    ],
)
def test_mails_of_other_programs(name: str, text: str) -> None:
    assert read(name).text == text
    assert read(name).properties.date == (None if name == "signed.eml" else WRITTEN)


PATCHES = ["[PATCH 1/3] Überlauf: add the levels", "[PATCH 2/3] Corley: add the weir", "[PATCH 3/3] Steinhag"]


@pytest.mark.parametrize(
    ("name", "subjects", "has"),
    [
        ("git.mbox", PATCHES, f"{IDA}\n{DATE}+0000\n\nFrom here on it is read daily.\n\\---\n"),
        ("git-attached.mbox", PATCHES, "From here on it is read daily.\n\\---\n"),
        ("git-thread.mbox", PATCHES, "From here on it is read daily.\n\\---\n"),
        (
            "formail.mbox",
            ["Уровень", "Re: Gauge survey", "Test of the gauge", "[PATCH] Überlauf: add the levels"],
            "Уровень на станции Kingfisher упал за ночь.\n\n## levels.txt\n\nSteinhag 1.42\n\n# Re: Gauge survey",
        ),
        (
            "mutt.mbox",
            ["Levels", "Weir", "水位"],
            "From here on the weir is shut.\n\nFrom then the level rose.\n\n# 水位",
        ),
    ],
)
def test_mailboxes_of_other_programs(name: str, subjects: list[str], has: str) -> None:
    box = read(name)
    assert [line[2:] for line in box.text.splitlines() if line.startswith("# ")] == subjects
    assert has in box.text
    assert box.title == f"{subjects[0]} and {len(subjects) - 1} more mails"


def test_a_patch_is_a_mail() -> None:
    text = read("git.eml").text
    assert text.startswith(f"# [PATCH] Überlauf: add the levels\n\n{IDA}\n{DATE}+0000\n\nRead in spring.\n\\---\n")
    assert text.endswith("\n@@ -0,0 +1 @@\n+Kingfisher 1.42")


TABLE = (
    "| Station | Level | Note |\n| --- | --- | --- |\n| Kingfisher | 1.42 | über Nacht, um 12 cm gefallen |\n"
    '| Corley \\| weir | 0.97 | die Böschung rutschte; Größe unbekannt |\n| Öhringen |  | Straße "gesperrt" |'
)
TABLES = {
    "duckdb-bar.csv": TABLE,
    "duckdb-header.csv": "| Station | Level | Note |\n| --- | --- | --- |",
    "duckdb.tsv": TABLE,
    "jq.csv": "| Kingfisher | 1.42 | über Nacht, um 12 cm gefallen |\n| --- | --- | --- |\n" + TABLE.split("\n", 3)[3],
    # What jq writes for a line break in a cell.
    "jq.tsv": "| Kingfisher | 1.42 | über Nacht, um 12 cm gefallen |\n| --- | --- | --- |\n"
    + TABLE.split("\n", 3)[3].replace("; ", ";\\n"),
    "libreoffice-1252.csv": TABLE,
    "libreoffice-shift-jis.csv": "| 観測所 | 水位 |\n| --- | --- |\n| Kingfisher | 1.42 |\n"
    "| 春に清掃されました。 | 0.97 |\n| ひびが入っていた。 | 0.5 |",
    "pandas.csv": TABLE,
    "pandas-1252.tsv": TABLE,
    "sheetjs-utf-16.tsv": TABLE,
    "sqlite-gb18030.tsv": "| Kingfisher 观测站 | 夜间水位下降了十二厘米。外壳已经破裂，需要更换密封圈。 |\n"
    "| --- | --- |",
    "sqlite.csv": TABLE,
    "sqlite.tsv": "| Station | Level |\n| --- | --- |\n| Kingfisher | 1.42 |\n| Corley \\| weir | 0.97 |\n| Öhringen |",
}


@pytest.mark.parametrize("name", TABLES)
def test_delimited_files_are_tables(name: str) -> None:
    assert read(f"texts/{name}").text == TABLES[name]


@pytest.mark.parametrize(
    ("name", "title", "has"),
    [
        ("mkdocs.md", "Welcome to MkDocs", "## Commands\n\n* `mkdocs new [dir-name]`"),
        ("pandoc.md", "Gauge survey", f"## {OVERFLOW}\n\nDer Pegel fiel um 12 cm über Nacht. 水位は夜の間に"),
        ("pandoc-gfm.md", "Gauge survey", "| Station  | Level (m) |\n|----------|-----------|\n| Steinhag | 1.42 "),
        ("prettier.md", "Kingfisher", "- Replace the seal\n\n| Station  | Level |"),
        ("prettier.mdx", "Kingfisher", "# Station visits\n\n- a\n- b\n\n<Chart />"),
        ("sqlite.md", "sqlite.md", "| Kingfisher    | 1.42  |"),
    ],
)
def test_markdown_loses_its_front_matter_alone(name: str, title: str, has: str) -> None:
    assert read(f"texts/{name}").title == title
    assert has in read(f"texts/{name}").text
    assert "---\ntitle" not in read(f"texts/{name}").text


AS_THEY_ARE = [
    name for name in TEXTS if name not in TABLES and not name.endswith((".md", ".mdx")) and "sphinx" not in name
] + ["sphinx.bat", "sphinx.py", "sphinx.txt"]
ESCAPED = (".json", ".jsonl", ".properties")  # letters for their escapes
GUESSED = "its encoding is not certain and read as Windows-1252; save the file as UTF-8"
FACTS = {
    "duckdb.sql": 'CREATE TABLE levels(Station VARCHAR, "Level" DOUBLE, Note VARCHAR);',
    "jq-ascii.json": '"Note": "über Nacht, um 12 cm gefallen",',
    "libreoffice-utf-16.txt": f"{OVERFLOW}\nDer Pegel fiel um 12 cm über Nacht. 水位は夜の間に下がった。 Уровень упал.",
    "mkdocs.yml": "site_name: My Docs",
    "node-utf-16.json": '"Note": "über Nacht, um 12 cm gefallen"',
    "pandoc-jats.xml": "<p>The <italic>Kingfisher</italic> gauge at <bold>Lerchbruck</bold>",
    "pandoc.json": '{"t":"Str","c":"Kingfisher"}',
    "pandoc.tex": "\\emph{Kingfisher} gauge at \\textbf{Lerchbruck}",
    "pnpm-1252.bat": "Größe.js",
    "prettier-utf-16.yaml": "station: Kingfisher\nlevels: [1.42, 0.97]\nnote: 水位",
    "prettier-utf-32.ts": "export const kingfisher: { level: number } = { level: 1.42 };",
    "rubygems.bat": '@ruby3.1 "%~dpn0" %*',
    "ruby.log": "WARN [] 水位 1.42",
    "ruby.yaml": "  Note: |-\n    die Böschung rutschte;\n    Größe unbekannt",
    "sphinx.bat": "@ECHO OFF",
    "xmlstarlet-shift_jis.xml": "<b>Kingfisher 水位は夜の間に</b>",
    "xmlstarlet-utf-16.xml": '<station name="Kingfisher">Der Pegel fiel über Nacht. Größe</station>',
    "xmlstarlet-windows-1252.xml": '<station name="Kingfisher">Der Pegel fiel über Nacht. Größe</station>',
}
"""What is in a file; where nothing is said, the name of the gauge."""


OTHER_NAMES = {
    "docutils": ("empty.html",),
    "hand": (
        *("both.eml", "empty.eml", "forwarded.eml", "japanese.eml", "latin.eml", "markup.eml", "plain.eml"),
        *("empty.rtf", "mac.rtf"),
    ),
    "libreoffice": ("figures.pdf",),
    "odfdo": ("empty.odt",),
    "openpyxl": ("empty.xlsx",),
    "openssl": ("signed.eml",),
    "pandoc": tuple(f"figures.{suffix}" for suffix in ("docx", "epub", "html", "odt", "pptx", "rtf")),
    "python": ("empty.docx", "empty.pptx", "grouped.pptx", "merged-cells.docx"),
    "reportlab": ("owner-password.pdf", "scan.pdf"),
    "xlsxwriter": ("figures.xlsx",),
}
"""Samples that are not named after their writers."""
READERS = {".pptx": "python"}
"""Libraries that read here what they also wrote: such samples do not count, nor do those by hand."""


def writer_of(name: str) -> str:
    return next((writer for writer, names in OTHER_NAMES.items() if name in names), name.split("-")[0].split(".")[0])


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_data_markup_and_code_are_kept_as_they_are(name: str) -> None:
    text = read(f"texts/{name}").text
    fact = FACTS.get(name)
    assert fact in text if fact else "kingfisher" in text.casefold()
    data = (SAMPLES / "texts" / name).read_bytes()
    encoding = next((one for one in ("utf-16", "utf-32", "shift_jis", "1252") if one in name), "utf-8-sig")
    written = data.decode(encoding)
    if name.endswith((".json", ".jsonl")):
        written = str(read_json(written.encode()).text)
    assert text.split() == (unescaped(written) if name.endswith(ESCAPED) else written).split()
    assert read(f"texts/{name}").note in (None, GUESSED if "1252" in name else None)


def test_every_format_has_five_samples_by_two_programs_that_do_not_read_them() -> None:
    samples = [*TEXTS, *(path.name for path in SAMPLES.glob("*.*") if path.suffix != ".py")]
    for found in {one for one in FORMATS.values() if not one.is_image}:
        names = tuple(suffix for suffix, one in FORMATS.items() if one is found)
        writers = [writer_of(name) for name in samples if name.endswith(names)]
        others = [writer for writer in writers if writer not in ("hand", READERS.get(names[0]))]
        assert len(others) >= 5, names
        assert len({*others}) >= 2, names
