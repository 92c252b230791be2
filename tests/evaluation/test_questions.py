from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.questions import GoldQuestion, read_gold

YAML = """
- question: Who?
  documents: [office/b.md, archive/a.md]
  answer: Nobody
- {question: 'Where?', chunks: [chunk-1]}
"""
JSONL = """
{"question": "Who?", "documents": ["office/b.md", "archive/a.md"], "answer": "Nobody"}

{"question": "Where?", "chunks": ["chunk-1"]}
"""


@pytest.mark.parametrize(("name", "text"), [("questions.yaml", YAML), ("questions.jsonl", JSONL)])
def test_both_forms_hold_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    who, where = read_gold(tmp_path / name)
    assert (who.gold, who.answer) == (["archive/a.md", "office/b.md"], "Nobody")
    assert (where.gold, where.answer) == (["chunk-1"], None)


def test_no_file_is_no_question() -> None:
    assert read_gold(None) == []


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("q.yaml", "- question: Who?", "name the documents"),
        ("q.yaml", "- {question: '', documents: [a]}", "at least 1 character"),
        ("q.yaml", "- {question: 'Who?', documents: [a], mode: mix}", "mode: Extra inputs"),
        ("q.yaml", "- {question: 'Who?', documents: [a]}\n- {question: 'Who?', documents: [b]}", "asks 'Who.' twice"),
        ("q.jsonl", '{"question": "Who?"', "not valid JSON lines"),
        ("absent.yaml", None, "cannot be read"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, name: str, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=says):
        read_gold(tmp_path / name)


def test_a_key_is_of_question_gold_and_k() -> None:
    one = GoldQuestion(question="Who?", documents=["b", "a"], answer="Nobody")
    assert one.key(5) == GoldQuestion(question="Who?", documents=["a", "b"]).key(5)
    others = [one.key(6), GoldQuestion(question="Who?", documents=["a"]).key(5)]
    assert one.key(5) not in others
