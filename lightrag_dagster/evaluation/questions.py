"""Question files: a YAML list, or one JSON object per line."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.sheets import read_text
from lightrag_dagster.errors import SettingsError, one_line
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.settings.unknown import first_fault
from lightrag_dagster.settings.yaml_files import load_yaml


class FiledQuestion(BaseModel):
    """A question of a file, with its gold and its known answer.

    `mode` is the mode in which `answers` asks it; `documents` (source/path) or `chunks` (ids) hold its answer, and make
    it part of the evaluation; `answer` is the known answer, short, to compare with a model's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1)
    mode: ModeName | None = None
    documents: list[Annotated[str, AfterValidator(composed)]] = []
    chunks: list[str] = []
    answer: str | None = None

    @property
    def gold(self) -> list[str]:
        """The documents and chunks that should be found, sorted."""
        return sorted({*self.documents, *self.chunks})


def read_question_file(path: Path | None) -> list[FiledQuestion]:
    """Return the questions of a file (`.jsonl`, else YAML), in its order; none when no file is configured.

    Raises:
        SettingsError: the file cannot be read, is not a list of questions, or asks one with gold twice.
    """
    if path is None:
        return []
    try:
        questions = TypeAdapter(list[FiledQuestion]).validate_python(_content(path) or [])
    except ValidationError as error:
        raise SettingsError(f"question file {path}, {first_fault(error, FiledQuestion)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        form = "JSON lines" if path.suffix == ".jsonl" else "YAML"
        raise SettingsError(f"question file {path} is not valid {form}: {one_line(error)}") from error
    asked = Counter(one.question for one in with_gold(questions))
    if twice := next((one for one, times in asked.items() if times > 1), None):
        raise SettingsError(f"question file {path} names what {twice!r} should find twice; leave one out")
    return questions


def with_gold(questions: Sequence[FiledQuestion]) -> list[FiledQuestion]:
    """Return the questions that can be evaluated: those that name documents or chunks."""
    return [one for one in questions if one.gold]


def answer_inputs(snapshot_id: str, questions: Sequence[FiledQuestion]) -> dict[str, str]:
    """Return the inputs of a table of answers: the snapshot, and a hash of the questions."""
    return {"knowledge_base": snapshot_id, "questions": digest([one.model_dump() for one in questions])}


def _content(path: Path) -> Any:
    text = read_text(path, SettingsError)
    if path.suffix == ".jsonl":
        # Blank lines before each, so that an error names its own.
        return [json.loads("\n" * at + line) for at, line in enumerate(text.split("\n")) if line.strip()]
    return load_yaml(text)
