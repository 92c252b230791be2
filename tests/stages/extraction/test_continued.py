"""Descriptions that go on in the next line."""

import pytest

from lightrag_dagster.stages.extraction.parsing import parse_response

PASSAGE = "Ida Wren leads the crew of the Corley Bridge. The crew is small. 艾达领导桥梁队伍。"
FIRST = "entity<|#|>Ida Wren<|#|>Person<|#|>Ida leads the crew.\n"
NEXT = "relation<|#|>Ida Wren<|#|>Corley<|#|>work<|#|>She works there."


def descriptions(answer: str, passage: str, *, truncated: bool = False) -> list[str]:
    found = parse_response(answer, passage=passage, truncated=truncated)
    return [one.description for one in found.entities] + [one.description for one in found.relations]


# Reported case I8.
@pytest.mark.parametrize("passage", ["", PASSAGE])
@pytest.mark.parametrize("end", ["", "\n", "\n<|COMPLETE|>", f"\n{NEXT}", f"\n\n{NEXT}\n<|COMPLETE|>"])
@pytest.mark.parametrize(
    "line",
    [
        "The crew is small.",
        "and the bridge, which is hers",
        "    The bridge, too.",
        "Small crew.\nIt is at the bridge.",
        "艾达领导桥梁队伍。",
    ],
)
def test_a_description_that_goes_on_is_joined(line: str, end: str, passage: str) -> None:
    expected = f"Ida leads the crew. {' '.join(line.split())}"
    assert descriptions(FIRST + line + end, passage)[0] == expected
    assert ("She works there." in descriptions(FIRST + line + end, passage)) is (NEXT in end)


def test_a_description_that_begins_in_the_next_line() -> None:
    answer = f"entity<|#|>Ida Wren<|#|>Person<|#|>\nIda leads the crew.\n{NEXT}"
    assert descriptions(answer, "") == ["Ida leads the crew.", "She works there."]


@pytest.mark.parametrize(
    "line",
    [
        *(
            "",
            "   ",
            "```",
            "---",
            "--- Relations ---",
            "**Relations**",
            "### Relations",
            "Relations:",
            "Relationships",
        ),
        *("Now the relations:", "Next, all relations", "1. Relations", "以下是关系：", "| a | b | c |", "{if} so"),
        *("I hope this helps.", "Here is the rest.", "Note that the crew is small.", "Let me know!", "Done."),
    ],
)
def test_titles_and_remarks_are_no_part_of_a_description(line: str) -> None:
    assert descriptions(f"{FIRST}{line}\n{NEXT}", PASSAGE) == ["Ida leads the crew.", "She works there."]


@pytest.mark.parametrize("line", ["No further entities were found.", "Nothing else was said in it."])
def test_a_line_that_shares_no_word_with_the_passage_is_a_remark(line: str) -> None:
    assert descriptions(f"{FIRST}{line}\n<|COMPLETE|>", PASSAGE) == ["Ida leads the crew."]


def test_a_blank_line_ends_a_description() -> None:
    assert descriptions(f"{FIRST}\nThe crew is small.", PASSAGE) == ["Ida leads the crew."]


def test_the_line_that_was_cut_off_is_left_out() -> None:
    answer = f"{FIRST}The crew is small.\nThe crew is at the bri"
    assert descriptions(answer, "", truncated=True) == ["Ida leads the crew. The crew is small."]


@pytest.mark.parametrize(
    "line", ["x" * 200_000, "x " * 100_000, "x " * 100_000 + ":", "relation " * 20_000, "i" * 99_999]
)
def test_long_lines_take_no_long(line: str) -> None:
    assert descriptions(f"{FIRST}{line}\n{NEXT}", PASSAGE)[-1] == "She works there."
