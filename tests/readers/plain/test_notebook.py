"""Notebooks: cells and outputs; those of programs are among the samples, and their facts here."""

import json
from pathlib import Path

import pytest

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.formats import format_of
from lightrag_dagster.readers.plain.notebook import read

SAMPLES = Path(__file__).parents[1] / "samples"
CODE = 'levels = {"Steinhag": 1.42, "Corley": 0.97}\nprint("lowest", min(levels, key=levels.get))\nlevels'
OUTPUTS = "\n\n```\nlowest Corley\n```\n\n```\n{'Steinhag': 1.42, 'Corley': 0.97}\n```"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("jupytext", f"```\n{CODE}\n```"),
        ("nbformat", f"```\n{CODE}\n```{OUTPUTS}"),
        ("nbformat-3", f"```\n{CODE}\n```{OUTPUTS}"),
        ("pandoc", f"``` python\n{CODE}\n```"),
        ("jupytext-error", "```\n1 / 0\n```\n\n```\nZeroDivisionError: division by zero\n```"),
    ],
)
def test_cells_code_and_outputs_of_a_notebook(name: str, code: str) -> None:
    found = extract_text((SAMPLES / f"{name}.ipynb").read_bytes(), "survey.ipynb")
    above = "# Gauge survey\n\nThe *Kingfisher* gauge at **Lerchbruck** was cleaned in spring. 水位"
    assert found.text == f"{above}\n\n{code}\n\n## Überlauf"
    assert (found.title, found.note) == ("Gauge survey", None)


def test_its_outputs_are_pages_that_can_make_a_parser_hang() -> None:
    found = format_of("a.ipynb")
    assert found is not None
    assert found.isolated


def test_pictures_are_counted_and_empty_cells_left_out() -> None:
    picture = {"output_type": "display_data", "data": {"text/plain": "<Figure 1>", "image/png": "iVBO"}}
    page = {"output_type": "execute_result", "data": {"text/html": "<b>1</b>"}}
    cells = [
        {"cell_type": "code", "source": "plot()", "outputs": [picture, page]},
        {"cell_type": "code", "source": [], "outputs": []},
        {"cell_type": "heading", "level": 2, "source": "Levels in m<sup>2</sup>"},
    ]
    found = read(json.dumps({"cells": cells}).encode())
    assert (found.text, found.note) == (
        "```\nplot()\n```\n\n**1**\n\n## Levels in m²",
        "outputs without text are left out: 1",
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"text/markdown": ["**Liability** ends\n", "in 2028."], "text/latex": "$x$"}, "**Liability** ends\nin 2028."),
        ({"text/html": "<table><tr><th>A</th></tr><tr><td>1</td></tr></table>"}, "| A | \n|---|\n| 1 |"),
        ({"text/latex": "$a^2$"}, "$a^2$"),
        ({"text/plain": "x", "text/markdown": "**x**"}, "```\nx\n```"),
        ({"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": "**x**"}, "**x**"),
        ({"text/markdown": f"![x](data:image/png;base64,{'iVBOR' * 20})"}, "![x]()"),
        ({"text/plain": ["<pandas.io.formats.style.Styler at 0x7f1a>"], "text/html": "<b>1.50</b>"}, "**1.50**"),
        ({"text/plain": "<function f at 0x7f1a>"}, ""),
        ({"text/plain": "   A  B\n0  1  2\n"}, "```\n   A  B\n0  1  2\n```"),
    ],
)
def test_outputs_without_plain_text_are_read(data: dict[str, object], text: str) -> None:
    cells = [{"cell_type": "code", "source": [], "outputs": [{"output_type": "display_data", "data": data}]}]
    assert read(json.dumps({"cells": cells}).encode()).text == text


@pytest.mark.parametrize("damaged", [1, {}, {"cell_type": "heading", "level": "x", "source": "y", "outputs": [1]}])
def test_a_cell_of_another_shape_is_left_out_and_counted(damaged: object) -> None:
    cells = [{"cell_type": "markdown", "source": "Before"}, damaged, {"cell_type": "markdown", "source": "After"}]
    found = read(json.dumps({"cells": cells}).encode())
    assert (found.text, found.note) == ("Before\n\nAfter", "cells of another shape are left out: 1")


def test_of_a_progress_bar_the_last_state_is_read() -> None:
    output = {"output_type": "stream", "text": ["10%\r", "100%\n", "done\r\n"]}
    cells = [{"cell_type": "code", "source": "", "outputs": [output]}]
    assert read(json.dumps({"cells": cells}).encode()).text == "```\n100%\ndone\n```"


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"{}", b'{"cells": [1]}', b'{"cells": 1}', b"[" * 100_000])
@pytest.mark.usefixtures("uncollected")
def test_what_is_no_notebook_has_a_reason(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="no notebook; give the file its own suffix"):
        read(data)


def test_code_that_a_cell_does_not_end_ends_with_it() -> None:
    cells = [{"cell_type": "markdown", "source": one} for one in ("# A\n```\nx = 1", "# B")]
    assert read(json.dumps({"cells": cells}).encode()).text == "# A\n```\nx = 1\n```\n\n# B"
