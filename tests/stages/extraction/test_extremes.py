"""Very short and very long fields, at every limit."""

import json

import pytest

from lightrag_dagster.stages.extraction.parsing import parse_response
from tests.stages.extraction.reading import differences, read, read_json

# A value as it is written, and as it is read; "" where it is unusable.
SHORT = {
    "A": "A",
    "x": "x",
    "I": "I",
    "n": "n",
    "r": "r",
    "é": "é",
    "ß": "ß",
    "π": "π",
    "Ω": "Ω",
    "中": "中",
    "カ": "カ",
    "ｶ": "ｶ",
    "가": "가",
    "𠮷": "𠮷",
    "😀": "😀",
    "👩\u200d💻": "👩\u200d💻",
    "e\u0301": "e\u0301",
    "½": "½",
    "²": "²",
    "Ⅳ": "Ⅳ",
    "?": "?",
    "-": "-",
    "@": "@",
    "&": "&",
    "C#": "C#",
    "#1": "#1",
    "3D": "3D",
    "R2": "R2",
    "1st": "1st",
    "+1": "+1",
    "1-2": "1-2",
    "…": "…",
    '"A"': "A",
    "Ａ": "A",
    "&#65;": "A",
    "A\u200b": "A",
    "\tA\t": "A",
    # numbers: from three digits on, or with dots from six characters on
    "7": "",
    "42": "",
    "007": "007",
    "100": "100",
    "1984": "1984",
    "1.": "",
    ".5": "",
    "1.5": "",
    "3.14": "",
    "1.2.3": "",
    "12.34": "",
    "3.1415": "3.1415",
    "1.2.3.4": "1.2.3.4",
    "192.168.0.1": "192.168.0.1",
    "７": "",
    "１００": "100",
    "&#55;": "",
    '"7"': "",
    "4\x002": "",
    ".": "",
    "...": "",
    "......": "......",
    # nothing
    '""': "",
    "“”": "",
    "<br>": "",
    "&nbsp;": "",
    "\u200b": "",
    "\u3000": "",
    "\x00": "",
}


def test_short_names() -> None:
    names = {name: [f"{expected} ¦ person ¦ d"] if expected else [] for name, expected in SHORT.items()}
    assert differences(names, lambda name: read(f"entity¦{name}¦Person¦d")) == {}
    assert differences(names, lambda name: read_json(name, "Person", "d")) == {}
    ends = {name: [f"{expected} ¦ Z ¦ k ¦ d"] if expected else [] for name, expected in SHORT.items()}
    assert differences(ends, lambda name: read(f"relation¦{name}¦Z¦k¦d")) == {}
    assert differences(ends, lambda name: read(f"- Relation <|#|{name}<|#|Z<|#|k<|#|d\r\n")) == {}


def test_short_descriptions_and_keywords() -> None:
    descriptions = {text: [f"A ¦ B ¦ k ¦ {expected}"] if expected else [] for text, expected in SHORT.items()}
    assert differences(descriptions, lambda text: read(f"relation¦A¦B¦k¦{text}")) == {}
    assert differences(descriptions, lambda text: read_json("A", "B", "k", text)) == {}
    entities = {text: [f"A ¦ person ¦ {expected}"] if expected else [] for text, expected in SHORT.items()}
    assert differences(entities, lambda text: read(f"(entity¦A¦Person¦{text})")) == {}
    keywords = {text: [f"A ¦ B ¦ {expected} ¦ d"] for text, expected in SHORT.items()}
    assert differences(keywords, lambda text: read(f"relation¦A¦B¦{text}¦d")) == {}


def test_short_types() -> None:
    expected = {kind: [f"A ¦ {read_as.lower()} ¦ d"] if read_as else [] for kind, read_as in SHORT.items()}
    assert differences(expected, lambda kind: read(f"entity¦A¦{kind}¦d")) == {}


def test_short_rows() -> None:
    rows = {
        "entity¦A¦B¦C": ["A ¦ b ¦ C"],
        "entity:A¦B¦C": ["A ¦ b ¦ C"],
        "relation¦A¦B¦C¦D": ["A ¦ B ¦ C ¦ D"],
        "relation¦A¦B¦¦D": ["A ¦ B ¦  ¦ D"],
        "relation¦A¦a¦k¦d": ["A ¦ a ¦ k ¦ d"],
        "relation¦A¦A¦k¦d": [],
        "entity¦A¦B¦": [],
        "entity¦A¦B": [],
        "entity¦A": [],
        "entity¦": [],
        "¦entity": [],
        "entity¦¦¦": [],
        "entity¦¦B¦C": [],
        "entity¦A¦¦C": [],
        "relation¦A¦¦k¦d": [],
        "relation¦¦B¦k¦d": [],
        "entity¦A¦B¦C entity¦D¦E¦F": ["A ¦ b ¦ C", "D ¦ e ¦ F"],
        "entity¦A¦B¦C##relation¦A¦D¦k¦E": ["A ¦ b ¦ C", "A ¦ D ¦ k ¦ E"],
        "entity<|>A<|>B<|>C": ["A ¦ b ¦ C"],
        "entity<#>A<#>B<#>C": ["A ¦ b ¦ C"],
        "entity¦京¦地¦城": ["京 ¦ 地 ¦ 城"],
    }
    assert differences(rows, read) == {}


# A name as it is written, and as it is read: none of more than 256 characters, and cut to 512 bytes between characters.
LONG = {
    "x" * 255: "x" * 255,
    "x" * 256: "x" * 256,
    "x" * 257: "",
    "x" * 100_000: "",
    "é" * 255: "é" * 255,
    "é" * 256: "é" * 256,
    "é" * 257: "",
    "中" * 170: "中" * 170,
    "中" * 171: "中" * 170,
    "xx" + "中" * 170: "xx" + "中" * 170,
    "xxx" + "中" * 170: "xxx" + "中" * 169,
    "𠮷" * 128: "𠮷" * 128,
    "𠮷" * 129: "𠮷" * 128,
    "x" + "𠮷" * 128: "x" + "𠮷" * 127,
    "xxxx" + "𠮷" * 127: "xxxx" + "𠮷" * 127,
    "😀" * 200: "😀" * 128,
    "x" * 255 + "é": "x" * 255 + "é",
    "x" * 255 + "中": "x" * 255 + "中",
    "x" * 256 + "中": "",
    "é" * 255 + "中": "é" * 255,
    "é" * 254 + "中x": "é" * 254 + "中x",
    "é" * 254 + "中xx": "",
    "가" * 250: "가" * 170,
    "가 " * 250: "가" * 170,
    "가" * 300: "",
    "中 " * 200: "中" * 170,
    "中 " * 300: "",
    "Ａ" * 256: "A" * 256,
    "Ａ" * 300: "",
    "&amp;" * 256: "&" * 256,
    "&amp;" * 300: "",
    "e\u0301" * 128: "e\u0301" * 128,
    "e\u0301" * 150: "",
    "x" * 255 + " y": "",
    "word " * 51: ("word " * 51).strip(),
    "word " * 60: "",
    '"' + "x" * 256 + '"': "x" * 256,
    '"' + "x" * 300 + '"': "",
    "👩\u200d💻" * 60: ("👩\u200d💻" * 60)[:139],
    "Name: " + "x" * 256: "x" * 256,
    "Name: " + "x" * 300: "",
    "x\u200b" * 256: "x" * 256,
    "x\x00" * 256: "x" * 256,
    "9" * 300: "",
}


def test_long_names() -> None:
    names = {name: [f"{expected} ¦ person ¦ d"] if expected else [] for name, expected in LONG.items()}
    assert differences(names, lambda name: read(f"entity¦{name}¦Person¦d")) == {}
    assert differences(names, lambda name: read_json(name, "Person", "d")) == {}
    ends = {name: [f"Z ¦ {expected} ¦ k ¦ d"] if expected else [] for name, expected in LONG.items()}
    assert differences(ends, lambda name: read(f"relation¦Z¦{name}¦k¦d")) == {}
    assert all(len(name) <= 256 and len(name.encode()) <= 512 for name in LONG.values())
    longer = {name: ("name of more than 256 characters",) for name, expected in LONG.items() if not expected}
    assert differences(longer, lambda name: parse_response(f"entity<|#|>{name}<|#|>t<|#|>d").rejected) == {}
    assert differences(longer, lambda name: parse_response(f"relation<|#|>Z<|#|>{name}<|#|>k<|#|>d").rejected) == {}


def test_a_relation_whose_ends_become_the_same_is_dropped() -> None:
    assert read(f"relation¦{'中' * 171}¦{'中' * 172}¦k¦d") == []
    assert read(f"relation¦{'x' * 255}y¦{'x' * 255}z¦k¦d") == [f"{'x' * 255}y ¦ {'x' * 255}z ¦ k ¦ d"]


@pytest.mark.parametrize("text", ["word", "中", "é", "😀", "x.", "She works; she leads, "])
@pytest.mark.parametrize("length", [257, 513, 4097, pytest.param(100_000, marks=pytest.mark.long)])
def test_types_are_cut_as_names_and_no_other_field_is(text: str, length: int) -> None:
    long = f"{(text * length)[:length].strip()}z."
    assert read(f"entity¦Alice¦Person¦{long}") == read_json("Alice", "Person", long) == [f"Alice ¦ person ¦ {long}"]
    assert read(f"relation¦A¦B¦{long}¦{long}") == read_json("A", "B", long, long) == [f"A ¦ B ¦ {long} ¦ {long}"]
    assert read(f"relation¦A¦B¦{long}¦work¦8\r\n") == [f"A ¦ B ¦ work ¦ {long} ¦ 8"]
    kind = "t" * length
    assert read(f"entity¦Alice¦{kind}, person¦d") == read_json("Alice", kind, "d") == [f"Alice ¦ {kind[:256]} ¦ d"]


def test_many_rows() -> None:
    count = 1_000
    rows = [f"entity<|#|>E{number}<|#|>Person<|#|>d" for number in range(count)]
    for line_break in ("\n", "\r\n", "\r", " ", "##", r"\n"):
        found = parse_response(line_break.join(rows), most_rows=None)
        assert [one.name for one in found.entities] == [f"E{n}" for n in range(count)]


RELATIONS = [f"relation<|#|>E{number}<|#|>Acme<|#|>k<|#|>d" for number in range(450)]
ENTITIES = [f"entity<|#|>E{number}<|#|>Person<|#|>d" for number in range(450)]


@pytest.mark.parametrize(
    ("rows", "kept", "rejected"),
    [
        (ENTITIES[:400], (400, 0), 0),
        (ENTITIES, (400, 0), 1),
        ([*ENTITIES[:100], *RELATIONS], (100, 300), 1),
        ([*RELATIONS, *ENTITIES], (400, 0), 1),
        ([ENTITIES[0]] * 5_000, (1, 0), 0),
        ([*ENTITIES, "entity<|#|>"], (400, 0), 2),
    ],
)
def test_an_answer_has_four_times_as_many_rows_as_the_prompt_allows(
    rows: list[str], kept: tuple[int, int], rejected: int
) -> None:
    found = parse_response("\n".join(rows))
    assert (len(found.entities), len(found.relations), len(found.rejected)) == (*kept, rejected)
    items = [{"name": row.split("<|#|>")[1], "type": "t", "description": "d"} for row in rows if row.startswith("e")]
    assert len(parse_response(json.dumps(items)).entities) <= 400


@pytest.mark.long
def test_the_rest_of_an_answer_of_millions_of_characters_is_counted() -> None:
    found = parse_response(f"{ENTITIES[0]}\n{'x' * 4_000_000}")
    assert [entity.name for entity in found.entities] == ["E0"]
    assert found.rejected == ("rest of an answer of more than four million characters",)
