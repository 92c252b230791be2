"""The sample sources are what examples/README.md says they are."""

import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from lightrag_dagster.cli.demo import demo_settings
from lightrag_dagster.evaluation.questions import read_question_file, with_gold
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.settings import load_settings
from lightrag_dagster.testing import build_knowledge_base

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCES = EXAMPLES / "sources"
ORIGINAL = "incidents/2022/corley-bridge.md"
DUPLICATE = "incidents/for-the-insurer/corley-bridge.md"
EMPTY = "incidents/2025/port-sollen-gate.md"
UNDECODABLE = "incidents/2024/station-31-logger-dump.txt"
BROKEN = {DUPLICATE, EMPTY, UNDECODABLE}
LONG = {"incidents/2023/january-flood.md", "field-notes/rounds/winter-round-2024.md"}

FILES = {file.relative_to(SOURCES).as_posix(): file for file in sorted(SOURCES.rglob("*")) if file.is_file()}
GOOD = sorted(FILES.keys() - BROKEN)
QUESTIONS = read_question_file(EXAMPLES / "questions.yaml")


def words(path: str) -> str:
    """The visible text of a good document on one line: without tags, scripts and line breaks."""
    if path.startswith("board/"):
        return " ".join(extract_text(FILES[path].read_bytes(), path).text.split())
    text = FILES[path].read_text("utf-8")
    if path.endswith(".html"):
        text = re.sub(r"<(script|style|nav|footer)\b.*?</\1>|<[^>]+>", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


def source_text(source: str) -> str:
    return " ".join(words(path) for path in GOOD if path.startswith(f"{source}/")).casefold()


TEXTS = {source: source_text(source) for source in ("handbook", "incidents", "field-notes", "feldberichte", "board")}


def test_counts_by_source_and_format() -> None:
    assert Counter((path.split("/")[0], Path(path).suffix) for path in FILES) == {
        ("handbook", ".md"): 5,
        ("handbook", ".txt"): 2,
        ("handbook", ".html"): 2,
        ("incidents", ".md"): 7,
        ("incidents", ".txt"): 2,
        ("incidents", ".html"): 2,
        ("field-notes", ".md"): 3,
        ("field-notes", ".txt"): 2,
        ("field-notes", ".html"): 2,
        ("feldberichte", ".md"): 2,
        ("feldberichte", ".txt"): 1,
        ("feldberichte", ".html"): 1,
        ("board", ".pdf"): 1,
        ("board", ".xlsx"): 1,
        ("board", ".pptx"): 1,
        ("board", ".eml"): 1,
    }
    assert len(GOOD) == 32


@pytest.mark.parametrize("path", GOOD)
def test_a_good_document_has_enough_to_read(path: str) -> None:
    lowest, highest = (1400, 2500) if path in LONG else (120 if path.startswith("board/") else 250, 600)
    assert lowest <= len(words(path).split()) <= highest


def test_good_documents_are_distinct() -> None:
    assert len({words(path) for path in GOOD}) == len(GOOD)


def test_the_broken_files_are_broken_as_claimed() -> None:
    assert FILES[DUPLICATE].read_bytes() == FILES[ORIGINAL].read_bytes()
    assert ORIGINAL < DUPLICATE, "the smallest path is the one that is kept"
    assert FILES[EMPTY].read_bytes() == b""
    data = FILES[UNDECODABLE].read_bytes()
    for encoding in ("utf-8", "cp1252"):
        with pytest.raises(UnicodeDecodeError):
            data.decode(encoding)


def test_failed_files_stay_below_the_default_threshold() -> None:
    files = sum(path.startswith("incidents/") for path in FILES)
    assert len({EMPTY, UNDECODABLE}) / files < 0.2


@pytest.mark.parametrize("path", [path for path in GOOD if path.endswith(".md")])
def test_markdown_has_one_title(path: str) -> None:
    assert len(re.findall(r"^# \S", FILES[path].read_text("utf-8"), re.MULTILINE)) == 1


@pytest.mark.parametrize("path", [path for path in GOOD if path.endswith(".html")])
def test_html_has_a_title_an_article_and_something_to_drop(path: str) -> None:
    text = FILES[path].read_text("utf-8")
    for tag in ("title", "article", "nav", "footer"):
        assert text.count(f"<{tag}") == text.count(f"</{tag}>") == 1
    article = text[text.index("<article>") : text.index("</article>")]
    menu = re.findall(r'<a href="[^"]+">([^<]+)</a>', text[: text.index("<article>")])
    assert menu
    assert not [entry for entry in menu if entry in article]


def test_one_source_is_german() -> None:
    shares = {source: len(re.findall(r"\b(?:der|die|das|und|ist)\b", text)) for source, text in TEXTS.items()}
    assert shares.pop("feldberichte") > 100
    assert max(shares.values()) < 10


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("Marta Lindqvist", 4),
        ("Jonah Prewitt", 4),
        ("Hesper Dunmore", 4),
        ("Katrin Vollmoor", 4),
        ("Anselm Brückner", 4),
        ("Emil Dornacher", 4),
        ("Gwen Tolliver", 4),
        ("Odile Verrane", 4),
        ("Ines Carradale", 4),
        ("Helena Storrow", 4),
        ("Ruben Askell", 4),
        ("Corwin Maddox", 4),
        ("Bernd Haslacker", 4),
        ("Lucian Farrow", 3),
        ("Sunniva Holtby", 3),
        ("Priya Narrandale", 3),
        ("Isolde Prynne", 3),
        ("Edda Rasmott", 3),
        ("Tobias Wexcombe", 3),
        ("Philippa Garrowby", 3),
        ("Amos Pettibone", 2),
        ("Orrin Instruments", 4),
        ("Ostrel Basin Authority", 4),
        ("Stauverband Steinhag", 3),
        ("Pellmar Batteries", 4),
        ("Tollgate Telemetry", 4),
        ("Station 14", 4),
        ("Station 31", 4),
        ("Station 33", 4),
        ("Halden Weir", 4),
        ("Corley Bridge", 4),
        ("Steinhag Dam", 4),
        ("January Flood", 3),
        ("Old Basin", 2),
        ("Kingfisher Radar", 4),
        ("Sondra Gauge", 4),
        ("Heron Logger", 4),
        ("Pellmar P7", 4),
        ("SG-0417", 2),
    ],
)
def test_a_name_recurs_across_sources(name: str, sources: int) -> None:
    assert sum(name.casefold() in text for text in TEXTS.values()) >= sources


def test_some_names_are_spelled_in_several_ways() -> None:
    spellings = Counter(
        spelling for path in GOOD for spelling in re.findall("halden weir", words(path), flags=re.IGNORECASE)
    )
    assert spellings["Halden Weir"] > spellings["halden weir"] > 0
    assert any('"Old Basin"' in words(path) for path in GOOD)


def test_every_question_names_a_mode_good_documents_and_an_answer() -> None:
    assert len(QUESTIONS) == 22
    for one in QUESTIONS:
        assert (one.mode or "mix") in MODES
        assert set(one.documents) <= set(GOOD), one
        assert one.answer
    assert with_gold(QUESTIONS) == QUESTIONS


def test_most_questions_join_several_sources() -> None:
    joining = [one for one in QUESTIONS if len({path.split("/")[0] for path in one.documents}) > 1]
    assert len(joining) == 12


@pytest.mark.parametrize(
    ("holder", "fact", "other", "absent"),
    [
        # Why a question needs both its documents: what one source says, the other source does not.
        ("handbook", "designed the cartridge and its housing", "incidents", "designed the cartridge"),
        ("incidents", "the failed part was therefore", "handbook", "failed part"),
        ("handbook", "safety trainer", "incidents", "safety trainer"),
        ("incidents", "threw a line", "handbook", "threw a line"),
        ("incidents", "bolt 7 on the dam wall has a height of 409.438", "feldberichte", "409,438"),
        ("feldberichte", "bolzen 7 an der mauer", "incidents", "started from bolt"),
        ("field-notes", "the dip gave 407.31", "incidents", "407.31"),
        ("feldberichte", "minus vierzehn grad", "incidents", "fourteen degrees"),
        ("incidents", "more than four thousand packs", "feldberichte", "tausend"),
        ("handbook", "a report has four parts", "incidents", "four parts"),
        ("field-notes", "thirty-five minutes slow", "incidents", "thirty-five minutes"),
        ("incidents", "checked by lucian farrow", "field-notes", "checked by lucian farrow"),
        ("board", "31,250 crowns", "incidents", "31,250"),
        ("incidents", "threw a line", "board", "line"),
        ("board", "| kingfisher radar bracket | sallow lane foundry | 410 | 3 |", "handbook", "bracket |"),
        ("handbook", "across the yard", "board", "yard"),
        ("board", "inspected again in six months", "handbook", "inspected again"),
    ],
)
def test_a_fact_is_in_one_source_alone(holder: str, fact: str, other: str, absent: str) -> None:
    assert fact in TEXTS[holder]
    assert absent not in TEXTS[other]


@pytest.mark.long
def test_the_prices_are_facts_of_which_two_contradict_each_other(tmp_path: Path) -> None:
    prices = demo_settings(load_settings(), EXAMPLES).named_sources
    one = "handbook/instruments.md"
    knowledge = build_knowledge_base(tmp_path, {one: FILES[one].read_bytes()}, named_sources=prices)
    with duckdb.connect(Path(knowledge.home) / "views.duckdb", read_only=True) as views:
        lamp = "SELECT coalesce(object, value) FROM facts_at('2024-07-01') WHERE subject LIKE 'Larkspur%' ORDER BY 1"
        assert views.sql(lamp).fetchall() == [("64 crowns",), ("Tolland Lamps",)]
        [(subject, *says)] = views.sql("SELECT subject, says, other_says FROM contradictions").fetchall()
    assert (subject, {*says}) == ("Larkspur Beacon lamp", {"72 crowns", "75 crowns"})


@pytest.mark.long  # `make demo`, which CI runs too, answers from all of them
def test_a_part_of_them_answers(tmp_path: Path) -> None:
    handbook = {path: FILES[path].read_bytes() for path in GOOD if path.startswith("handbook/")}
    knowledge = build_knowledge_base(tmp_path / "knowledge", handbook)
    with knowledge.open() as opened:
        answer = opened.query("Who makes the glass of the housing of the gauge?").text
    assert "Clear Cap, a housing with a glass window" in answer
    assert "handbook/instruments.md" in answer
