"""Files of decisions: YAML and CSV, with errors that name file and line."""

import csv
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.rules.decisions import Decision, Placed
from lightrag_dagster.curation.rules.files import in_a_cell, read_files
from lightrag_dagster.curation.rules.resolving import resolve
from lightrag_dagster.errors import DecisionError

_YAML = """\
# Names of companies
- merge: [Acme Robotics, ACME Robotics Inc]
  into: Acme Robotics
  reason: the same register number
  author: mia
  date: 2026-11-24

- remove: Acme Robotics
  with: Oslo
- split: Mercury
  into: Mercury (planet)
  sources: sky
- add: Maria Lindqvist
  type: person
"""

_CSV = """\
action,name,with,score,into,sources,reason
merge,Acme Robotics,ACME Robotics Inc,0.97,,,
,Oslo,Bergen,0.4,,,not decided
apart,"'=Lim","Lim, Anna",0.9,,,"two
people"
Describe,Oslo,,,,,
"""


def test_yaml_and_csv_below_a_folder_are_read_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "names.yaml").write_text(_YAML)
    (tmp_path / "people" / "review.csv").write_bytes(
        b"\xef\xbb\xbf" + _CSV.replace("Describe,Oslo,,,,,\n", "").encode()
    )
    (tmp_path / "notes.txt").write_text("- merge")
    (tmp_path / ".gitlab-ci.yml").write_text("stages: [test]")
    found = read_files(tmp_path)
    name = tmp_path.name
    assert found == [
        Placed(
            Decision.model_validate(
                {
                    "action": "merge",
                    "names": ("Acme Robotics", "ACME Robotics Inc"),
                    "into": "Acme Robotics",
                    "reason": "the same register number",
                    "author": "mia",
                    "date": "2026-11-24",
                }
            ),
            f"{name}/names.yaml:2",
        ),
        Placed(Decision(action="remove", names=("Acme Robotics", "Oslo")), f"{name}/names.yaml:8"),
        Placed(
            Decision(action="split", names=("Mercury",), into="Mercury (planet)", sources=("sky",)),
            f"{name}/names.yaml:10",
        ),
        Placed(Decision(action="add", names=("Maria Lindqvist",), type="person"), f"{name}/names.yaml:13"),
        Placed(Decision(action="merge", names=("Acme Robotics", "ACME Robotics Inc")), f"{name}/people/review.csv:2"),
        Placed(
            Decision(action="apart", names=("=Lim", "Lim, Anna"), reason="two\npeople"), f"{name}/people/review.csv:4"
        ),
    ]
    assert next(one.place for one in read_files(tmp_path / "names.yaml")) == "names.yaml:2"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "a.yaml",
            "merge: [A, B]",
            "a.yaml is not a list of decisions; begin each with `- merge: …` or another action",
        ),
        ("a.yaml", "- just text", "a.yaml:1: a decision is a mapping, as `merge: [Acme, ACME Inc]`"),
        (
            "a.yaml",
            "- merge: [A, B]\n- renamed: A",
            "a.yaml:2: a decision has one of merge, apart, rename, retype, describe, remove, split, add, not 0 of them",
        ),
        ("a.yaml", "- rename: A", "a.yaml:1: rename needs 'into'"),
        ("a.yaml", "- merge: A", "a.yaml:1: merge takes two names at least"),
        ("a.yaml", "- apart: [A, '']", "a.yaml:1: apart has an empty name"),
        ("a.yaml", "- retype: A\n  type: x\n  into: B", "a.yaml:1: retype does not take 'into'"),
        (
            "a.yaml",
            "- remove: [A, B]",
            "a.yaml:1: remove takes one entity; name the other end of a relation in `with`",
        ),
        (
            "a.yaml",
            "- remove: A\n  whith: B",
            "a.yaml:1: remove has no 'whith'; there are with, into, type, text, keywords, sources, paths, types, "
            "scopes, reason, author, date",
        ),
        ("a.yaml", "- split: A\n  into: B", "a.yaml:1: split needs 'sources', 'paths' or 'types' of the mentions that"),
        ("a.yaml", "- add: A\n  with: B\n  type: x", "a.yaml:1: add does not take 'type' of a relation"),
        ("a.yaml", "- add: A\n  keywords: x", "a.yaml:1: add does not take 'keywords' of an entity"),
        ("a.yaml", "- remove: A\n  date: tomorrow", "is not a date; write it as 2026-11-28"),
        ("a.yaml", "- remove: A\n  date: 2024-02-30", "is not a date; write it as 2026-11-28"),
        ("a.yaml", "- merge: [[A, B]]", "a.yaml:1: merge takes a text, or a list of texts"),
        ("a.yaml", "- remove: A\n  remove: B", "a.yaml:1: the decision has 'remove' twice; write it once"),
        ("a.yaml", '- remove: "A\\ud800"', r"a.yaml:1: 'A\ud800' holds a character that no text has"),
        ("a.yaml", "- merge: [Kessing, Kessing]", "a.yaml:1: 'Kessing' and 'Kessing' are spellings of one name; write"),
        ("a.yaml", "- merge: [Kessing, B, KESSING]", "a.yaml:1: 'Kessing' and 'KESSING' are spellings of one name"),
        ("a.csv", "action,name,with\nmerge,A,a", "a.csv:2: 'A' and 'a' are spellings of one name"),
        ("a.yaml", f"- rename: A\n  into: {'x' * 257}", "… has 257 characters; the most are 256"),
        ("a.yaml", f"- remove: {'x' * 257}", "… has 257 characters; the most are 256"),
        ("a.yaml", f"- retype: A\n  type: {'x' * 5000}", "… has 5,000 characters; the most are 256"),
        ("a.yaml", f"- describe: A\n  text: {'x' * 20_001}", "… has 20,001 characters; the most are 20,000"),
        (
            "a.yaml",
            '- rename: A\n  into: "A\\u202eb"',
            r"a.yaml:1: 'A\u202eb' holds a character that is not seen; write",
        ),
        ("a.yaml", '- retype: A\n  type: "A\\u200bb"', r"a.yaml:1: 'A\u200bb' holds a character that is not seen"),
        ("a.yaml", '- rename: A\n  into: "A\\x9bb"', r"a.yaml:1: 'A\x9bb' holds a character that is not seen"),
        ("a.yaml", "- retype: A\n  type: ' '", "a.yaml:1: a value is blank"),
        ("a.yaml", "- remove: []", "a.yaml:1: a decision names an entity"),
        ("a.yaml", "- [", "a.yaml is not valid YAML: line "),
        pytest.param("a.yaml", "[" * 5000, "a.yaml is nested too deeply", marks=pytest.mark.long),
        ("a.yaml", "~", "a.yaml is not a list of decisions"),
        ("a.yaml", "0", "a.yaml is not a list of decisions"),
        (
            "a.csv",
            "action,name,text\ndescribe,A,Old bridge, built 1890\n",
            "a.csv:2: there are more cells than columns",
        ),
        ("a.csv", 'action,name\nremove,"A\nremove,B\n', "it is not valid CSV: unexpected end of data"),
        ("a.csv", "name\nA", "a.csv:1: there is no column 'action'; the first line names the columns"),
        ("a.csv", "action,name\nrename,A\n", "a.csv:2: rename needs 'into'"),
        ("a.csv", "action,name\njoin,A\n", "a.csv:2: there is no action 'join', only merge, apart"),
        (
            "a.csv",
            "action;name;date\nremove;A;28.11.2026\n",
            "a.csv:2: '28.11.2026' is not a date; write it as 2026-11-28",
        ),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_mistake_is_an_error_with_file_and_line(tmp_path: Path, file: str, text: str, message: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(DecisionError) as raised:
        read_files(tmp_path / file)
    assert message in str(raised.value)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "[]\n"])
def test_an_empty_file_has_no_decisions(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert read_files(tmp_path) == []


def test_what_is_missing_or_no_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DecisionError, match="missing; make it, or unset the setting"):
        read_files(tmp_path / "curation")
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DecisionError, match="save it as UTF-8"):
        read_files(tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    ("head", "delimiter", "line"), [("", ";", 3), ("", "\t", 3), ("", ",", 3), ("sep=;\n", ";", 4), ("sep=|\n", "|", 4)]
)
def test_spreadsheets_are_read_as_programs_write_them(
    tmp_path: Path, end: str, encoding: str, head: str, delimiter: str, line: int
) -> None:
    rows = f"{head}action;name;with;reason\nmerge;Müller;Mueller;\nmerge;Groß Köln;Cologne;café – “é”\n"
    rows = rows.replace(";", delimiter).replace("\n", end)
    (tmp_path / "a.csv").write_bytes(rows.encode(encoding))
    found = read_files(tmp_path / "a.csv")
    assert [one.decision.names for one in found] == [("Müller", "Mueller"), ("Groß Köln", "Cologne")]
    assert (found[1].decision.reason, found[1].place) == ("café – “é”", f"a.csv:{line}")


def test_errors_name_lines_of_the_file_below_a_line_for_spreadsheets(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=;\nname\nA\n")
    with pytest.raises(DecisionError, match=r"^a\.csv:2: there is no column 'action'"):
        read_files(tmp_path / "a.csv")


def test_what_yaml_takes_for_something_else_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- merge: [no, 010, 12:30, null]\n  into: 1e3\n- retype: yes\n  type: off\n")
    first, second = (one.decision for one in read_files(tmp_path))
    assert (first.names, first.into) == (("no", "010", "12:30", "null"), "1e3")
    assert (second.names, second.type) == (("yes",), "off")


def test_blanks_and_line_breaks_around_names_are_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('Action,Name,With\nremove," Corley\n Bridge ",Halden Weir\nmerge,A,B; C\n')
    assert [one.decision.names for one in read_files(tmp_path)] == [("Corley Bridge", "Halden Weir"), ("A", "B", "C")]


def test_what_is_no_file_is_refused_rather_than_passed_over(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("- remove: A")
    with pytest.raises(DecisionError, match=r"names\.txt is not a file of decisions; name it \.yaml or \.csv"):
        read_files(tmp_path / "names.txt")
    assert read_files(tmp_path) == [], "beside others it may be a note"
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    with pytest.raises(DecisionError, match=r"gone\.yaml is not a file; remove it"):
        read_files(tmp_path)
    (tmp_path / "gone.yaml").unlink()
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DecisionError, match=r"pipe\.csv is not a file; remove it"):
        read_files(tmp_path / "pipe.csv")


def test_semicolons_separate_cells_where_the_header_has_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('action;name;with;sources\nmerge;Lim, Anna;A. Lim;"one; two"\n')
    [(decision, place)] = read_files(tmp_path / "a.csv")
    assert (decision.names, decision.sources, place) == (("Lim, Anna", "A. Lim"), ("one", "two"), "a.csv:2")


NAMES = st.text(st.sampled_from("AB ;,\"'\\=")).map(str.strip).filter(bool)
OTHERS = NAMES.filter(lambda name: entity_id(name) not in {entity_id("A"), entity_id("B")})


@given(name=NAMES, others=st.lists(OTHERS, min_size=1, max_size=3, unique_by=entity_id))
def test_what_is_written_means_the_same_names_on_the_way_back(
    tmp_path_factory: pytest.TempPathFactory, name: str, others: list[str]
) -> None:
    file, row = tmp_path_factory.mktemp("review") / "a.csv", io.StringIO()
    csv.writer(row).writerows([("action", "name", "with"), ("apart", f"'{name}" if name[0] == "=" else name, "")])
    csv.writer(row).writerow(("merge", "A", "; ".join(map(in_a_cell, ["B", *others]))))
    file.write_text(row.getvalue().replace("apart", "add"), newline="")
    if name[:2] != "'=":  # a spreadsheet's own way of writing =
        added, merged = (one.decision for one in read_files(file))
        assert added.names == (" ".join(name.split()),)
        assert merged.names == ("A", "B", *(" ".join(one.split()) for one in others))


def test_a_value_with_a_semicolon_is_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        'action,name,with,into,sources,text\nmerge,A,"""B; C"" ;""D"" E; ""F""""""",,,\n'
        'split,A,,B,"""one; two"";three",\ndescribe,A,"B; C",,,x\nremove,A,"""B; C""",,,\n'
    )
    merged, split, described, removed = (one.decision for one in read_files(tmp_path / "a.csv"))
    assert merged.names == ("A", "B; C", '"D" E', 'F"')
    assert split.sources == ("one; two", "three")
    assert described.names == removed.names == ("A", "B; C"), "there is one other end"


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ([{"retype": "Bergen", "type": "city"}, {"retype": "Bergen", "type": "harbour"}], "give two types, "),
        ([{"add": "Zorbel", "text": "one"}, {"add": "Zorbel", "text": "two"}], "add the same; remove one of them"),
    ],
)
def test_decisions_on_one_line_contradict_each_other(
    tmp_path: Path, decisions: list[dict[str, str]], message: str
) -> None:
    file = tmp_path / "names.yaml"
    file.write_text(json.dumps(decisions))
    with pytest.raises(DecisionError) as raised:
        resolve(read_files(file))
    first, second = (f"names.yaml:1 (decision {number})" for number in (1, 2))
    assert str(raised.value).startswith(f"{first} and {second} {message}")


def test_a_row_that_stands_twice_in_a_sheet_is_one_decision(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("action,name,with,author\nmerge,A,B,mia\nremove,C,,\nmerge,A,B,ola\n")
    assert [one.decision.action for one in read_files(tmp_path)] == ["merge", "remove"]


def test_a_second_document_of_a_file_is_told_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "multi.yaml").write_text("- remove: A\n---\n- remove: B\n")
    with pytest.raises(DecisionError, match=r"multi\.yaml is not valid YAML: line 2, column 1: but found"):
        read_files(tmp_path)
