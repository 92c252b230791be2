"""The Open Knowledge Format: pages that keep their bytes, names and texts that break out of nothing, what changed."""

import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pytest
import yaml
from markdown_it import MarkdownIt

from lightrag_dagster.exports import okf
from lightrag_dagster.exports.exports import export_published, export_to
from lightrag_dagster.exports.okf import write_okf
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.exported import forget_comparisons
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.exports.test_facts import FACTS
from tests.exports.texts import HOSTILE, graph_of
from tests.storage.corpus import RIVER as WEIR
from tests.storage.corpus import home_of, merge
from tests.support import OFFICE, RIVER, build, published, write_source

MARTA = """---
type: "unknown"
title: "Marta"
description: "About Marta"
entity_id: "ent-e420eb81d1179e1d06fa9d50691b06a5"
sources: [
  {"id": "sub-flood-md-1424fbef9abb", "resource": "../documents/sub-flood-md-1424fbef9abb.md", \
"title": "«sub/flood.md»"},
  {"id": "weir-md-22f615764f96", "resource": "../documents/weir-md-22f615764f96.md", "title": "«weir.md»"}]
---

# Marta

About Marta

## Quotes

- “Gauge met Marta.”[^weir-md-22f615764f96]
- “Weir met Marta met Bergen.”[^sub-flood-md-1424fbef9abb]

## Neighbours

- [Bergen](bergen-06c83008e69f.md) - met: One met the other
- [Gauge](gauge-4f542f73ac08.md) - met: One met the other
- [Weir](weir-4c558b21963a.md) - met: One met the other

[^sub-flood-md-1424fbef9abb]: In [«sub/flood\\.md»](../documents/sub-flood-md-1424fbef9abb.md)
[^weir-md-22f615764f96]: In [«weir\\.md»](../documents/weir-md-22f615764f96.md)
"""

BREAKING = (
    "---\ntype: Forged\n---\n# Forged",
    '"\n---\n\n<script src=x></script>',
    "](http://example.org) ![a](http://example.org/b.png)",
    "[^forged]: [a](http://example.org)",
    "- list\n# heading\n<SEP>\n# heading\n* [a](b.md)",
    "../../etc/passwd",
    "con", "CON.", "index", "log", "a/b", "a:b", "a b", "A-B", "no", "2024-01-01", "null",
    "🌊" * 300,
    "Ein sehr langer Name " * 15,
    "<http://example.org> www.example.org",
)  # fmt: skip


def bundle(generation: Generation, folder: Path) -> dict[str, str]:
    """Return the text of each file of an export."""
    export_to(generation, "okf", folder)
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in folder.rglob("*.md")}


def front(text: str) -> dict[str, Any]:
    _, block, _ = re.split(r"^---\n", text, maxsplit=2, flags=re.MULTILINE)
    found = yaml.safe_load(block)
    assert isinstance(found, dict)
    return found


def links_of(path: str, text: str) -> set[str]:
    """Return the paths below the bundle to which a page links; it has no HTML, image or link to elsewhere."""
    body = text.split("\n---\n\n", 1)[-1]
    tokens = [one for block in MarkdownIt().parse(body) for one in (block, *(block.children or []))]
    assert {one.type for one in tokens} & {"image", "html_block", "html_inline"} == set()
    hrefs = [unquote(str(one.attrs["href"])) for one in tokens if one.type == "link_open"]
    return {str((Path("/") / path).parent.joinpath(href).resolve())[1:] for href in hrefs}


def check(files: Mapping[str, str]) -> None:
    """Check what the format asks for: front matter where it belongs, and links that lead to a file."""
    for path, text in files.items():
        if path == "index.md":
            assert front(text) == {"okf_version": "0.2"}
        elif path.endswith(("/index.md", "log.md")):
            assert not text.startswith("---")
        else:
            found = front(text)
            assert isinstance(found["type"], str)
            assert found["type"].strip()
            for one in found.get("sources", []):
                assert f"documents/{one['id']}.md" in files
                assert f"[^{one['id']}]: In [" in text
        assert links_of(path, text) <= files.keys()


def test_a_page_says_what_is_known_and_where_it_stands(tmp_path: Path) -> None:
    files = bundle(merge(home_of(tmp_path, river=WEIR), "river"), tmp_path / "out")
    check(files)
    assert files["entities/marta-9d50691b06a5.md"] == MARTA
    assert files["documents/weir-md-22f615764f96.md"] == (
        '---\ntype: Document\ntitle: "«weir.md»"\nsource: "river"\npath: "weir.md"\n---\n\n'
        "# «weir\\.md»\n\nriver/weir\\.md\n"
    )
    assert files["communities/bergen-06c83008e69f/index.md"] == (
        "# weir marta gauge bergen\n\n* [Bergen](../../entities/bergen-06c83008e69f.md) - About Bergen\n"
        "* [Gauge](../../entities/gauge-4f542f73ac08.md) - About Gauge\n"
        "* [Marta](../../entities/marta-9d50691b06a5.md) - About Marta\n"
        "* [Weir](../../entities/weir-4c558b21963a.md) - About Weir\n"
    )
    assert "* [unknown](types/unknown-553a3db49a4a/index.md) - pages: 4\n" in files["index.md"]
    assert "log.md" not in files, "there is no snapshot before"


@pytest.mark.long
def test_pages_that_an_edit_does_not_touch_keep_their_bytes_and_the_log_names_the_others(settings: Settings) -> None:
    home = Home.of(settings)
    write_source(settings, "notes", {"river.md": RIVER, "office.md": OFFICE})
    build(settings)
    first = published(settings).snapshot_id
    before = bundle(Generation(home, first), settings.home.parent / "first")
    write_source(settings, "notes", {"river.md": RIVER, "office.md": OFFICE.replace("Priya Nair", "Tomas Vik")})
    build(settings)
    exports = export_published(home, ["okf"])
    folder = home.exports / "latest" / "okf"
    after = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.md")}
    check(after)
    of_river = {path for path, text in before.items() if path.startswith("entities/") and "office-md" not in text}
    kept = {path for path in before if after.get(path) == before[path]}
    assert of_river
    assert of_river <= kept
    gone = {path for path in before if path not in after}
    assert any("priya-nair" in path for path in gone)
    log = after["log.md"]
    assert log.startswith(
        f"# Changes\n\n## {published(settings).published_at[:10]}\n* **Update**: document [notes/office"
    )
    assert re.search(r"^\* \*\*Creation\*\*: entity \[Tomas Vik\]\(entities/tomas-vik-\w+\.md\)$", log, re.MULTILINE)
    assert "* **Deletion**: entity Priya Nair\n" in log
    assert not re.search(r": .*\b(rank|chunk_ids)\b", log)
    changed = {path for path in after if path.startswith("entities/")} - kept
    assert changed
    assert changed <= links_of("log.md", log), "each page that changed is an entity of the log"
    assert exports.formats["okf"].compared_with == first
    assert forget_comparisons(home, exports.snapshot_id) == [home.exports / exports.snapshot_id / "okf"], "as gc does"


def test_no_name_breaks_out_of_its_place(tmp_path: Path) -> None:
    texts = list(dict.fromkeys([*HOSTILE, *BREAKING]))
    files = bundle(graph_of(tmp_path, texts, ["a/b", "]( <c>", "---"]), tmp_path / "out")
    check(files)
    pages = {path: front(text) for path, text in files.items() if path.startswith("entities/")}
    assert sorted(one["title"] for one in pages.values()) == sorted(texts)
    assert all(one["tags"] == ["a/b", "]( <c>", "---"] for one in pages.values())
    assert all(
        re.fullmatch(r"entities/[^\W_][\w-]*\.md", path) and len(path.encode()) < 230
        for path in files
        if "ent" in path[:3]
    )
    assert len({path.lower() for path in files}) == len(files)
    assert not any("\n# Forged" in text or "\n# heading" in text for text in files.values())


def test_pages_have_the_names_of_another_night(tmp_path: Path) -> None:
    pages = [
        {
            path
            for path in bundle(
                merge(home_of(tmp_path / str(at), river={"a.md": [names]}), "river"), tmp_path / f"out{at}"
            )
            if path.startswith("entities/")
        }
        for at, names in enumerate((["Ölhafen", "O'Brien"], ["Kessing", "Ölhafen", "O'Brien"]))
    ]
    assert pages[0] < pages[1]
    assert sorted(pages[0])[1].startswith("entities/ölhafen-")


def test_pages_have_names_in_any_script(tmp_path: Path) -> None:
    texts = ["Ольга Петрова", "محمد علي", "東京タワー", "が" * 200, "\N{GOTHIC LETTER AHSA}" * 200, "O\u0308l", "☂"]
    files = bundle(graph_of(tmp_path, texts), tmp_path / "out")
    check(files)
    names = {front(text)["title"]: path[9:-16] for path, text in files.items() if path.startswith("entities/")}
    assert [names[one] for one in texts if len(one) < 20] == ["ольга-петрова", "محمد-علي", "東京タワー", "öl", ""]
    assert names["が" * 200] == "が" * 50


def test_facts_have_dates_words_and_the_page_of_the_other_end(tmp_path: Path) -> None:
    said = [
        {"fact_id": "fact-1", "chunk_id": "chunk-1", "words": "Ada *leads* it <b>", "doc_id": "doc-gone"},
        {"fact_id": "fact-3", "chunk_id": "chunk-1", "words": "earned 3,5 Mio. €"},
    ]
    undated = {"fact_id": "fact-4", "subject_id": 2, "relation": "seat", "value": "Höfn", "when_words": "long ago"}
    generation = graph_of(tmp_path, ["Harbour", "Ada", "Bea", "apart"], facts=[*FACTS, undated], evidence=said)
    files = bundle(generation, tmp_path / "out")
    check(files)
    page = {front(text)["title"]: text for path, text in files.items() if path.startswith("entities/")}
    (ada, bea) = (next(path for path in files if path.startswith(f"entities/{name}-"))[9:] for name in ("ada", "bea"))
    assert (
        f'## Facts\n\n- Harbour **leads; "ably"** [Ada]({ada}), from 2021-03: “Ada \\*leads\\* it &lt;\u200bb&gt;”\n'
        f'- Harbour **leads; "ably"** [Bea]({bea}), from 2023, to 2024-05-31\n'
    ) in page["Harbour"]
    assert '**leads; "ably"** Ada, from 2021-03' in page["Ada"], "it is on the pages of both ends"
    assert "- Ada **revenue** 3,5 Mio. €" in page["Ada"]
    assert "- Bea **seat** Höfn, long ago\n" in page["Bea"]
    assert "## Facts" not in page["apart"]


def test_a_hub_says_how_many_neighbours_are_left_out(tmp_path: Path) -> None:
    words = {"hub.md": [["Hub", f"Spoke {number:03}"] for number in range(103)]}
    written = write_okf(merge(home_of(tmp_path, river=words), "river"), tmp_path)
    hub = next(tmp_path.glob("entities/hub-*.md")).read_text("utf-8")
    assert hub.count("\n- [Spoke ") == 100
    assert "\n- and 3 more\n" in hub
    assert written.notes[1:] == ("neighbours beyond the first ones of a page, which says so: 3",)
    assert written.rows == {"entities": 104, "documents": 1, "indexes": len(list(tmp_path.rglob("index.md")))}


@pytest.mark.long
def test_a_quote_is_a_sentence_of_the_document_and_the_newest_ones_come_first(settings: Settings) -> None:
    notes = {
        "2020-01-05 old.md": "The gauge of Halden Weir stood still. It rained.",
        "2024-02-06 new.md": "It rained. Nothing happened at Halden Weir in that week! Then it rained again.",
    }
    write_source(settings, "notes", notes)
    build(settings)
    files = bundle(Generation(Home.of(settings), published(settings).snapshot_id), settings.home.parent / "out")
    (weir,) = (text for path, text in files.items() if path.startswith("entities/halden-weir-"))
    quotes = re.findall(r"^- “(.*)” \((.*)\)\[\^", weir, re.MULTILINE)
    assert quotes == [
        ("Nothing happened at Halden Weir in that week!", "2024-02-06"),
        ("The gauge of Halden Weir stood still.", "2020-01-05"),
    ]
    dated = [str(one["last_modified"])[:10] for one in front(weir)["sources"]]
    assert sorted(dated) == ["2020-01-05", "2024-02-06"]
    assert all(front(text)["date"] in dated for path, text in files.items() if path.startswith("documents/2"))


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        ("Erst. Es kostet 48.000 EUR ab 1. April 2021. Ende.", "EUR", "Es kostet 48.000 EUR ab 1. April 2021."),
        ("Petra <petra.u@x.de> wrote.\nHi", "Petra", "Petra <petra.u@x.de> wrote."),
        ("Then. Dr. Braun nennt 3,2 Mio. Euro für Osaka. Ende", "Osaka", "Dr. Braun nennt 3,2 Mio. Euro für Osaka."),
        ("Where? Really?! The weir broke... and", "weir", "The weir broke..."),
        ("Nothing.", "weir", None),
        ("It was because of ice. The US Army came. Rain.", "US", "The US Army came."),
        ("This annual report: ÜAnn, Ann2. By Ann! Rain.", "Ann", "By Ann!"),
        ("The café closed.", "Caf", None),
        ("C++ is old. C is older.", "C++", "C++ is old."),
        ("洪水于一月到来。站长王伟在桥上发现了裂缝！！他报告给了管理局。", "王伟", "站长王伟在桥上发现了裂缝！！"),
        ("他走了｡王伟和IBM公司签约？是。", "ibm", "王伟和IBM公司签约？"),
        ("ฝนตก แม่น้ำในประเทศไทยท่วม", "ไทย", "ฝนตก แม่น้ำในประเทศไทยท่วม"),
    ],
)
def test_a_quote_is_the_sentence_that_has_the_name_as_a_whole_word(
    content: str, name: str, sentence: str | None
) -> None:
    with duckdb.connect() as connection:
        statements = (files("lightrag_dagster.exports") / "sql/okf.sql").read_text("utf-8").split(";\n")
        for one in statements:
            if any(f"MACRO {name}(" in one for name in ("within", "sentence_of", "joined", "place_of")):
                connection.execute(one)
        given = "SELECT $content AS content, $name AS name, string_split(lower(content), lower(name)) AS parts"
        found = connection.execute(
            f"SELECT sentence_of(content, name, place_of(parts, name)) FROM ({given})",
            {"content": content, "name": name},
        )
        assert found.fetchall() == [(sentence,)]


@pytest.mark.long
def test_a_scope_has_its_own_pages_alone(settings: Settings) -> None:
    scoped = settings.changed(scopes={"board": {"sources": ("board",)}})
    write_source(scoped, "board", {"river.md": RIVER})
    write_source(scoped, "secret", {"a.md": f"{RIVER} Marta Lindqvist leads Project Nightjar in Oslo."})
    build(scoped)
    shown = {}
    for name, one in (("all", scoped), ("board", scoped.within("board"))):
        generation = Generation(Home.of(one), published(one).snapshot_id)
        shown[name] = bundle(generation, scoped.home.parent / name)
        check(shown[name])
    assert any("Nightjar" in text for text in shown["all"].values())
    assert not any("Nightjar" in text or "secret" in text for text in shown["board"].values())


def test_without_the_algorithm_there_is_no_index_of_communities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    generation = merge(home_of(tmp_path, river=WEIR), "river")
    written = write_okf(generation, tmp_path / "home")
    assert not (tmp_path / "home" / "communities").exists()
    assert any(note.startswith("no index of communities: communities need the extra `graph`") for note in written.notes)


@pytest.mark.long
def test_a_validator_of_others_finds_no_fault(tmp_path: Path) -> None:
    pytest.importorskip("okf_schema", reason="the extra `long` is not installed")
    texts = list(dict.fromkeys([*HOSTILE, *BREAKING]))
    for name, generation in (
        ("small", merge(home_of(tmp_path / "a", river=WEIR), "river")),
        ("hostile", graph_of(tmp_path / "b", texts, facts=FACTS)),
    ):
        export_to(generation, "okf", tmp_path / name)
        command = [str(Path(sys.executable).with_name("okf-schema")), "validate", "--path", str(tmp_path / name)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout + found.stderr
        assert "Bundle is conformant" in found.stdout
        warnings = set(re.findall(r"\[(W\d+)\]", found.stdout + found.stderr))
        assert {"W3", "W4"} <= warnings <= {"W1", "W3", "W4"}, "no summary, no time of writing, no index of entities"


def test_the_note_says_what_is_elsewhere(tmp_path: Path) -> None:
    assert write_okf(graph_of(tmp_path, ["one"]), tmp_path / "home").notes == (okf.NOTE,)
