"""Reasoning before and inside an answer."""

import pytest

from lightrag_dagster.stages.extraction.delimiters import mark
from lightrag_dagster.stages.extraction.reasoning import without_thinking

ROW = "entity<|#|>Alice<|#|>person<|#|>An engineer."
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
        (f"<think>Never closed.\n{ROW}", f"<think>Never closed.\n{ROW}"),
        ('{"description": "It writes </think> last."}', '{"description": "It writes </think> last."}'),
        ('{\n  "description": "<think>x</think>"\n}', '{\n  "description": "<think>x</think>"\n}'),
    ],
)
def test_thinking_is_removed(answer: str, expected: str) -> None:
    assert without_thinking(mark(answer)) == mark(expected)


@pytest.mark.parametrize("piece", ["<think>", "</think>", "<think></think>", "<", " ", "1. "])
def test_long_repetitions(piece: str) -> None:
    repeated = piece * (100_000 // len(piece))
    assert without_thinking(mark(f"<think>{repeated}</think>\n{ROW}")).endswith(mark(ROW))
