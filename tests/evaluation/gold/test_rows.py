"""Gold files: what spreadsheets write is read as it was meant, and each mistake has its file and line."""

import csv
import os
import time
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.cli.rows import write_new_csv
from lightrag_dagster.core.text.names import normalise_name
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.gold.rows import COLUMNS, Gold, GoldRow, gold_inputs, read_gold

_FILE = """\
chunk,kind,name,other,type,relation,value,verdict,text
text-1,passage,notes/a.md,,,,,Done,"Müller, of Bergen – at “Köln”"
text-1,entity,Müller,,person,,,,
text-1,entity,"'=Lim",,,,,no,
text-1,relation,Müller,Bergen,,,,YES,
text-1,fact,Müller,,,born,1950,,
text-2,passage,notes/b.md,,,,,,Another
text-2,entity,Bergen,,place,,,,
,names,Müller,Mueller,,,,,
,names,Bergen,Berlin,,,,No,
"""


def test_a_file_is_read_with_the_places_of_its_rows(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(_FILE)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "people-checkpoint.csv").write_text(_FILE.replace("person", "place"))
    assert read_gold(tmp_path) == Gold(
        [
            GoldRow("text-1", "entity", "Müller", "", "person", "", "", True, "people.csv:3"),
            GoldRow("text-1", "entity", "=Lim", "", "", "", "", False, "people.csv:4"),
            GoldRow("text-1", "relation", "Müller", "Bergen", "", "", "", True, "people.csv:5"),
            GoldRow("text-1", "fact", "Müller", "", "", "born", "1950", True, "people.csv:6"),
        ],
        {"text-1": {"entity", "relation", "fact"}},
        {"text-2"},
        [
            GoldRow("", "names", "Müller", "Mueller", "", "", "", True, "people.csv:9"),
            GoldRow("", "names", "Bergen", "Berlin", "", "", "", False, "people.csv:10"),
        ],
    )
    assert read_gold(tmp_path / "people.csv") == read_gold(tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    ("head", "delimiter"), [("", ","), ("", ";"), ("", "\t"), ("sep=;\n", ";"), ('"sep=|"\n', "|")]
)
def test_spreadsheets_are_read_as_programs_write_them(
    tmp_path: Path, end: str, encoding: str, head: str, delimiter: str
) -> None:
    (tmp_path / "plain.csv").write_text(_FILE)
    text = StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(csv.reader(StringIO(_FILE)))
    (tmp_path / "saved.csv").write_bytes((head + text.getvalue()).replace("\n", end).encode(encoding))
    plain, saved = (read_gold(tmp_path / f"{name}.csv") for name in ("plain", "saved"))
    assert [one[:-1] for one in saved.rows + saved.names] == [one[:-1] for one in plain.rows + plain.names]
    assert (saved.passages, saved.open) == (plain.passages, plain.open)
    assert saved.rows[0].place == f"saved.csv:{4 if head else 3}"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("t,thing,A,,,,,,", "a.csv:3: the kind is 'thing'; write one of passage, entity, relation, fact, names"),
        ("t,,A,,,,,,", "a.csv:3: the kind is ''"),
        (",entity,A,,,,,,", "a.csv:3: a row of the kind entity has no 'chunk'; fill it in"),
        (",passage,A,,,,,,", "a.csv:3: a row of the kind passage has no 'chunk'"),
        ("t,entity,,,,,,,", "a.csv:3: a row of the kind entity has no 'name'"),
        ("t,relation,A,,,,,,", "a.csv:3: a row of the kind relation has no 'other'"),
        ("t,fact,A,,,,5,,", "a.csv:3: a row of the kind fact has no 'relation'"),
        ("t,fact,A,,,born,,,", "a.csv:3: a row of the kind fact has neither 'other' nor 'value'; fill one in"),
        (",names,A,,,,,,", "a.csv:3: a row of the kind names has no 'other'"),
        ("t,entity,A,,,,,done,", "a.csv:3: the verdict is 'done'; write one of yes, true, no, false, or nothing"),
        ("t,passage,A,,,,,yes,", "a.csv:3: the verdict is 'yes'; write one of done, or nothing"),
        ("t,entity,Lim, Anna,,,,,,more", "a.csv:3: there are more cells than columns"),
        ("t,entity,A,,,,,,", "a.csv:3: there is no passage 't' in the file; copy the cell `chunk` from the passage's"),
        ('t,entity,"A', "it is not valid CSV: unexpected end of data"),
    ],
)
def test_a_mistake_is_an_error_with_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(f"{','.join(COLUMNS)}\n,,,,,,,,\n{row}\n")
    with pytest.raises(SettingsError) as raised:
        read_gold(tmp_path)
    assert message in str(raised.value)


@pytest.mark.parametrize("column", ["chunk", "kind", "verdict"])
def test_a_column_that_is_missing_is_named(tmp_path: Path, column: str) -> None:
    (tmp_path / "a.csv").write_text(",".join(one for one in COLUMNS if one != column) + "\n")
    with pytest.raises(SettingsError, match=rf"^a\.csv:1: there is no column '{column}'"):
        read_gold(tmp_path)


def test_columns_that_no_row_needs_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("kind,chunk,verdict,name\npassage,t,done,\nentity,t,,A\n")
    assert read_gold(tmp_path).rows == [GoldRow("t", "entity", "A", "", "", "", "", True, "a.csv:3")]


def write(file: Path, *rows: str) -> None:
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")


def test_a_passage_counts_in_each_file_in_which_it_is_done_for_the_kinds_of_that_file(tmp_path: Path) -> None:
    write(tmp_path / "names.csv", "t,passage,,,,,,done,", "t,entity,A,,,,,,", "u,passage,,,,,,done,")
    write(
        tmp_path / "links.csv", "t,passage,,,,,,done,", "t,relation,A,B,,,,,", "u,passage,,,,,,,", "u,relation,A,C,,,,,"
    )
    write(tmp_path / "open.csv", "t,passage,,,,,,,", "t,entity,Z,,,,,,", "v,passage,,,,,,,", "v,entity,A,,,,,,")
    found = read_gold(tmp_path)
    assert found.passages == {"t": {"entity", "relation"}, "u": {"entity"}}
    assert [(one.kind, one.name, one.other) for one in found.rows] == [("relation", "A", "B"), ("entity", "A", "")]
    assert found.open == {"v"}


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        (("t,entity,Halden Weir,,place,,,,", "t,entity,HALDEN  weir,,Place,,,no,"), "a.csv:4"),
        (("t,relation,A,B,,,,no,", "t,relation,b,a,,,,yes,"), "a.csv:4"),
        (("t,fact,A,,,born,1950,,", "t,fact,A,,,Born,1950,no,"), "a.csv:4"),
        ((",names,A,B,,,,,", "t,names,B,A,,,,no,"), "a.csv:4"),
    ],
)
def test_rows_of_opposite_verdicts_are_an_error_that_names_both(
    tmp_path: Path, rows: tuple[str, str], place: str
) -> None:
    done = "t,passage,,,,,,done,"
    write(tmp_path / "a.csv", done, *rows)
    with pytest.raises(
        SettingsError, match=rf"^{place}: the verdict is not that of the same row at a\.csv:3; keep one"
    ):
        read_gold(tmp_path)
    write(tmp_path / "a.csv", done, rows[0])
    write(tmp_path / "more" / "a.csv", done, rows[1])
    with pytest.raises(SettingsError, match=r"^more/a\.csv:3: .* at a\.csv:3; keep one"):
        read_gold(tmp_path)


def test_a_name_of_two_types_is_an_error_that_names_both(tmp_path: Path) -> None:
    rows = [
        "t,entity,Acme,,organization,,,,",
        "t,entity,Oslo,,,,,,",
        "t,entity,Oslo,,place,,,,",
        "t,entity,ACME,,person,,,,",
    ]
    write(tmp_path / "a.csv", "t,passage,,,,,,done,", *rows)
    with pytest.raises(SettingsError, match=r"^a\.csv:6: the type is not that of the same name at a\.csv:3; keep one"):
        read_gold(tmp_path)


def test_the_same_row_twice_and_another_type_are_no_contradiction(tmp_path: Path) -> None:
    rows = ["t,entity,A,,person,,,,", "t,entity,a,,person,,,,", "t,entity,A,,place,,,no,", "u,entity,A,,person,,,no,"]
    write(tmp_path / "a.csv", "t,passage,,,,,,done,", "u,passage,,,,,,done,", *rows)
    assert len(read_gold(tmp_path).rows) == 4


def test_what_is_no_gold_file_is_passed_over_and_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "UPPER.CSV", "t,passage,,,,,,done,", "t,entity,A,,,,,,")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "notes.md").write_text("no gold")
    assert [one.place for one in read_gold(tmp_path).rows] == ["deep/UPPER.CSV:3"]
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    with pytest.raises(SettingsError, match=r"zero\.csv is not a file; remove it"):
        read_gold(tmp_path)
    (tmp_path / "zero.csv").unlink()
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(SettingsError, match=r"pipe\.csv is not a file; remove it"):
        read_gold(tmp_path)
    with pytest.raises(SettingsError, match=r"there is no gold file or folder .*nowhere; `lightrag-dagster gold draft"):
        read_gold(tmp_path / "nowhere")


def test_no_folder_and_one_without_tables_have_no_gold(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("Rows by Ana, in May.")
    assert read_gold(None) == read_gold(tmp_path) == Gold([], {}, set(), [])


@pytest.mark.parametrize("name", ["first.tsv", "first.TSV"])
def test_tables_are_read_by_the_endings_that_spreadsheets_give_them(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("chunk\tkind\tverdict\tname\nt\tpassage\tdone\t\nt\tentity\t\tA\n".encode("utf-16"))
    assert [one.place for one in read_gold(tmp_path).rows] == [f"{name}:3"]


@pytest.mark.parametrize("name", ["东京 大学", "**삼성 전자**", "[[三星电子]]", "R&amp;D  team"])
def test_a_name_is_read_as_the_merge_reads_that_of_an_answer(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a.csv", "t,passage,,,,,,done,", f"t,relation,{name},{name},,,,,", f",names,{name},{name},,,,,")
    read = {normalise_name(name)}
    assert {cell for one in [*read_gold(tmp_path).rows, *read_gold(tmp_path).names] for cell in one[2:4]} == read


def test_a_huge_cell_and_a_character_that_is_none_are_no_crash(tmp_path: Path) -> None:
    done = "t,passage,,,,,,done,"
    write(tmp_path / "a.csv", done, f't,entity,A,,,,,,"{"long " * 1_000_000}"')
    assert read_gold(tmp_path).rows[0].place == "a.csv:3"
    write(tmp_path / "a.csv", done, "t,entity,A\0B,,,,,,")
    assert read_gold(tmp_path).rows[0].name == "AB"


@pytest.mark.long
def test_a_hundred_thousand_rows_are_read_in_seconds(tmp_path: Path) -> None:
    rows = (f"text-{number // 100},entity,Name {number},,person,,,," for number in range(100_000))
    write(tmp_path / "a.csv", *(f"text-{number},passage,,,,,,done," for number in range(1000)), *rows)
    before = time.process_time()
    assert len(read_gold(tmp_path).rows) == 100_000
    assert time.process_time() - before < 10


def test_the_inputs_of_scores_follow_the_gold_and_not_its_places(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "t,passage,,,,,,done,", "t,entity,A,,,,,,")
    before = gold_inputs("gen-1", read_gold(tmp_path))
    (tmp_path / "a.csv").rename(tmp_path / "b.csv")
    assert gold_inputs("gen-1", read_gold(tmp_path)) == before
    assert gold_inputs("gen-2", read_gold(tmp_path)) != before
    write(tmp_path / "b.csv", "t,passage,,,,,,done,", "t,entity,A,,,,,no,")
    assert gold_inputs("gen-1", read_gold(tmp_path)) != before


_CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=12).map(str.strip)


@given(st.lists(st.tuples(_CELLS.filter(bool), _CELLS.filter(bool)), max_size=5))
def test_what_a_draft_writes_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    file = tmp_path_factory.mktemp("gold") / "a.csv"
    cells = [["text-1", "passage", "notes/a.md", "", "", "", "", "done", "=1+1\n-2"]]
    cells += [["text-1", "fact", name, "", "", "born", value, "", ""] for name, value in rows]
    write_new_csv(file, COLUMNS, cells, SettingsError)
    read = [(normalise_name(name) or name, value) for name, value in rows]
    assert [(one.name, one.value) for one in read_gold(file).rows] == read


def test_an_encoding_that_is_a_guess_is_said_once_and_not_where_nothing_is_scored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "people.csv").write_bytes(_FILE.encode("cp1252"))
    assert read_gold(tmp_path, warns=False).passages
    assert caplog.messages == []
    assert read_gold(tmp_path) == read_gold(tmp_path, warns=False)
    assert len(caplog.messages) == 1
