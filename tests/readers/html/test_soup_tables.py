import pytest

from lightrag_dagster.readers.html.markup import to_markdown


def rows(*lines: str) -> str:
    return "".join(f"<tr>{line}</tr>" for line in lines)


def cells(*texts: str, tag: str = "td") -> str:
    return "".join(text if text.startswith(f"<{tag}") else f"<{tag}><p>{text}</p></{tag}>" for text in texts)


def table(*lines: str) -> str:
    return f"<table>{rows(*lines)}</table>"


def lines(*said: str) -> str:
    width = said[0].count("|") - 1
    return "\n".join((said[0], "|" + " --- |" * width, *said[1:]))


TALL = '<td rowspan="2"><p>Tall</p></td>'
BOTH = '<td rowspan="2" colspan="2">Both</td>'
HEADS = rows(cells("a", "b", tag="th"), cells("m", "s", tag="th"))
WIDE = '<td colspan="2"><p>Wide</p></td>'


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (table(cells("a", "b"), cells(TALL, "x"), cells("y")), lines("| a | b |", "| Tall | x |", "| Tall | y |")),
        (table(cells("a", "b"), cells("x", TALL), cells("y")), lines("| a | b |", "| x | Tall |", "| y | Tall |")),
        (table(cells(WIDE, "C"), cells("x", "y", "z")), lines("| Wide | Wide | C |", "| x | y | z |")),
        (
            table(cells("a", "b", "c"), cells(BOTH, "x"), cells("y"), cells("1", "2", "3")),
            lines("| a | b | c |", "| Both | Both | x |", "| Both | Both | y |", "| 1 | 2 | 3 |"),
        ),
        (
            table(cells("a", "b"), cells(TALL, TALL), "", cells("1", "2")),
            lines("| a | b |", "| Tall | Tall |", "| 1 | 2 |"),
        ),
        (table(cells("a", "b"), cells(WIDE), cells("1", "2")), lines("| a | b |", "| Wide |  |", "| 1 | 2 |")),
        (table(cells("a", "b"), cells('<td colspan="999999999999">x</td>')), lines("| a | b |", "| x |")),
        (
            table(cells(WIDE, WIDE), cells("n", '<td colspan="3">v</td>')),
            lines("| Wide |  | Wide |  |", "| n | v |  |  |"),
        ),
    ],
)
def test_the_text_of_joined_cells_is_in_each_row_and_column(page: str, text: str) -> None:
    assert to_markdown(page).strip() == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (table(cells(WIDE), cells("a", "b"), cells("1", "2")), f"Wide\n\n{lines('| a | b |', '| 1 | 2 |')}"),
        (
            f"<table><caption>Levels</caption>{rows(cells('a', 'b'), cells('1', '2'))}</table>",
            f"Levels\n\n{lines('| a | b |', '| 1 | 2 |')}",
        ),
        (
            table(cells('<td rowspan="2">Site</td>', WIDE), cells("2023", "2024"), cells("x", "1", "2")),
            lines("| Site | Wide 2023 | Wide 2024 |", "| x | 1 | 2 |"),
        ),
        (
            table(cells("", WIDE), cells("", "2023", "2024"), cells("x", "1", "2")),
            lines("|  | Wide 2023 | Wide 2024 |", "| x | 1 | 2 |"),
        ),
        (
            f"<table><thead>{HEADS}</thead>{rows(cells('1', '2'))}</table>",
            lines("| a m | b s |", "| 1 | 2 |"),
        ),
    ],
)
def test_titles_stand_above_and_several_header_rows_are_one(page: str, text: str) -> None:
    assert to_markdown(page).strip() == text


ALONE = f"<td>{table(cells('<td>' + table(cells('Deep')) + '</td>', 'c1'))}</td>"
LONG = f"<td>{table(cells('w ' * 300, 'z'))}</td>"
SEE = "| x | see a; b / c; d |"
INNER = table(cells("a", "b"), cells("c", "d"))


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (table(cells(ALONE, "c2")), "Deep\n\nc1\n\nc2"),
        (table(cells("k", "v"), cells("x", ALONE)), "k\n\nv\n\nx\n\nDeep\n\nc1"),
        (table(cells(INNER), cells("after")), f"{lines('| a | b |', '| c | d |')}\n\nafter"),
        (table(cells("k", "v"), cells("x", f"<td><p>see</p>{INNER}</td>")), f"{lines('| k | v |', SEE)}"),
        (table(cells("shaded text")), "shaded text"),
        (table(cells("one"), cells("two")), "one\n\ntwo"),
        (table(cells("k", "v"), cells("x", LONG)), f"k\n\nv\n\nx\n\n{lines('| ' + 'w ' * 300 + '| z |')}"),
    ],
)
def test_tables_in_cells_are_lines_or_blocks(page: str, text: str) -> None:
    found = to_markdown(page).strip()
    assert found == text
    assert "\\|" not in found


@pytest.mark.long
def test_a_table_that_claims_millions_of_cells_has_few() -> None:
    row = cells(*['<td rowspan="60000" colspan="1000">x</td>'] * 3)
    assert len(to_markdown(table(*[row] * 50))) < 1_000_000


def test_line_ends_between_cells_stay_out_of_the_table() -> None:
    page = table("\n<td>a</td>\n<td>b</td>\n", f"\n{WIDE}\n")
    assert to_markdown(page).strip() == lines("| a | b |", "| Wide |  |")
