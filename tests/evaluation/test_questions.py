from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.questions import read_question_file, with_gold

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
    who, where = read_question_file(tmp_path / name)
    assert (who.gold, who.answer) == (["archive/a.md", "office/b.md"], "Nobody")
    assert (where.gold, where.answer) == (["chunk-1"], None)


@pytest.mark.parametrize("name", ["questions.yaml", "questions.jsonl"])
def test_marks_of_utf_8_and_ends_of_lines_that_json_allows_are_read(tmp_path: Path, name: str) -> None:
    row = '{"question": "Who\u2028was\u0085there?", "chunks": ["a"]}'
    (tmp_path / name).write_bytes(f"{row if name.endswith('jsonl') else f'[{row}]'}\r\n".encode("utf-8-sig"))
    (one,) = read_question_file(tmp_path / name)
    assert one.gold == ["a"]
    assert one.question.split() == ["Who", "was", "there?"]


def test_documents_are_composed_as_they_are_compared(tmp_path: Path) -> None:
    (tmp_path / "q.yaml").write_text("- {question: 'Who?', documents: [e\u0301quipe/e\u0301te\u0301.md]}")
    (who,) = read_question_file(tmp_path / "q.yaml")
    assert who.gold == ["\u00e9quipe/\u00e9t\u00e9.md"]


def test_no_file_is_no_question() -> None:
    assert read_question_file(None) == []


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("q.yaml", "- {question: '', documents: [a]}", "at least 1 character"),
        ("q.yaml", "- {question: 'Who?', document: [a]}", "0.document does not exist; did you mean 0.documents"),
        (
            "q.yaml",
            "- {question: 'Who?', documents: [a]}\n- {question: 'Who?', documents: [b]}",
            "'Who.' should find twice",
        ),
        ("q.jsonl", '{"question": "Who?"', "not valid JSON lines"),
        (
            "q.jsonl",
            '{"question": "Who?"}\n\n{"question": }',
            "not valid JSON lines: Expecting value: line 3 column 14",
        ),
        ("q.yaml", "- {question: 'Who?', mode: fusoin}", "0.mode: Input should be 'fusion', 'naive', "),
        ("q.yaml", "- {question: 'When?', answer: 2023-02-30}", "cannot be read as timestamp; write a text in quotes"),
        ("q.yaml", "[" * 3000, "is not valid YAML: it is nested too deeply"),
        ("q.jsonl", '{"question": ' + "[" * 100_000, "is not valid JSON lines: maximum recursion depth"),
        ("q.jsonl", '{"question": "Who?", "documents": [' + "9" * 5000 + "]}", "is not valid JSON lines: Exceeds the"),
        ("absent.yaml", None, "absent.yaml is not a file; remove it, or name one that is there$"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, name: str, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=says):
        read_question_file(tmp_path / name)


def test_a_question_without_gold_may_be_asked_in_several_modes_and_is_not_evaluated(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text("- {question: 'Who?', mode: naive}\n- {question: 'Who?', mode: local}\n" + YAML)
    questions = read_question_file(file)
    assert [one.mode for one in questions] == ["naive", "local", None, None]
    assert with_gold(questions) == questions[2:]
