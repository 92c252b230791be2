"""Reasoning before and inside an answer."""

import pytest

from lightrag_dagster.stages.extraction.delimiters import mark
from lightrag_dagster.stages.extraction.parsing import parse_response
from lightrag_dagster.stages.extraction.reasoning import without_thinking

ROW = "entity<|#|>Alice<|#|>person<|#|>An engineer."
ITEM = '{"name": "Alice", "type": "Person", "description": "An engineer."}'
QUOTING = "entity<|#|>R1<|#|>method<|#|>It closes its reasoning with </think> and goes on."


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Alice", "Alice"),
        (f"<think>Let me see.</think>\n{ROW}", f"\n{ROW}"),
        (f"<THINK>Let me see.</THINK>{ROW}", ROW),
        (f"<thinking>Let me see.</thinking>{ROW}", ROW),
        (f"Let me see.\n</think>\n{ROW}", f"\n{ROW}"),
        (f"<think>Draft: {ROW}</think>{ROW}", ROW),
        (f"<think>\n{ROW}\n</think>\n{ROW}", f"\n{ROW}"),
        (f"A draft:\n{ROW}\n</think>\n{ROW}", f"\n{ROW}"),
        (f"{ROW}\n<think>Now relations.</think>\n{ROW}", f"{ROW}\n\n{ROW}"),
        (f"<think>One.</think>\n{ROW}\n<think>Two.</think>\n{ROW}", f"\n{ROW}\n\n{ROW}"),
        (f"<think>One <|COMPLETE|> two.</think>{ROW}", ROW),
        (f"{ROW}\n{QUOTING}", f"{ROW}\n{QUOTING}"),
        (f"<think>One.</think>{ROW}\n- {QUOTING}", f"{ROW}\n- {QUOTING}"),
        (f"<draft>{ROW}</draft>\n{ROW}", f"\n{ROW}"),
        (f"<details>\n<summary>Thinking…</summary>\n{ROW}\n</details>\n{ROW}", f"\n{ROW}"),
        (f"<details><summary>My reasoning</summary>\n{ROW}\n</details>\n{ROW}", f"\n{ROW}"),
        (f"```thinking\n{ROW}\n```\n```\n{ROW}\n```", f"\n```\n{ROW}\n```"),
        *[
            (one, one)
            for one in (
                f"<details><summary>Entities</summary>\n{ROW}\n</details>",
                f"```text\n{ROW}\n```",
                f"```thinking\n{ROW}",
            )
        ],
        (f"<think>Never closed.\n{ROW}", f"<think>Never closed.\n{ROW}"),
        ('{"description": "It writes </think> last."}', '{"description": "It writes </think> last."}'),
        ('{\n  "description": "<think>x</think>"\n}', '{\n  "description": "<think>x</think>"\n}'),
    ],
)
def test_thinking_is_removed(answer: str, expected: str) -> None:
    assert without_thinking(mark(answer)) == mark(expected)


@pytest.mark.parametrize(
    "piece", ["<think>", "</think>", "<think></think>", "<", " ", "1. ", "<details><summary>plan ", "\n```plan\n"]
)
def test_long_repetitions(piece: str) -> None:
    repeated = piece * (100_000 // len(piece))
    assert without_thinking(mark(f"<think>{repeated}</think>\n{ROW}")).endswith(mark(ROW))


# Reported cases I1, I1b.
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("[THINK]", "[/THINK]"),
        ("<reasoning>", "</reasoning>"),
        ("<thought>", "</thought>"),
        ("<analysis>", "</analysis>"),
        ("<reflection>", "</reflection>"),
        ("<scratchpad>", "</scratchpad>"),
        ("<reasoning_content>", "</reasoning_content>"),
        ("<chain_of_thought>", "</chain_of_thought>"),
        ("<planning>", "</planning>"),
        ("<seed:think>", "</seed:think>"),
        ("◁think▷", "◁/think▷"),
        ("<|thinking|>", "<|/thinking|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<unused94>thought\n", "<unused95>"),
        ("analysis", "assistantfinal"),
        ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ],
)
@pytest.mark.parametrize("draft", ["Let me see.", ROW.replace("Alice", "Bad"), f"\n{ROW.replace('Alice', 'Bad')}\n"])
def test_reasoning_in_other_marks(opening: str, closing: str, draft: str) -> None:
    if opening.startswith("<|channel|>"):  # the model reasons twice, about each part
        opening = f"{opening}First.<|end|>{opening}"
    read = parse_response(f"{opening}{draft}{closing}{ROW}\n<|COMPLETE|>")
    assert [entity.name for entity in read.entities] == ["Alice"]
    assert read.entities[0].description == "An engineer."
    assert not read.rejected
    as_json = parse_response(f'{opening}{{"draft": 1}} {draft}{closing}{{"entities": [{ITEM}]}}')
    assert [entity.name for entity in as_json.entities] == ["Alice"]


@pytest.mark.parametrize(
    "description",
    ["It writes [THINK] first.", "It ends <reasoning> with </reasoning>.", "It uses <|channel|>final and ◁/think▷."],
)
def test_a_mark_of_reasoning_that_a_row_quotes_stays(description: str) -> None:
    read = parse_response(f"entity<|#|>R1<|#|>method<|#|>{description}\n{ROW}")
    assert [entity.description for entity in read.entities] == [description, "An engineer."]


@pytest.mark.parametrize("tag", ["answer", "final_answer", "output", "Response"])
@pytest.mark.parametrize("end", ["", "\n<|COMPLETE|>", "\n"])
def test_tags_around_the_answer_are_no_text(tag: str, end: str) -> None:
    read = parse_response(f"<think>Draft.</think>\n<{tag}>\n{ROW}{end}</{tag}>\n")
    assert [entity.description for entity in read.entities] == ["An engineer."]
    assert not read.rejected
