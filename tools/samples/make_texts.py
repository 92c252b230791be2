"""Write the samples that are text, in `texts`: tables, data and markup, by tools of each kind.

    apt-get install pandoc libreoffice-calc-nogui asciidoctor sqlite3 jq xmlstarlet ruby nodejs npm
    pip install duckdb pandas openpyxl docutils mkdocs sphinx
    npm install xlsx    # in a folder that NODE_PATH names
    NODE_PATH=…/node_modules python tools/samples/make_texts.py

Every file names the Kingfisher gauge or its level, 1.42. A name says who wrote a file, and its encoding if that is not
UTF-8. Other encodings are the writer's own where it has them, else by iconv.
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from make import HERE, STORY, office, pandoc, run
from make_pages import OTHER_SCRIPTS, RST

TEXTS = HERE / "texts"
ROWS = [
    ("Station", "Level", "Note"),
    ("Kingfisher", 1.42, "über Nacht, um 12 cm gefallen"),
    ("Corley | weir", 0.97, "die Böschung rutschte;\nGröße unbekannt"),
    ("Öhringen", None, 'Straße "gesperrt"'),
]
JAPANESE = [("観測所", "水位"), ("Kingfisher", 1.42), ("春に清掃されました。", 0.97), ("ひびが入っていた。", 0.5)]
KINDS = {
    "pandoc.md": "markdown",
    "pandoc-gfm.md": "gfm",
    "pandoc.rst": "rst",
    "pandoc.txt": "plain",
    "pandoc.tex": "latex",
    "pandoc-context.tex": "context",
    "pandoc-docbook.xml": "docbook5",
    "pandoc-jats.xml": "jats",
    "pandoc.json": "json",
}
"""What pandoc writes."""
CHINESE = "SELECT 'Kingfisher 观测站', '夜间水位下降了十二厘米。外壳已经破裂，需要更换密封圈。'"
SHEET = """const XLSX = require("xlsx"), fs = require("fs"), [file, rows] = process.argv.slice(1);
const book = XLSX.utils.book_new();
XLSX.utils.book_append_sheet(book, XLSX.utils.aoa_to_sheet(JSON.parse(rows)), "Levels");
fs.writeFileSync(file, XLSX.write(book, {bookType: "txt", type: "buffer"}));"""


def output(name: str, *command: str, given: str = "", encoding: str = "utf-8") -> None:
    """Write what a command prints; in another encoding by iconv."""
    printed = subprocess.run(command, check=True, input=given.encode(), stdout=subprocess.PIPE).stdout
    if encoding != "utf-8":
        printed = subprocess.run(["iconv", "-f", "utf-8", "-t", encoding], check=True, input=printed, stdout=-1).stdout
    (TEXTS / name).write_bytes(printed)


def write_tables(work: Path) -> None:
    import duckdb
    import pandas as pd
    from openpyxl import Workbook

    header, *rows = ROWS
    frame = pd.DataFrame(rows, columns=header)
    frame.to_csv(TEXTS / "pandas.csv", index=False, quoting=2)
    frame.to_csv(TEXTS / "pandas-1252.tsv", index=False, sep="\t", encoding="cp1252", lineterminator="\r\n")
    frame.to_json(TEXTS / "pandas.json", orient="records", indent=2)
    frame.to_json(TEXTS / "pandas.jsonl", orient="records", lines=True)
    for name, table, charset in (("libreoffice-1252", ROWS, 1), ("libreoffice-shift-jis", JAPANESE, 64)):
        book = Workbook()
        for row in table:
            book.active.append(row)
        book.save(work / f"{name}.xlsx")
        office(work / f"{name}.xlsx", TEXTS / f"{name}.csv", f"Text - txt - csv (StarCalc):59,34,{charset}")
    frame.to_csv(work / "levels.csv", index=False)
    with duckdb.connect() as database:
        database.sql(f"CREATE TABLE levels AS FROM read_csv('{work}/levels.csv')")
        for name, options in (("duckdb-bar.csv", "DELIMITER '|'"), ("duckdb.tsv", "DELIMITER '\t'"),
                              ("duckdb.json", "FORMAT JSON, ARRAY true"), ("duckdb.jsonl", "FORMAT JSON")):  # fmt: skip
            database.sql(f"COPY levels TO '{TEXTS / name}' ({options})")
        database.sql(f"COPY (FROM levels LIMIT 0) TO '{TEXTS}/duckdb-header.csv' (HEADER)")
        database.sql(f"EXPORT DATABASE '{work}/export'")
        shutil.copy(work / "export/schema.sql", TEXTS / "duckdb.sql")
    sqlite = ("sqlite3", ":memory:", "-cmd", f".import --csv {work}/levels.csv levels")
    output("sqlite.csv", *sqlite, "-header", "-csv", "SELECT * FROM levels")
    output("sqlite.tsv", *sqlite, "-header", "-tabs", "SELECT station, level FROM levels")
    output("sqlite-gb18030.tsv", *sqlite, "-tabs", CHINESE,
           encoding="gb18030")  # fmt: skip
    output("sqlite.md", *sqlite, "-markdown", "SELECT station, level FROM levels")
    output("sqlite.txt", *sqlite, "-box", "SELECT station, level FROM levels")
    output("sqlite.json", *sqlite, "-json", "SELECT * FROM levels")
    output("sqlite.jsonl", *sqlite, "SELECT json_object('station', station, 'note', note) FROM levels")
    output("sqlite.sql", *sqlite, ".dump")
    output("sqlite-1252.sql", *sqlite, "-cmd", ".mode insert levels", "SELECT * FROM levels", encoding="windows-1252")
    table = [list(row) for row in ROWS]
    subprocess.run(["node", "-e", SHEET, str(TEXTS / "sheetjs-utf-16.tsv"), json.dumps(table)], check=True)
    rows_of = frame.to_json(orient="records")
    output("jq.csv", "jq", "-r", ".[] | [.Station, .Level, .Note] | @csv", given=rows_of)
    output("jq.tsv", "jq", "-r", ".[] | [.Station, .Level, .Note] | @tsv", given=rows_of)
    output("jq-ascii.json", "jq", "-a", "-S", "{levels: .}", given=rows_of)
    output("jq.jsonl", "jq", "-c", ".[]", given=rows_of)
    output("jq-1252.jsonl", "jq", "-c", ".[]", given=rows_of, encoding="windows-1252")
    node = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0)), null, 1))"
    output("node-utf-16.json", "node", "-e", node, given=rows_of, encoding="utf-16")
    lines = (
        "process.stdout.write(JSON.parse(require('fs').readFileSync(0)).map(one => JSON.stringify(one)).join('\\r\\n'))"
    )
    output("node-crlf.jsonl", "node", "-e", lines, given=rows_of)
    output("ruby.yaml", "ruby", "-rjson", "-ryaml", "-e", "puts JSON.parse(STDIN.read).to_yaml", given=rows_of)
    output("ruby-1252.yaml", "ruby", "-rjson", "-ryaml", "-e", "puts JSON.parse(STDIN.read).to_yaml", given=rows_of,
           encoding="windows-1252")  # fmt: skip


def write_markup(work: Path) -> None:
    story, rst = work / "story.md", work / "story.rst"
    story.write_text(STORY, encoding="utf-8")
    rst.write_text(RST % OTHER_SCRIPTS, encoding="utf-8")
    for name, kind in KINDS.items():
        pandoc(STORY, TEXTS / name, "-t", kind)
    subprocess.run(["rst2xml", "story.rst", str(TEXTS / "docutils.xml")], cwd=work, check=True)
    run("rst2latex", "--stylesheet=", str(rst), str(TEXTS / "docutils.tex"))
    run("pandoc", "-s", str(story), "-t", "asciidoc", "-o", str(work / "story.adoc"))
    run(
        "asciidoctor",
        "-b",
        "docbook5",
        "-a",
        "reproducible",
        str(work / "story.adoc"),
        "-o",
        str(TEXTS / "asciidoctor.xml"),
    )
    latin = "<levels><station name='Kingfisher'>Der Pegel fiel über Nacht. Größe</station></levels>"
    for encoding, text in (
        ("windows-1252", latin),
        ("utf-16", latin),
        ("shift_jis", "<a><b>Kingfisher 水位は夜の間に</b></a>"),
    ):
        output(f"xmlstarlet-{encoding}.xml", "xmlstarlet", "fo", "--encode", encoding, "-", given=text)
    office(HERE / "pandoc.odt", TEXTS / "libreoffice-utf-16.txt", "Text (encoded):UNICODE,LF,,,")
    office(HERE / "pandoc.odt", TEXTS / "libreoffice.txt", "Text (encoded):UTF8,CRLF,,,")
    run(
        "sphinx-build",
        "-q",
        "-C",
        "-b",
        "text",
        "-D",
        "language=en",
        "-D",
        "root_doc=story",
        str(work),
        str(work / "text"),
    )
    shutil.copy(work / "text/story.txt", TEXTS / "sphinx.txt")
    run(
        "sphinx-quickstart",
        "-q",
        "-p",
        "Kingfisher",
        "-a",
        "Ida Wren",
        "--makefile",
        "--batchfile",
        str(work / "start"),
    )
    for name, to in (("make.bat", "sphinx.bat"), ("conf.py", "sphinx.py"), ("index.rst", "sphinx.rst")):
        shutil.copy(work / "start" / name, TEXTS / to)
    run("mkdocs", "-q", "new", str(work / "site"))
    shutil.copy(work / "site/mkdocs.yml", TEXTS / "mkdocs.yml")
    shutil.copy(work / "site/docs/index.md", TEXTS / "mkdocs.md")


def main() -> None:
    shutil.rmtree(TEXTS, ignore_errors=True)
    TEXTS.mkdir()
    for write in (write_tables, write_markup):
        with tempfile.TemporaryDirectory() as name:
            write(Path(name))


if __name__ == "__main__":
    main()
