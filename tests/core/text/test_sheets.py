"""Sheets of people; `tests/curation/rules/test_files.py` and `tests/evaluation/gold/test_rows.py` have more."""

from pathlib import Path

import pytest

from lightrag_dagster.core.text.sheets import SheetRow, files_of, marked, read_sheet, read_text
from lightrag_dagster.errors import DecisionError, SettingsError


def test_files_of_a_folder_are_those_that_are_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "..2026_11").mkdir()  # as Kubernetes mounts a ConfigMap
    (tmp_path / "..data").symlink_to("..2026_11")
    (tmp_path / "..2026_11" / "names.csv").write_text("a\n")
    (tmp_path / "names.csv").symlink_to("..data/names.csv")
    for folder in (".ipynb_checkpoints", "below", "folder.csv"):
        (tmp_path / folder).mkdir()
    for name in (".ipynb_checkpoints/names-checkpoint.csv", "._names.csv", "below/OTHER.CSV", "notes.txt"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / ".#names.csv").symlink_to("mia@here.123")  # as Emacs marks a file that is open
    (tmp_path / "lost.csv").symlink_to("nowhere")
    assert files_of(tmp_path, ".csv") == [tmp_path / "lost.csv", tmp_path / "names.csv"]
    assert files_of(tmp_path, ".txt", ".csv", deep=True) == [
        tmp_path / name for name in ("below/OTHER.CSV", "lost.csv", "names.csv", "notes.txt")
    ]


def test_a_row_is_placed_at_its_first_line() -> None:
    text = 'Name , text\nA,"one\ntwo\nthree"\n\nB,"x, y"\nC,d,,\n'
    assert list(read_sheet(text, "a.csv", ["name"], SettingsError)) == [
        SheetRow("a.csv:2", {"name": "A", "text": "one\ntwo\nthree"}),
        SheetRow("a.csv:6", {"name": "B", "text": "x, y"}),
        SheetRow("a.csv:7", {"name": "C", "text": "d"}),
    ]


def test_a_row_that_is_short_lacks_its_last_cells() -> None:
    assert list(read_sheet("name,text\nA\n", "a.csv", [], SettingsError)) == [SheetRow("a.csv:2", {"name": "A"})]


@pytest.mark.parametrize("error", [SettingsError, DecisionError])
def test_errors_are_of_the_class_that_is_wanted(
    tmp_path: Path, error: type[SettingsError | DecisionError], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.csv").write_bytes("Müller".encode("cp1252"))
    assert read_text(tmp_path / "a.csv", error, "cp1252") == "Müller"
    assert caplog.messages == [
        f"{tmp_path / 'a.csv'} is not UTF-8, and read as cp1252; save it as UTF-8 if names look wrong"
    ]
    with pytest.raises(error, match="save it as UTF-8"):
        read_text(tmp_path / "a.csv", error)
    (tmp_path / "a.csv").write_bytes(b"\xff\xfea")
    with pytest.raises(error, match="save it as UTF-8"):
        read_text(tmp_path / "a.csv", error, "cp1252")
    with pytest.raises(error, match="there is no column 'name'"):
        list(read_sheet("", "a.csv", ["name"], error))


def test_a_column_that_is_named_twice_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"^a\.csv:1: the column 'name' is there twice; the first line names"):
        list(read_sheet("name,text, NAME \nA,x,B\n", "a.csv", ["name"], SettingsError))
    (row,) = read_sheet("name,,\nA,,\n", "a.csv", ["name"], SettingsError)  # as spreadsheets save empty columns
    assert row.cells["name"] == "A"


def test_line_ends_are_those_of_python() -> None:
    (row,) = read_sheet('a,b\n"1\n2",3\n', "a.csv", [], SettingsError)
    assert row.cells == {"a": "1\n2", "b": "3"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [("'=1", "=1"), ("'-", "-"), ("'tis", "'tis"), (" '@x ", "@x"), ("=1", "=1"), ("'1950", "1950")],
)
def test_the_sign_before_a_formula_or_a_number_is_taken_off(written: str, meant: str) -> None:
    (row,) = read_sheet(f"a\n{written}\n", "a.csv", [], SettingsError)
    assert row.cells == {"a": meant}


_DATES = (
    "September 11",
    "May 5",
    "SEPT2",
    "Q3 2023",
    "2024-05-01",
    "5 de mayo de 2024",
    "2024年5月1日",
    "3. März 2021",
)
_NUMBERS = (
    "1/2",
    "3-1",
    "12.5",
    "1.250",
    "00123",
    "4000123412341234",
    "1E5",
    "12,5 %",
    "７",
    "10:30 PM",
    "'90s",
    "'=1",
)


@pytest.mark.parametrize("cell", [*_DATES, *_NUMBERS, "=1", "-", "@x"])
def test_a_cell_that_a_spreadsheet_would_rewrite_is_marked_until_it_is_read(cell: str) -> None:
    assert marked(cell) == f"'{cell}"
    (row,) = read_sheet(f'a\n"{marked(cell)}"\n', "a.csv", [], SettingsError)
    assert row.cells == {"a": cell}


@pytest.mark.parametrize(
    "cell",
    [
        "Acme",
        "1950",
        "0",
        "12345678901",
        "Northwold 7 Mutual",
        "Station 14",
        "Bolt 7",
        "'tis",
        "",
        "a 5-year plan",
        "text-0e7fe061295f",
        0.5,
        None,
    ],
)
def test_other_cells_are_not_marked(cell: object) -> None:
    assert marked(cell) == cell
