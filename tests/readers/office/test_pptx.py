"""Presentations by python-pptx; `test_samples.py` reads those of other programs."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from lxml import etree
from pptx import Presentation
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Cm

from lightrag_dagster.readers.extraction import ExtractedText, extract_text

_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def deck(*write: Callable[[Any], object], layout: int = 6) -> ExtractedText:
    """Return the text of a deck with a slide for each function, which fills it."""
    presentation, target = Presentation(), io.BytesIO()
    for one in write:
        one(presentation.slides.add_slide(presentation.slide_layouts[layout]))
    presentation.save(target)
    found = extract_text(target.getvalue(), "a.pptx")
    assert found.losses is not None
    assert found.losses.lost == 0, found.losses
    return found


def box(slide: Any, text: str, left: float = 1, top: float = 1) -> Any:
    shape = slide.shapes.add_textbox(Cm(left), Cm(top), Cm(5), Cm(1))
    shape.text_frame.text = text
    return shape


@pytest.mark.parametrize("kind", ["sngStrike", "dblStrike", "noStrike"])
def test_struck_text_is_marked(kind: str) -> None:
    def write(slide: Any) -> None:
        paragraph = box(slide, "Pay ").text_frame.paragraphs[0]
        for text, said in (("50", kind), ("0 ", kind), ("400", "noStrike")):
            run = paragraph.add_run()
            run.text = text
            run.font._element.set("strike", said)

    assert deck(write).text == f"## Slide 1\n\nPay {'500' if kind == 'noStrike' else '~~500~~'} 400"


@pytest.mark.parametrize(
    ("points", "texts", "expected"),
    [
        (["A weir", "A gauge"], ["One", "Two"], "## Survey\n\n- A weir\n- A gauge\n\nOne\nTwo"),
        (["A weir"], ["One"], "## Survey\n\nA weir\n\nOne"),
        (["A weir"], ["# of gauges"], "## Survey\n\nA weir\n\n\\# of gauges"),
    ],
)
def test_the_points_of_a_slide_are_a_list_and_other_texts_are_not(
    points: list[str], texts: list[str], expected: str
) -> None:
    def write(slide: Any) -> None:
        slide.shapes.title.text = "Survey"
        slide.placeholders[1].text_frame.text = "\n".join(points)
        box(slide, "\n".join(texts))

    assert deck(write, layout=1).text == expected


# Reported case C1.
@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ([("Third", 1, 12), ("First", 1, 2), ("Second", 1, 7)], ["First", "Second", "Third"]),
        ([("Right", 12, 2), ("Left", 1, 2.2)], ["Left", "Right"]),
        ([("D", 12, 9), ("C", 1, 9), ("B", 12, 2), ("A", 1, 2)], ["A", "B", "C", "D"]),
    ],
)
def test_shapes_are_read_by_their_places(boxes: list[tuple[str, float, float]], expected: list[str]) -> None:
    assert deck(lambda slide: [box(slide, *one) for one in boxes]).text.split("\n\n")[1:] == expected


def test_a_comparison_keeps_the_order_of_its_layout() -> None:
    def write(slide: Any) -> None:
        for number, placeholder in enumerate(slide.placeholders):
            placeholder.text_frame.text = f"Text {number}"

    assert deck(write, layout=4).text == "## Text 0\n\nText 1\n\nText 2\n\nText 3\n\nText 4"


# Reported case C2.
@pytest.mark.parametrize(
    ("choice", "fallback", "expected"),
    [
        ("Newer", "Older", "Newer"),
        ("Newer", None, "Newer"),
        (None, "Older", "Older"),
    ],
)
def test_of_newer_and_older_shapes_one_is_read(choice: str | None, fallback: str | None, expected: str) -> None:
    def write(slide: Any) -> None:
        alternatives = etree.SubElement(slide.shapes._spTree, f"{{{_COMPATIBILITY}}}AlternateContent")
        for name, text in (("Choice", choice), ("Fallback", fallback)):
            one = etree.SubElement(alternatives, f"{{{_COMPATIBILITY}}}{name}")
            one.append(box(slide, text or "")._element)

    assert deck(write).text == f"## Slide 1\n\n{expected}"


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (["10", "^6", " litres"], "10^6 litres"),
        (["Area in m", "^2"], "Area in m²"),
        (["500", "^1)", " net"], "500^1) net"),
        (["H", "_2", "O on the 4", "^th"], "H2O on the 4th"),
        (["soft\u00adhyphen"], "softhyphen"),
    ],
)
def test_raised_and_lowered_runs(runs: list[str], expected: str) -> None:
    def write(slide: Any) -> None:
        paragraph = box(slide, "").text_frame.paragraphs[0]
        for text in runs:
            run = paragraph.add_run()
            run.text = text.lstrip("^_")
            if text[0] in "^_":
                run.font._element.set("baseline", "30000" if text[0] == "^" else "-25000")

    assert deck(write).text == f"## Slide 1\n\n{expected}"


# Reported case C5.
@pytest.mark.parametrize(
    ("said", "expected"),
    [("0", "## Slide 1 (hidden)\n\nA"), ("false", "## Slide 1 (hidden)\n\nA"), ("1", "## Slide 1\n\nA")],
)
def test_hidden_slides_are_marked(said: str, expected: str) -> None:
    def write(slide: Any) -> None:
        box(slide, "A")
        slide._element.set("show", said)

    assert deck(write).text == expected


def test_hidden_shapes_are_marked_also_of_groups() -> None:
    def write(slide: Any) -> None:
        slide.shapes.title.text = "Prices"
        shapes = [slide.shapes.title, box(slide, "Was 500", top=2), box(slide, "Now 400", top=4)]
        group = slide.shapes.add_group_shape()
        shapes.append(group.shapes.add_textbox(Cm(1), Cm(9), Cm(5), Cm(1)))
        shapes[-1].text_frame.text = "Draft\nof May"
        table = slide.shapes.add_table(1, 1, Cm(1), Cm(12), Cm(9), Cm(3))
        table.table.cell(0, 0).text = "Level"
        for one, said in ((shapes[0], "1"), (shapes[1], "1"), (shapes[2], "0"), (shapes[3], "true"), (table, "1")):
            one._element._nvXxPr.cNvPr.set("hidden", said)

    text = "## Prices\n\nWas 500 (hidden)\n\nNow 400\n\nDraft\nof May\n\n(hidden)\n\n| Level |\n| --- |\n\n(hidden)"
    assert deck(write, layout=5).text == text


def placeholder(slide: Any, kind: str, text: str) -> Any:
    shape = box(slide, text)
    properties = shape._element.nvSpPr.find("{*}nvPr")
    properties.append(etree.fromstring(f'<p:ph xmlns:p="{properties.nsmap["p"]}" type="{kind}" idx="12"/>'))
    return shape


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("ftr", ["Hydrotec 2024", "Hydrotec 2024"], ""),
        ("dt", ["5 March", "5 March"], ""),
        ("sldNum", ["1", "2"], ""),
        ("ftr", ["Source: Ida", "Source: Per"], "\n\nSource: Per"),
    ],
)
def test_what_repeats_on_slides_is_left_out(kind: str, texts: list[str], expected: str) -> None:
    def write(text: str) -> Callable[[Any], object]:
        return lambda slide: [placeholder(slide, kind, text), box(slide, "Point", top=3)]

    found = deck(*map(write, texts))
    assert found.text.split("## Slide 2")[1] == f"{expected}\n\nPoint"


def test_a_box_at_the_same_place_of_most_slides_is_left_out() -> None:
    found = deck(*[lambda slide: [box(slide, "© Hydrotec"), box(slide, "Point", top=9 + slide.slide_id % 9)]] * 4)
    assert "Hydrotec" not in found.text
    assert found.text.count("Point") == 4


def test_a_shape_with_the_identifier_of_the_title_is_read() -> None:
    def write(slide: Any) -> None:
        slide.shapes.title.text = "Survey"
        box(slide, "A")._element.nvSpPr.cNvPr.set("id", str(slide.shapes.title.shape_id))

    assert deck(write, layout=5).text == "## Survey\n\nA"


def test_notes_and_what_else_stands_on_their_page() -> None:
    def write(slide: Any) -> None:
        box(slide, "A")
        page = slide.notes_slide
        page.notes_text_frame.text = "Mention the seal.\nThen stop."
        other = box(slide, "Beside the notes")
        page.shapes._spTree.append(other._element)

    assert deck(write).text == "## Slide 1\n\nA\n\nNotes: Mention the seal.\nThen stop.\n\nBeside the notes"


def test_comments_follow_their_slide() -> None:
    def write(slide: Any) -> None:
        box(slide, "A")
        comments = b'<p:cmLst xmlns:p="urn:p"><p:cm authorId="0"><p:text>Check the level</p:text></p:cm></p:cmLst>'
        part = Part(PackURI("/ppt/comments/comment1.xml"), "application/xml", slide.part.package, comments)
        slide.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments")

    assert deck(write).text == "## Slide 1\n\nA\n\nComment: Check the level"


@pytest.mark.parametrize(
    ("cells", "joined", "expected"),
    [
        ([["Region", "Sales", ""], ["", "2023", "2024"], ["North", "1", "2"]], [(0, 1, 0, 2), (0, 0, 1, 0)],
         "| Region | Sales 2023 | Sales 2024 |\n| --- | --- | --- |\n| North | 1 | 2 |"),
        ([["Dept", "Name"], ["Gauging", "Ida"], ["", "Per"]], [(1, 0, 2, 0)],
         "| Dept | Name |\n| --- | --- |\n| Gauging | Ida |\n| Gauging | Per |"),
        ([["A", "B", "C"], ["x", "both", ""]], [(1, 1, 1, 2)],
         "| A | B | C |\n| --- | --- | --- |\n| x | both | both |"),
    ],
)  # fmt: skip
def test_joined_cells_of_a_table(
    cells: list[list[str]], joined: list[tuple[int, int, int, int]], expected: str
) -> None:
    def write(slide: Any) -> None:
        table = slide.shapes.add_table(len(cells), len(cells[0]), Cm(1), Cm(1), Cm(9), Cm(3)).table
        for number, row in enumerate(cells):
            for column, text in enumerate(row):
                table.cell(number, column).text = text
        for top, left, bottom, right in joined:
            table.cell(top, left).merge(table.cell(bottom, right))

    assert deck(write).text == f"## Slide 1\n\n{expected}"


def test_shapes_of_a_group_are_in_reading_order() -> None:
    def write(slide: Any) -> None:
        box(slide, "Last", top=15)
        group = slide.shapes.add_group_shape()
        for text, top in (("Second", 5), ("First", 2)):
            group.shapes.add_textbox(Cm(1), Cm(top), Cm(5), Cm(1)).text_frame.text = text

    assert deck(write).text == "## Slide 1\n\nFirst\n\nSecond\n\nLast"
