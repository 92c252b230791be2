"""Tables without lines, on pages made of texts at places; the font is as wide for every character."""

from collections.abc import Iterable, Sequence

import pypdfium2
import pytest

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.pdf import columns
from lightrag_dagster.readers.pdf.columns import find_columns, is_table, rows_of

CHARACTER = 6.0  # points, in Courier of 10 points
LEVELS = [("Station", "Level (m)", "Read on"), ("Steinhag", "1.42", "4 March"), ("Corley weir", "0.97", "5 March")]
AS_MARKDOWN = (
    "| Station | Level (m) | Read on |\n| --- | --- | --- |\n| Steinhag | 1.42 | 4 March |\n"
    "| Corley weir | 0.97 | 5 March |"
)
PROSE = "The keeper reads the gauge at noon and writes the level down in a book that is kept at the station"


def pdf(texts: Iterable[tuple[float, float, str]], rules: Iterable[float] = ()) -> bytes:
    """Return a page with each text at x and y, and rules from 60 to 500 at some heights. Points."""
    shown = "".join(f"60 {height} m 500 {height} l S\n" for height in rules)
    shown += "BT /F 10 Tf " + "".join(f"1 0 0 1 {x} {y} Tm ({text}) Tj " for x, y, text in texts) + "ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(shown)}>>stream\n{shown}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Courier>>",
    ]
    written = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, start=1))
    return f"%PDF-1.4\n{written}trailer<</Root 1 0 R>>".encode("latin-1")


def rows(
    cells: Sequence[Sequence[str]], places: Sequence[float], *, top: float = 700, step: float = 14, align: float = 0.0
) -> list[tuple[float, float, str]]:
    """Return rows of cells, one below the other; `align` is 0 for left, 0.5 for middle, 1 for right edges."""
    return [
        (place - align * CHARACTER * len(text), top - step * number, text)
        for number, row in enumerate(cells)
        for place, text in zip(places, row, strict=True)
    ]


def text_of(texts: Iterable[tuple[float, float, str]], rules: Iterable[float] = ()) -> str:
    found = extract_text(pdf(texts, rules), "a.pdf")
    assert found.losses is not None
    assert found.losses.lost == 0
    return found.text


@pytest.mark.parametrize("align", [0.0, 0.5, 1.0])
def test_cells_that_stand_in_columns_are_a_table(align: float) -> None:
    around = [(60.0, 740.0, "Levels in March."), (60.0, 640.0, "All were read at noon.")]
    found = text_of([around[0], *rows(LEVELS, (160, 300, 420), align=align), around[1]])
    assert found == f"Levels in March.\n\n{AS_MARKDOWN}\n\nAll were read at noon."


def columns_of_prose(width: int, count: int) -> list[list[str]]:
    words = PROSE.split() * 40
    lines, line = list[str](), ""
    for word in words:
        if len(line) + len(word) > width:
            lines.append(line.strip())
            line = ""
        line += f"{word} "
    return [lines[start : start + count] for start in range(0, 40, count)]


@pytest.mark.parametrize(
    "texts",
    [
        rows(LEVELS[:2], (60, 200, 320)),
        rows(LEVELS, (60, 140, 220), step=40),
        [(60, 714, "Levels"), (200, 714, "of March"), *rows(LEVELS, (60, 200, 320))],
        [*rows(LEVELS, (60, 200, 320)), (60, 658, "of several"), (200, 658, "lines")],
        [(60, 711, "The level"), *rows(LEVELS, (60, 200, 320))],
        rows([("The weir", "Ida Wren"), ("Mill Lane", "Keeper"), ("Corley", "Lerchbruck")], (60, 300)),
        rows([("-", "Replace the seal"), ("-", "1.42"), ("-", "0.97")], (60, 90)),
        rows([("1.", "1.42"), ("2.", "0.97"), ("3.", "1.10")], (60, 90)),
        rows([("2019", "Keeper at Corley"), ("2021", "Keeper at Steinhag"), ("2024", "Retired")], (60, 140)),
        rows(list(zip(*columns_of_prose(38, 10)[:2], strict=True)), (40, 310)),
        rows(list(zip(*columns_of_prose(25, 8)[:3], strict=True)), (40, 220, 400)),
        [(60 + 10 * number, y, text) for number, (_, y, text) in enumerate(rows(LEVELS, (60, 200, 320)))],
    ],
    ids=[
        "two-rows",
        "far-apart",
        "part-above",
        "part-below",
        "further-line",
        "addresses",
        "list",
        "numbered-list",
        "years",
        "two-columns",
        "three-columns",
        "slope",
    ],
)
def test_what_is_no_table_stays_text(texts: list[tuple[float, float, str]]) -> None:
    found = text_of(texts)
    assert "|" not in found
    assert set(found.split()) == {word for *_, text in texts for word in text.split()}


def test_a_row_behind_a_cell_of_one_character_is_a_line() -> None:
    cells = [("Pos", "Text", "Number", "Price"), ("1", "Pump", "2", "500.00"), ("2", "Valve", "", "300.00")]
    found = text_of(one for one in rows(cells, (60, 90, 200, 260)) if one[2])
    assert found.split("\n") == ["Pos Text Number Price", "1 Pump 2 500.00", "2 Valve 300.00"]


def test_a_page_of_too_many_texts_is_a_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    textpage = pypdfium2.PdfDocument(pdf(rows(LEVELS, (60, 200, 320))))[0].get_textpage()
    assert [one.shape for one in find_columns(rows_of(textpage))] == [(3, 3)]
    monkeypatch.setattr(columns, "_MOST_BOXES", 8)
    assert list(find_columns(rows_of(textpage))) == []


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([("a", "n"), ("b", "1,420.5 m"), ("c", "-3 %")], True),
        ([("a", "n"), ("b", "€ 12"), ("c", "2024–2025")], True),
        ([("a", "n"), ("b", "1"), ("c", "none"), ("d", "2")], True),
        ([("a", "n"), ("b", "1"), ("c", "none"), ("d", "few")], False),
        ([("a", "n"), ("", "1"), ("c", "2")], False),
        ([("a" * 30, "n"), ("b" * 30, "1"), ("c" * 30, "2")], True),
        ([("a" * 24, "n" * 24, "1"), ("b" * 24, "n" * 24, "1"), ("c" * 24, "n" * 24, "2")], True),
        ([("a" * 25, "n" * 25, "1"), ("b" * 25, "n" * 25, "1"), ("c" * 25, "n" * 25, "2")], False),
        ([("a" * 30, "n" * 30, "1"), ("b" * 30, "n" * 30, "1"), ("c" * 30, "n" * 30, "2")], False),
    ],
)
def test_a_table_has_numbers_and_short_cells(cells: list[tuple[str, ...]], expected: bool) -> None:
    assert is_table(cells) is expected


ACCOUNTS = [("in kEUR", "2022", "2023", "2024"), ("Sales", "", "120.5", "130.5"), ("Tax", "-", "", "(4.0)")]
AS_ACCOUNTS = (
    "| in kEUR | 2022 | 2023 | 2024 |\n| --- | --- | --- | --- |\n| Sales |  | 120.5 | 130.5 |\n| Tax | - |  | (4.0) |"
)
RIGHT = (150.0, 250.0, 350.0, 450.0)
ABOVE, BELOW = (60.0, 740.0, PROSE[:60]), (60.0, 600.0, PROSE[:60])


@pytest.mark.parametrize("align", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "rules",
    [(712, 694, 666), (694, 666), (694, 680, 666), (712, 696, 682), (780, 712, 696, 666, 500)],
    ids=["booktabs", "below-header", "below-each", "above-each", "page"],
)
def test_an_empty_cell_between_rules_stays_empty(rules: tuple[float, ...], align: float) -> None:
    found = text_of([ABOVE, *rows(ACCOUNTS, RIGHT, align=align), BELOW], rules)
    assert found == f"{PROSE[:60]}\n\n{AS_ACCOUNTS}\n\n{PROSE[:60]}"


@pytest.mark.parametrize(
    ("cells", "table"),
    [
        ([*ACCOUNTS, ("Equity", "", "", ""), ("Shares", "1", "", "2")], "| Equity |\n| Shares | 1 |  | 2 |"),
        ([*ACCOUNTS, ("Other income of all", "", "", ""), ("Total", "1", "", "2")], "of all |\n| Total | 1 |  | 2 |"),
    ],
)
def test_a_row_of_a_heading_is_in_the_table(cells: list[tuple[str, ...]], table: str) -> None:
    assert text_of(rows(cells, (60, 250, 350, 450)), (712, 694, 640)).endswith(table)


def test_a_cell_of_two_lines_is_beside_its_values() -> None:
    wrapped = [(60.0, 706.0, "Plant and"), (60.0, 694.0, "equipment"), (250, 700, "7"), (450, 700, "8")]
    found = text_of([*rows(ACCOUNTS, (60, 250, 350, 450), top=750), *wrapped], (762, 744, 690))
    assert found.endswith("| Tax | - |  | (4.0) |\n| Plant and equipment | 7 |  | 8 |")


@pytest.mark.parametrize(
    "texts",
    [
        [(60.0, 700.0 - 14 * number, PROSE[:70]) for number in range(8)],
        [(60.0, 700.0 - 14 * number, PROSE[: 9 + number]) for number in range(8)],
        rows(list(zip(*columns_of_prose(20, 8)[:3], strict=True)), (60, 210, 360)),
        rows([("Ida Wren", "Per Holm", ""), ("Keeper", "", "Mayor"), ("Corley", "Weir", "Corley")], (60, 220, 370)),
        [(60.0, 714.0, "A"), *rows([("in kEUR", "2023"), ("Sales", ""), ("Tax", "2.0")], (60, 300))],
        [*rows(ACCOUNTS, RIGHT), (60.0, 686.0 - 28, PROSE[:70]), (60.0, 686.0 - 42, PROSE[:70])],
    ],
    ids=["prose", "short-lines", "three-columns", "names", "two-columns", "rules-of-a-page"],
)
def test_text_between_rules_stays_text(texts: list[tuple[float, float, str]]) -> None:
    found = text_of(texts, (760, 400))
    assert "|" not in found
    assert set(found.split()) == {word for *_, text in texts for word in text.split()}
