"""Presentations by python-pptx; `test_samples.py` reads those of other programs."""

import io

import pytest
from pptx import Presentation
from pptx.util import Cm

from lightrag_dagster.readers.extraction import extract_text


@pytest.mark.parametrize(
    ("points", "box", "expected"),
    [
        (["A weir", "A gauge"], ["One", "Two"], "## Survey\n\n- A weir\n- A gauge\n\nOne\nTwo"),
        (["A weir"], ["One"], "## Survey\n\nA weir\n\nOne"),
    ],
)
def test_the_points_of_a_slide_are_a_list_and_other_texts_are_not(
    points: list[str], box: list[str], expected: str
) -> None:
    presentation, target = Presentation(), io.BytesIO()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Survey"
    slide.placeholders[1].text_frame.text = "\n".join(points)
    slide.shapes.add_textbox(Cm(1), Cm(1), Cm(5), Cm(5)).text_frame.text = "\n".join(box)
    presentation.save(target)
    assert extract_text(target.getvalue(), "a.pptx").text == expected
