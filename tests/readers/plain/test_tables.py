import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.readers.plain.tables import markdown_table, read

RULE = "| --- | --- |"


@pytest.mark.parametrize(
    ("rows", "table"),
    [
        ([["a", "b"], ["1", "2"]], f"| a | b |\n{RULE}\n| 1 | 2 |"),
        ([["a", "b"]], f"| a | b |\n{RULE}"),
        # Short rows stay short, and the header names as many columns as any row has.
        ([["a"], ["1", "2"], ["3", ""]], f"| a |  |\n{RULE}\n| 1 | 2 |\n| 3 |"),
        # Empty rows and columns around the table are left out, and none within.
        ([["", ""], ["", "a", "", "b"], ["", "1"]], "| a |  | b |\n| --- | --- | --- |\n| 1 |"),
        ([["a|b", "c\nd  e"], ["\\", "x"]], f"| a\\|b | c d e |\n{RULE}\n| \\ | x |"),
        ([["", ""], []], ""),
        ([], ""),
    ],
)
def test_markdown_tables(rows: list[list[str]], table: str) -> None:
    assert markdown_table(rows) == table


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("a,b\n1,2\n", f"| a | b |\n{RULE}\n| 1 | 2 |"),
        ("a;b\n1,5;2,5\n", f"| a | b |\n{RULE}\n| 1,5 | 2,5 |"),
        ("a\n1,50\n\n-1.234,5 €\r\n3\n", "| a |\n| --- |\n| 1,50 |\n| -1.234,5 € |\n| 3 |"),
        ("a\n1,50\nx,2\n", f"| a |  |\n{RULE}\n| 1 | 50 |\n| x | 2 |"),
        ("a\tb\n1\t2\n", f"| a | b |\n{RULE}\n| 1 | 2 |"),
        ("a|b\n1|2\n", f"| a | b |\n{RULE}\n| 1 | 2 |"),
        ('a,b\r\n"1, ""one""\nand",2\r\n', f'| a | b |\n{RULE}\n| 1, "one" and | 2 |'),
        ('a\tb\r\n"x\t1\r\n"y" z\t2\r\n5"\t3\r\n', f'| a | b |\n{RULE}\n| "x | 1 |\n| "y" z | 2 |\n| 5" | 3 |'),
        ('a, b\n"x, y", "z, w"\n', f"| a | b |\n{RULE}\n| x, y | z, w |"),
        ('a,b\n"say \\"hi\\", she",5\n', f'| a | b |\n{RULE}\n| say "hi", she | 5 |'),
        (
            'a,b\n1,"C:\\d\\"\n2,"{""c"": ""\\""d\\"" ""}"\n',
            "| a | b |\n" + RULE + '\n| 1 | C:\\d\\ |\n| 2 | {"c": "\\"d\\" "} |',
        ),
        ("a,b\nR&amp;D,one&#10;two &#124; &vert;\n", f"| a | b |\n{RULE}\n| R&D | one two \\| \\| |"),
        ("sep=;\na;b,c\n1;2\n", f"| a | b,c |\n{RULE}\n| 1 | 2 |"),
        ("sep=,\r\na;,b\r\n1,2\r\n", f"| a; | b |\n{RULE}\n| 1 | 2 |"),
        ("sep=\na,b\n", f"sep=\n\n| a | b |\n{RULE}"),
        ("only one column\nof text", "| only one column |\n| --- |\n| of text |"),
        ("höhe;größe\n1;2\n", f"| höhe | größe |\n{RULE}\n| 1 | 2 |"),
        ("", ""),
    ],
)
def test_delimited_text(text: str, table: str) -> None:
    assert read(text.encode()).text == table
    assert read(b"\xef\xbb\xbf" + text.encode()).text == table


WIDE = "| station | depth | date |\n| --- | --- | --- |\n| Kessing | 3.2 | May |"


# Reported case G6.
@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("Report 2024\nBy logger\n\nstation,depth,date\nKessing,3.2,May", f"Report 2024\n\nBy logger\n\n{WIDE}"),
        ("Report\nstation;depth;date\nKessing;3.2;May", f"Report\n\n{WIDE}"),
        ("Report, of May\nBy us\n\nstation;depth;date\nKessing;3.2;May", f"Report, of May\n\nBy us\n\n{WIDE}"),
        ("Report, of May\n\nstation,depth,date\nKessing,3.2,May", f"Report, of May\n\n{WIDE}"),
        ("Report,,\n,,\nstation,depth,date\nKessing,3.2,May", f"Report\n\n{WIDE}"),
        ("# By us, here\n#\nstation,depth,date\nKessing,3.2,May", f"By us, here\n\n{WIDE}"),
        # None: rows that are as long, a table that gets wider, a blank line inside, one column, only numbers.
        ("a,b\n\n1,2", f"| a | b |\n{RULE}\n| 1 | 2 |"),
        ("a\n1,2", f"| a |  |\n{RULE}\n| 1 | 2 |"),
        ("a,b,\n1,2\n\nx,y", f"| a | b |\n{RULE}\n| 1 | 2 |\n| x | y |"),
        ("#,b\n1,2", f"| # | b |\n{RULE}\n| 1 | 2 |"),
        ("a\n\nb\n\nc", "| a |\n| --- |\n| b |\n| c |"),
    ],
)
def test_titles_above_the_names_are_paragraphs(text: str, table: str) -> None:
    assert read(text.encode()).text == table
    assert read(text.replace("\n", "\r\n").encode()).text == table


def test_a_cell_without_an_end_is_text() -> None:
    text = 'a,"b\n' + "x" * 1_100_000
    assert read(text.encode()).text == text


def test_a_wide_row_does_not_make_the_others_wide() -> None:
    text = "a\n" * 10_000 + "," * 10_000 + "b\n"
    table = read(text.encode()).text
    assert len(table) < 8 * len(text)


@given(st.lists(st.lists(st.text("a|,;\"\n\t '", max_size=5), min_size=2, max_size=2), min_size=1, max_size=5))
def test_every_cell_of_a_file_is_in_the_table(rows: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file).writerows([["first", "second"], *rows])
    table = read(file.getvalue().encode()).text
    assert isinstance(table, str)
    lines = [line.replace("\\|", "\0").strip("|").split("|") for line in table.split("\n")[2:]]
    cells = [[cell.strip().replace("\0", "|") for cell in line] for line in lines]
    expected = [[" ".join(cell.split()) for cell in row] for row in rows]
    assert [row + [""] * (2 - len(row)) for row in cells] == [row for row in expected if any(row)]


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("Name,Level\nWeir,1\n\nOffice,Town,Phone\nHead,Corley,12\n", 2),
        ("Name,Level\nWeir,1\n\nOffices\n\nGate,Width\nA,3\nB,4\n", 2),
        ("Name,Level\nWeir,1\n\nLock,2\n", 1),
        ("a;b;c\n1;2;3\n\nTotal;6\n", 1),
    ],
)
def test_a_second_table_with_names_of_its_own_stays_apart(text: str, tables: int) -> None:
    assert read(text.encode()).text.count("| --- |\n") == tables


DECIMAL = ["Monat;Umsatz;Ziel", "Januar;1,50;2,00", "Februar;1.203,25 €;-4,75 €"]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize(
    "lines",
    [
        ["Umsatz nach Monat", "", *DECIMAL],
        ["Umsatz, nach Monat", *DECIMAL],
        [*DECIMAL, "", "Quelle: Amt, Ulm"],
        [*DECIMAL, "", "Zweites Halbjahr", "", *DECIMAL],
        DECIMAL[1:],
        ["12,50;13,20"],
        ["Titel", "", "A;B", "12,50;13,20", "1,50;3,20"],
        ["Titel", "Umsatz, netto;Ziel, netto", "1,50;2,00", "3,5;4,5"],
    ],
)
def test_commas_in_numbers_divide_no_cells(lines: list[str], mark: str) -> None:
    table = read("\n".join(lines).replace(";", mark).encode()).text
    for line in lines:
        assert line.count(";") == 0 or f"| {line.replace(';', ' | ')} |" in table


@pytest.mark.parametrize(
    "lines",
    [
        ["id,tags", "1,a;b", "2,c;d"],
        ["Values", "", "id,values", "1,5;6", "2,7;8"],
        ["Sales; all of them", "Month,Sales", "Jan,1", "Feb,2"],
        ["name,lat;lon", "Ulm,1.5;2.5", "A1,1.5;2.5"],
    ],
)
def test_lists_in_cells_are_not_divided(lines: list[str]) -> None:
    table = read("\n".join(lines).encode()).text
    for line in lines:
        assert "," not in line or f"| {line.replace(',', ' | ')} |" in table
