"""Tables of known names: what is found of them, in which case, and what is wrong with a file."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.local import load_pipeline, pipeline_identity
from lightrag_dagster.models.local.known_names import NamesOfTable
from lightrag_dagster.offline import find_names

TABLE = """name,type,aliases,source,target
Heron Logger,product,heron unit;HL,,
kestrel,Gateway,,,
阿里巴巴,organization,,,
IT,department,,,
Will,person,,,
Saint-Étienne,location,,,
AT&T,firm,,,
C,letter,,,
C++,language,C#,,
4711,part,0815-22,,
.NET,artifact,,,
The Hague,location,,,
Acme Inc.,firm,,,
McDonald's,organization,,,
,,,kestrel,Heron Logger
"""


@pytest.fixture
def names(tmp_path: Path) -> Path:
    file = tmp_path / "names.csv"
    file.write_text(TABLE)
    return file


def found(file: Path, text: str) -> list[tuple[str, str]]:
    """Return name and type of what a table finds in a text."""
    [spans] = load_pipeline(str(file), pipeline_identity(str(file)))([text])
    return [(text[one.start : one.end], one.type) for one in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the heron logger, a Heron-Logger", [("heron logger", "product"), ("Heron-Logger", "product")]),
        ("HERON UNIT and kestrel's mast", [("HERON UNIT", "product"), ("kestrel", "gateway")]),
        ("HL, not hl", [("HL", "product")]),
        ("it is run by IT", [("IT", "department")]),
        ("will Will come", [("Will", "person")]),
        ("杭州的阿里巴巴集团", [("阿里巴巴", "organization")]),
        ("à saint-étienne", [("saint-étienne", "location")]),
        ("herons (logger), heron (logger), kestrels", []),
        ("We look at T in the plan of AT&T", [("AT&T", "firm")]),
        ("C++, C# and C, not c or D#", [("C++", "language"), ("C#", "language"), ("C", "letter")]),
        ("a bolt 0815-22, 4711 and 4712", [("0815-22", "part"), ("4711", "part")]),
        ("Acme Inc of ACME INC.", [("Acme Inc", "firm"), ("ACME INC.", "firm")]),
        ("on .NET, the net", [(".NET", "artifact")]),
        ("from The Hague for McDonald’s", [("The Hague", "location"), ("McDonald’s", "organization")]),
        ("", []),
    ],
)
def test_names_are_found_as_whole_words_in_any_case_but_short_ones(
    names: Path, text: str, expected: list[tuple[str, str]]
) -> None:
    assert found(names, text) == expected


def test_of_names_that_overlap_the_first_and_longest_counts() -> None:
    known = NamesOfTable({"Blue Heron": "team", "Blue": "colour", "Heron Logger": "product"})
    [spans] = known(["Blue heron logger, blue logger"])
    assert [(one.start, one.end, one.type) for one in spans] == [(0, 10, "team"), (19, 23, "colour")]


def test_they_join_the_names_of_the_rules_and_give_their_types(names: Path) -> None:
    recognise = load_pipeline(str(names), pipeline_identity(str(names)))
    text = "The heron logger was repaired by Priya Raman at the kestrel of the harbour."
    entities = find_names(text, recognise=recognise).entities
    assert {(one.name, one.type) for one in entities} >= {("heron logger", "product"), ("kestrel", "gateway")}
    assert "Priya Raman" in {one.name for one in entities}


def test_names_stay_as_they_are_given_in_lines_of_capitals_too(names: Path) -> None:
    recognise = load_pipeline(str(names), pipeline_identity(str(names)))
    text = (
        "The court of The Hague uses C++ and .NET, and McDonald's sells bolt 4711.\n\nREPLACE THE HERON LOGGER BOARD."
    )
    found = {one.name: one.type for one in find_names(text, recognise=recognise).entities}
    expected = {"The Hague": "location", "C++": "language", ".NET": "artifact", "McDonald's": "organization"}
    assert found.items() >= (expected | {"4711": "part", "HERON LOGGER": "product"}).items()
    assert not found.keys() & {"Hague", "McDonald", "NET"}


def test_every_kind_of_table_is_read(tmp_path: Path) -> None:
    lines, parquet = tmp_path / "names.jsonl", tmp_path / "names.parquet"
    row = {"entity_name": "Heron Logger", "entity_type": "product", "aliases": ["heron unit", "HLX"]}
    lines.write_text(json.dumps(row) + "\n")
    pq.write_table(pa.Table.from_pylist([row]), parquet)
    for file in (lines, parquet):
        assert found(file, "a heron unit, HLX") == [("heron unit", "product"), ("HLX", "product")]


def test_another_table_is_another_recipe_and_its_place_is_not(names: Path, tmp_path: Path) -> None:
    identity = pipeline_identity(str(names))
    assert identity.startswith("table/names.csv@")
    copy = tmp_path / "other" / "names.csv"
    copy.parent.mkdir()
    copy.write_text(TABLE)
    assert pipeline_identity(str(copy)) == identity
    copy.write_text(TABLE.replace("Will", "Wilma"))
    assert pipeline_identity(str(copy)) != identity
    with pytest.raises(SettingsError, match=r"names\.csv on .* is not .*; copy the same pipeline or table"):
        load_pipeline(str(copy), identity)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no table .*; correct its path"),
        ("a,b\n1,2\n", "has no names; give it a column `name`"),
        ("", "has no names"),
        ("\0\1", "has no names|cannot be read as a table"),
    ],
)
def test_what_is_no_table_of_names_is_named_with_the_next_step(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "names.csv"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match=f"extraction.names_model: .*{message}"):
        found(file, "a text")
