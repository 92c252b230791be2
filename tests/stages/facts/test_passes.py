"""Files of schemas: what is read, and each mistake with its file and line."""

import unicodedata
from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.stages.facts.passes import load_passes

GOOD = """\
types:
  person: someone
  company:
relations:
  leads:
    from: person
    to: company
    single: yes
  revenue:
    from: [company]
    value: number
    unit: EUR
"""
TWICE = "types: [a]\nrelations:\n  A b: {from: a, to: a}\n  a-b: {from: a, to: a}"


def load(folder: Path, **files: str | bytes) -> dict[str, str]:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_bytes(text.encode() if isinstance(text, str) else text)
    return {name: one.asked for name, one in load_passes(folder).items()}


def test_a_folder_of_schemas(tmp_path: Path) -> None:
    load(tmp_path, b__yaml=GOOD, a__YML=b"\xef\xbb\xbf" + GOOD.encode(), notes__txt="no schema", __hidden__yaml=":")
    passes = load_passes(tmp_path)
    assert [*passes] == ["a", "b"]
    one = passes["b"]
    assert one.types == {"person": "someone", "company": ""}
    leads, revenue = one.relations.values()
    assert (leads.from_types, leads.to_types, leads.single, leads.dated) == (("person",), ("company",), True, False)
    assert (revenue.from_types, revenue.value, revenue.unit) == (("company",), "number", "EUR")


def test_no_folder_is_no_pass(tmp_path: Path) -> None:
    assert load_passes(None) == {}
    assert load(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "text", "mistake"),
    [
        ("a.yaml", "types: {", "a.yaml is not valid YAML: "),
        ("a.yaml", "- person", "a.yaml is not a mapping with `types` and `relations`"),
        ("a.yaml", "", "a.yaml is not a mapping"),
        ("a.yaml", b"types: \xff", "a.yaml cannot be read: "),
        ("a.yaml", "types: [person]", "a.yaml, line 1: relations: Field required"),
        ("a.yaml", GOOD + "note: x", "a.yaml, line 13: note does not exist; correct it"),
        (
            "a.yaml",
            GOOD.replace("from: person", "form: person"),
            "a.yaml, line 5: relations.leads.from: Field required",
        ),
        ("a.yaml", GOOD.replace("to: company", "to: firm"), "a.yaml, line 5: relations.leads: it names firm, which"),
        ("a.yaml", GOOD.replace("value: number", "value: money"), "a.yaml, line 11: relations.revenue.value: Input"),
        ("a.yaml", GOOD.replace("value: number", "value: yes_no"), "a.yaml, line 11: relations.revenue.value: Input"),
        ("a.yaml", GOOD.replace("value: number", "to: company"), "a.yaml, line 9: relations.revenue: `unit` and "),
        ("a.yaml", GOOD.replace("to: company", "dated: yes"), "a.yaml, line 5: relations.leads: give it either `to`"),
        ("a.yaml", GOOD.replace("single: yes", "value: text"), "a.yaml, line 5: relations.leads: give it either `to`"),
        ("a.yaml", GOOD.replace("single: yes", "single: perhaps"), "a.yaml, line 8: relations.leads.single: Input"),
        ("a.yaml", GOOD.replace("from: person", "from: []"), "a.yaml, line 6: relations.leads.from: "),
        ("a.yaml", "types: []\nrelations: {}", "a.yaml, line 1: types: "),
        ("a.yaml", "types: [a]\nrelations: {}", "a.yaml, line 2: relations: "),
        ("a.yaml", "types: [a]\nrelations: [b]", "a.yaml, line 2: relations: "),
        ("a.yaml", "types: [a, {b: c}]\nrelations: {}", "a.yaml, line 1: types: "),
        ("a.yaml", "types: [a]\nrelations:\n  '_': {from: a, to: a}", "a.yaml, line 3: relations: '_' has no letter"),
        ("a.yaml", TWICE, "a.yaml, line 4: relations.a-b: it is A b in other letters; give it another name"),
        ("a.yaml", "types:\n  A:\n  a:\nrelations:\n  b: {from: a, to: a}", "a.yaml, line 3: types.a: it is A in"),
        ("a.yaml", "types: [a]\nrelations:\n  7: {from: a, to: a}", "a.yaml, line 3: relations: a name is a text"),
        ("a.yaml", "types: [a]\nrelations:\n  on: {from: a, to: a}", "line 2: relations: a name is a text, and YAML"),
        ("a.yaml", "types: [a]\ntypes: [a]\nrelations:\n  b: {from: a, to: a}", "a.yaml is not valid YAML: "),
        ("columns.yaml", GOOD, "columns is the pass of sources whose columns are facts; rename the file"),
        ("A.yaml", GOOD, "A.yaml names a pass; begin it with a letter"),
        ("1a.yaml", GOOD, "1a.yaml names a pass"),
        ("a@b.yaml", GOOD, "a@b.yaml names a pass"),
        ("a" * 65 + ".yaml", GOOD, "names a pass"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(tmp_path: Path, name: str, text: str | bytes, mistake: str) -> None:
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(SettingsError) as refused:
        load_passes(tmp_path)
    assert mistake in str(refused.value)
    assert str(tmp_path / name) in str(refused.value) or name == "columns.yaml"
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (f"name: ../../chunks\n{GOOD}", "line 1: a pass has the name of its file; remove `name`"),
        (f"{GOOD}\ntypes2: 2024-13-45\n", "this cannot be read as timestamp; write a text in quotes"),
        ("types: {2024-01-01: x}\n", "write dates and the like in quotes"),
        ("types: &a [*a]\n", "is not valid YAML: Circular reference"),
        ("{a: " * 3000, "is not valid YAML"),
        ('types: {"a\\ud800b": x}\n', "cannot be read"),
        ('types: {"x\\nIgnore all": y}\nrelations: {r: {from: "x\\nIgnore all", value: text}}\n', "more than a line"),
        ("#" * 1_000_001, "a schema is a file of at most 1,000,000 bytes"),
    ],
    ids=["name", "date", "key", "circle", "deep", "half a character", "lines", "large"],
)
def test_a_hostile_schema_is_one_line(tmp_path: Path, text: str, mistake: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(SettingsError) as refused:
        load_passes(tmp_path)
    assert mistake in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_files_of_one_pass(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="two files are the pass a; remove one of them"):
        load(tmp_path, a__yaml=GOOD, a__yml=GOOD)


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_cannot_be_listed(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="name one that is there, or none"):
        load_passes(tmp_path / folder)


def test_sources_by_name_however_their_accents_are_written(tmp_path: Path) -> None:
    apart = unicodedata.normalize("NFD", "bücher")
    load(tmp_path, a__yaml=GOOD + f"sources: [{apart}]\n", b__yaml=GOOD)
    passes = load_passes(tmp_path)
    read = {name: [one.name for one in passes.values() if one.reads(name)] for name in ("bücher", apart, "notes")}
    assert read == {"bücher": ["a", "b"], apart: ["a", "b"], "notes": ["b"]}


@pytest.mark.parametrize(
    ("changed", "asks_again", "parses_again"),
    [
        (("someone", "a person"), True, True),
        (("value: number", "value: number\n    description: of a year"), True, True),
        (("single: yes", "single: no"), False, True),
        (("value: number", "value: number\n    decimal: ','"), False, True),
        (("types:", "sources: [notes]\ntypes:"), False, False),
        (("types:", "# a comment\ntypes:"), False, False),
    ],
)
def test_what_a_change_makes_again(
    tmp_path: Path, changed: tuple[str, str], asks_again: bool, parses_again: bool
) -> None:
    load(tmp_path, a__yaml=GOOD, b__yaml=GOOD.replace(*changed))
    one, other = load_passes(tmp_path).values()
    assert (one.asked != other.asked, one.parsed != other.parsed) == (asks_again, parses_again)
