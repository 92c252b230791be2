"""Rows that repeat the prompt in place of what the passage says, as a small model wrote them."""

import json
from pathlib import Path

import pytest

from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.parsing import parse_response
from lightrag_dagster.stages.prompts import load_prompts

PROMPTS = load_prompts(None)
ECHOES = Echoes.of(PROMPTS)
EXAMPLE, DEFINITION = "row that repeats an example of the prompt", "row that repeats the definition of a type"
PASSAGE = "Marta Lindqvist mended the gauge at Corley Bridge for Company A."

ROWS = [
    ("entity¦Ida Vashbrake¦Person¦She mends gauges.", PASSAGE, EXAMPLE),
    ("entity¦VASHBRAKE¦Person¦She mends gauges.", PASSAGE, EXAMPLE),
    ("relation¦Marta Lindqvist¦Pelmarrow Water Board¦work¦She works there.", PASSAGE, EXAMPLE),
    ("relation¦Person A¦Company B¦leadership¦Person A leads Company B.", PASSAGE, EXAMPLE),  # of an earlier prompt
    ("entity¦Marta Lindqvist¦Person¦Ida Vashbrake chairs the Pelmarrow Water Board", PASSAGE, EXAMPLE),
    (
        "entity¦Marta Lindqvist¦Person¦Lindqvist is a human being, real or fictional, by name or by a unique role.",
        PASSAGE,
        DEFINITION,
    ),
    ("entity¦Corley Bridge¦Artifact¦A thing that people made.", PASSAGE, DEFINITION),
    # What the passage says itself is none, nor is a name that merely does not stand there.
    ("entity¦Ida Vashbrake¦Person¦She mends gauges.", "Dr. Vashbrake mends gauges.", None),
    ("entity¦Corley Bridge¦Artifact¦A thing that people made.", "It is a thing that people made.", None),
    ("entity¦Company A¦Organization¦Company A has a gauge.", PASSAGE, None),
    ("entity¦Ostrel Basin¦Location¦The basin of the Ostrel.", PASSAGE, None),
    ("entity¦Ida Vashbrake¦Person¦She mends gauges.", "", None),
]


@pytest.mark.parametrize(("row", "passage", "reason"), ROWS)
def test_a_row_that_repeats_the_prompt_is_rejected_with_its_reason(row: str, passage: str, reason: str | None) -> None:
    found = parse_response(row.replace("¦", "<|#|>"), passage=passage, echoes=ECHOES)
    assert found.rejected == ((reason,) if reason else ())
    assert len(found.entities) + len(found.relations) == (reason is None)


def test_every_row_of_the_prompts_own_examples_is_an_echo() -> None:
    for name, wanted in (("extraction_system", 5), ("extraction_json", 3)):
        text = PROMPTS.texts[name]
        example = text[text.rindex("yields:") :] if name == "extraction_system" else text[text.rindex('{"entities"') :]
        assert parse_response(example, passage=PASSAGE, echoes=ECHOES).rejected == (EXAMPLE,) * wanted


def test_an_item_of_json_is_one_too_and_is_counted_once() -> None:
    item = {"name": "Ida Vashbrake", "type": "Person", "description": "She mends gauges."}
    found = parse_response(json.dumps({"entities": [item, item]}), passage=PASSAGE, echoes=ECHOES)
    assert (found.entities, found.rejected) == ((), (EXAMPLE,))


def test_a_persons_own_prompts_have_their_examples_as_echoes_and_no_short_definition(tmp_path: Path) -> None:
    (tmp_path / "extraction_system.md").write_text("$entity_types $language\nX¦Y¦Z¦Ada the engineer built the engine.")
    (tmp_path / "entity_types.md").write_text("- Ship: a vessel")
    echoes = Echoes.of(load_prompts(tmp_path))
    rows = "entity<|#|>Ada<|#|>Person<|#|>Ada the engineer built the engine.\nentity<|#|>Aurora<|#|>Ship<|#|>A vessel."
    found = parse_response(rows, passage=PASSAGE, echoes=echoes)
    assert [one.name for one in found.entities] == ["Aurora"]
