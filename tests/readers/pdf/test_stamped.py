"""Values that are drawn over labels, on pages made of texts at places and of drawings with such texts."""

from collections.abc import Iterable, Sequence

import pytest

from lightrag_dagster.readers.extraction import extract_text

Texts = Sequence[tuple[float, float, str]]
LABELS = [(60.0, 700.0 - 20 * number, text) for number, text in enumerate(("Name:", "Town:", "Weir:"))]
PROSE = "The keeper reads the gauge at noon and writes the level down in a book that is kept at the station"


def drawn(texts: Texts) -> str:
    return "".join(f"BT /F 10 Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n" for x, y, text in texts)


def pdf(texts: Texts, *drawings: Texts, rules: str = "") -> bytes:
    """Return a page with texts, and then drawings of texts."""
    found = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</Font<</F 4 0 R>>/XObject<<"
        + "".join(f"/X{number} {number + 6} 0 R" for number in range(len(drawings)))
        + ">>>>>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Courier>>",
    ]
    shown = rules + drawn(texts) + "".join(f"/X{number} Do\n" for number in range(len(drawings)))
    found.append(f"<</Length {len(shown)}>>stream\n{shown}\nendstream")
    for one in map(drawn, drawings):
        form = "/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</Font<</F 4 0 R>>>>"
        found.append(f"<<{form}/Length {len(one)}>>stream\n{one}\nendstream")
    written = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(found, start=1))
    return f"%PDF-1.4\n{written}trailer<</Root 1 0 R>>".encode("latin-1")


def text_of(data: bytes) -> str:
    found = extract_text(data, "a.pdf")
    assert found.losses is not None
    assert found.losses.lost == 0
    return "\n".join(" ".join(line.split()) for line in found.text.splitlines() if line)


def column(left: float, width: int, lines: int) -> list[tuple[float, float, str]]:
    words = iter(PROSE.split() * 20)
    found = list[tuple[float, float, str]]()
    for number in range(lines):
        text = next(words)
        while len(text) < width:
            text += f" {next(words)}"
        found.append((left, 700.0 - 14 * number, text))
    return found


@pytest.mark.parametrize(
    "drawings",
    [
        [[(200, 700, "Ida Wren")], [(200, 680, "Corley")], [(200, 660, "no")]],
        [[(200, 660, "no")], [(200, 680, "Corley")], [(200, 700, "Ida Wren")]],
        [[(200, 700, "Ida Wren"), (200, 680, "Corley"), (200, 660, "no")]],
        [[(200, 698, "Ida Wren"), (200, 683, "Corley"), (200, 659, "no"), (200, 60, "Page 1")]],
        [[(200, 700, "Ida Wren")], [(200, 680, "Corley")], [(200, 660, "no")], [(60, 60, "Page 1")]],
        [[], LABELS, [(200, 700, "Ida Wren"), (200, 680, "Corley"), (200, 660, "no")]],
    ],
)
def test_values_follow_their_labels(drawings: list[Texts]) -> None:
    found = text_of(pdf([] if LABELS in drawings else LABELS, *drawings))
    assert found.removesuffix("\nPage 1") == "Name: Ida Wren\nTown: Corley\nWeir: no"


@pytest.mark.parametrize(
    ("texts", "drawings", "expected"),
    [
        (
            [(60, 700, "Name:"), (300, 700, "Town:")],
            [[(350, 700, "Corley")], [(120, 700, "Ida")]],
            "Name: Ida Town: Corley",
        ),
        ([(60, 700, "Name:")], [[(300, 700, "Wren")], [(120, 700, "Ida")]], "Name: Ida Wren"),
        ([(90, 700, "is agreed")], [[(60, 700, "x")]], "x is agreed"),
        ([(60, 700, "Name:")], [[(120, 700, "Ida Wren"), (120, 688, "Mill Lane 5")]], "Name: Ida Wren Mill Lane 5"),
        (
            [(60, 700, "The tenant, " + " " * 20 + ", pays every month at the station")],
            [[(140, 700, "Ida Wren")]],
            "The tenant, Ida Wren , pays every month at the station",
        ),
    ],
)
def test_values_stand_in_order_of_their_place(texts: Texts, drawings: list[Texts], expected: str) -> None:
    assert text_of(pdf(texts, *drawings)) == expected


def lines_of(*columns: Iterable[tuple[float, float, str]]) -> str:
    return "\n".join(text for one in columns for *_, text in one)


@pytest.mark.parametrize(
    "columns",
    [
        [column(40, 38, 12), column(310, 38, 12)],
        [column(40, 22, 12), column(220, 22, 12), column(400, 22, 12)],
        [column(40, 38, 12), [(310, 700 - 28 * number, f"0.{number}") for number in range(4)]],
        [column(40, 20, 12), [(310, 706.5 - 14 * number, "weir") for number in range(6)]],
    ],
    ids=["two", "three", "labels-of-a-figure", "between-lines"],
)
def test_columns_that_are_drawn_one_after_the_other_stay(columns: list[Texts]) -> None:
    assert text_of(pdf(columns[0], *columns[1:])) == lines_of(*columns)
    assert text_of(pdf([], *columns)) == lines_of(*columns)


def test_values_in_a_ruled_table_stay_in_their_cells() -> None:
    rules = "".join(f"60 {y} m 400 {y} l S {x} 600 m {x} 700 l S\n" for x, y in ((60, 700), (200, 650), (400, 600)))
    found = text_of(
        pdf([(70, 670, "Name"), (70, 620, "Town")], [(210, 670, "Ida")], [(210, 620, "Corley")], rules=rules)
    )
    assert found == "| Name | Ida |\n| --- | --- |\n| Town | Corley |"
