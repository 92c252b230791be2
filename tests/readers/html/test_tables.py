import pytest

from lightrag_dagster.readers.html.page import read
from lightrag_dagster.readers.html.tables import _is_number


def table(*rows: str, tag: str = "td", first: str = "td", attributes: str = "") -> str:
    tags = [first, *[tag] * (len(rows) - 1)]
    lines = (
        "".join(f"<{kind}>{cell}</{kind}>" for cell in row.split("|")) for kind, row in zip(tags, rows, strict=True)
    )
    return f"<table {attributes}>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def markdown(body: str) -> str:
    text = read(f"<p>Before it.</p>{body}<p>After it.</p>".encode()).text
    assert isinstance(text, str)
    inner = text.removeprefix("Before it.").removesuffix("After it.").strip()
    return "\n".join(line.rstrip() for line in inner.split("\n"))


LEVELS = "| Station | Level |\n|---|---|\n| Steinhag | 1.42 |\n| Corley | 0.97 |"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The first row is a header, by its tags or by what is below it.
        (table("Station|Level", "Steinhag|1.42", "Corley|0.97", first="th"), LEVELS),
        (table("Station|Level", "Steinhag|1.42", "Corley|0.97"), LEVELS),
        (table("Station|Level", "Steinhag|1.42", "Corley|0.97").replace("<tr>", "<thead><tr>", 1), LEVELS),
        (table("Station|Level", "Steinhag|1.42", "Corley|0.97", tag="th", first="th"), LEVELS),
        (table("<b>Station</b>|<b>Keeper</b>", "Steinhag|Ida"),
         "| **Station** | **Keeper** |\n|---|---|\n| Steinhag | Ida |"),
        (table("|2023|2024", "Steinhag|high|low"), "|  | 2023 | 2024 |\n|---|---|---|\n| Steinhag | high | low |"),
        (table("Station|Level", "Steinhag|", "Corley|0.97"),
         "| Station | Level |\n|---|---|\n| Steinhag |  |\n| Corley | 0.97 |"),
        # It is not.
        (table("2023|1.42", "2024|0.97"), "|  |  |\n|---|---|\n| 2023 | 1.42 |\n| 2024 | 0.97 |"),
        (table("Station|Steinhag", "Keeper|Ida"), "|  |  |\n|---|---|\n| Station | Steinhag |\n| Keeper | Ida |"),
        (table("Steinhag|1.42", "Corley|0.97"), "|  |  |\n|---|---|\n| Steinhag | 1.42 |\n| Corley | 0.97 |"),
        (table("Station|Steinhag", "Level|1.42").replace("<td>Station</td>", "<th>Station</th>"),
         "|  |  |\n|---|---|\n| Station | Steinhag |\n| Level | 1.42 |"),
        # Two header rows, a caption, cells that span columns.
        (table("Station|Level", "name|m", "Steinhag|1.42", first="th").replace("<td>name</td><td>m</td>",
         "<th>name</th><th>m</th>"), "| Station | Level |\n|---|---|\n| name | m |\n| Steinhag | 1.42 |"),
        (table("Station|Level", "Steinhag|1.42", "Corley|0.97", first="th").replace("<tr>",
         "<caption>Levels of 2025</caption><tr>", 1), f"Levels of 2025\n\n{LEVELS}"),
        (table("1|2|3", "4|5").replace("<td>4", "<td colspan=2>4"),
         "|  |  |  |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 4 | 5 |"),
    ],
)  # fmt: skip
def test_a_table_has_one_header_row(given: str, expected: str) -> None:
    assert markdown(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (table("Steinhag|1.42"), "Steinhag\n\n1.42"),
        (table("One", "Two <b>and</b> three"), "One\n\nTwo **and** three"),
        (table("<h2>Weirs</h2>They are low.<p>And old.</p>|Side", "a|b"),
         "## Weirs\n\nThey are low.\n\nAnd old.\n\nSide\n\na\n\nb"),
        (table("<pre>1</pre>|<pre>x = 1</pre>", "|"), "1\n\nx = 1"),
        (table(table("Station|Level", "Steinhag|1.42", "Corley|0.97"), "Below"), f"{LEVELS}\n\nBelow"),
        (table("Station|Level", "Steinhag|1.42", attributes="role=presentation"),
         "Station\n\nLevel\n\nSteinhag\n\n1.42"),
        (table("a|" + "Long text. " * 50, "b|c"), "a\n\n" + "Long text. " * 49 + "Long text.\n\nb\n\nc"),
        ("<table></table>", ""),
        ("<table><tr></tr></table>", ""),
    ],
)  # fmt: skip
def test_a_table_for_layout_is_what_it_holds(given: str, expected: str) -> None:
    assert markdown(given) == expected


def test_columns_of_a_hostile_table_are_bounded() -> None:
    assert len(markdown(table("1|2", "3|4").replace("<td>", f"<td colspan={'9' * 5000}>"))) < 100_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in ("1.42", "-3", "1,000.5", "12 %", "€ 5", "5 €", "1.4 m", "3 m³/s", "(4)", "1/2")),
        *((text, True) for text in ("2025-03-04", "10:11", "1" * 40)),
        ("1" * 41, False),
        *((text, False) for text in ("", "Level", "B2", "12 stations of the river", "Q1 2025", "m")),
    ],
)  # fmt: skip
def test_what_is_a_number(text: str, expected: bool) -> None:
    assert _is_number(text) is expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<ul><li>one <b>thing</b></li>\n<li>two</li></ul>", "one **thing**; two"),
        ("Both:<ol><li>one</li><li>two<ul><li>deeper</li></ul></li></ol> so", "Both: one; two deeper so"),
        ("<dl><dt>key</dt><dd>value</dd><dt>lock</dt><dd>shut</dd></dl>", "key: value; lock: shut"),
    ],
)
def test_lists_in_cells_are_lines(cell: str, expected: str) -> None:
    rows = "<tr><th>Name</th><th>What</th></tr><tr><td>Weir</td><td>{}</td></tr>"
    assert markdown(f"<table>{rows.format(cell)}</table>") == f"| Name | What |\n|---|---|\n| Weir | {expected} |"
