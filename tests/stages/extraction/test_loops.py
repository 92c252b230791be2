"""Answers that repeat themselves, and what is asked after them."""

import json

import pytest

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.stages.extraction.loops import repeats_itself
from tests.models.models import ScriptedChatModel
from tests.stages.extraction.test_extractions import DONE, chunks, entity, run

ROW = "relation<|#|>Alice<|#|>Acme<|#|>leadership<|#|>Alice leads Acme.\n"
ITEM = '{"name": "Ida Wren", "type": "Person", "description": "She leads the crew of the bridge."}'
ROWS = "".join(entity(f"Name {number * 7919}", f"It is number {number} of all.") for number in range(12))


@pytest.mark.parametrize(
    "answer",
    [
        entity("Ant") + ROW * 30,
        entity("Ant") + ROW * 30 + ROW[:20],
        ROWS * 4,
        (ROW + entity("A")) * 20,
        f'{{"entities": [{", ".join([ITEM] * 100)}',
        '{\n  "entities": [' + ",\n    ".join(["{\n  " + ITEM[1:-1].replace(", ", ",\n  ") + "\n}"] * 20),
        entity("Ant", "It goes on and on" + " and on" * 2_000),
        "\n" * 10 + "the " * 2_000,
        "<think>Wait, let me check that again.\n" + "Wait, let me check that again. " * 300,
    ],
)
def test_an_answer_that_repeats_itself(answer: str) -> None:
    assert repeats_itself(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        DONE,
        ROW * 3,
        ROWS,
        f"<think>{ROWS}</think>\n{ROWS}",
        "".join(entity(f"Name {number}", f"It is number {number} of all.") for number in range(300)),
        json.dumps([{"name": f"N{number}", "type": "t", "description": f"It is {number}."} for number in range(300)]),
        json.dumps([{"name": f"N{one}", "type": "t", "description": f"It is {one}."} for one in range(99)], indent=1),
    ],
)
def test_an_answer_that_does_not(answer: str) -> None:
    assert not repeats_itself(answer)


@pytest.mark.parametrize("loop", [ROW * 30, ROWS * 4 + ROW * 20, f'{{"entities": [{ITEM}, {", ".join([ITEM] * 40)}, '])
def test_an_answer_that_repeats_itself_ends_the_asking(loop: str) -> None:
    """It is neither asked for with more tokens nor the history of a further round."""
    model = ScriptedChatModel(lambda request: ChatResponse(loop, "length"))
    (row,) = run(chunks("Text."), model, longer_outputs=(200, 400), gleaning=2).to_pylist()
    assert len(model.requests) == 1
    assert (row["status"], row["error_kind"]) == ("truncated", "permanent")
    assert row["error"] == "the answer of scripted repeats itself; its different rows are kept"
    assert row["responses"] == [loop]


def test_a_gleaning_answer_that_repeats_itself_ends_the_asking() -> None:
    def answer(request: ChatRequest) -> ChatResponse:
        return ChatResponse(ROWS + DONE) if len(request.messages) == 2 else ChatResponse(ROW * 30, "length")

    model = ScriptedChatModel(answer)
    (row,) = run(chunks("Text."), model, longer_outputs=(200, 400), gleaning=3).to_pylist()
    assert len(model.requests) == 2
    assert (row["status"], row["rounds"]) == ("truncated", 2)


def test_more_tokens_that_bring_no_row_end_the_asking() -> None:
    limits = {None: entity("A") + "Now", 200: entity("A") + "Now let me see. " * 9, 400: entity("A") + entity("B")}
    model = ScriptedChatModel(lambda request: ChatResponse(limits[request.max_output_tokens], "length"))
    (row,) = run(chunks("Text."), model, longer_outputs=(200, 400), gleaning=1).to_pylist()
    assert [request.max_output_tokens for request in model.requests] == [None, 200]
    assert (row["status"], row["rounds"]) == ("truncated", 1)
    assert row["error"] == "the answer of scripted has no more rows for more tokens; its different rows are kept"


def test_more_tokens_that_bring_rows_are_asked_for() -> None:
    limits = {None: "", 200: entity("A"), 400: entity("A") + entity("B")}
    model = ScriptedChatModel(lambda request: ChatResponse(f"{limits[request.max_output_tokens]}Now", "length"))
    (row,) = run(chunks("Text."), model, longer_outputs=(200, 400), gleaning=0).to_pylist()
    assert [request.max_output_tokens for request in model.requests] == [None, 200, 400]
    assert (row["status"], row["error"]) == ("truncated", None)


def test_a_loop_without_a_row_fails_after_one_call() -> None:
    model = ScriptedChatModel(lambda request: ChatResponse("entity<|#|>Alice leads.\n" * 200, "length"))
    (row,) = run(chunks("Text."), model, longer_outputs=(200, 400)).to_pylist()
    assert (row["status"], len(model.requests)) == ("failed", 1)
    assert row["error"] == (
        "the answer of scripted repeats itself and holds no row that can be used; choose another model"
    )


def test_a_complete_answer_does_not_repeat_itself() -> None:
    model = ScriptedChatModel(lambda request: ROW * 30 + DONE)
    (row,) = run(chunks("Text."), model, gleaning=0).to_pylist()
    assert (row["status"], row["error"]) == ("ok", None)
