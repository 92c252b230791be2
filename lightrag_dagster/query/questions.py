"""The question file: a YAML list of questions to ask of every snapshot."""

from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.identity import digest


class FiledQuestion(BaseModel):
    """One question, the mode to ask it in, and what a good answer rests on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    mode: str | None = None
    documents: list[str] = []
    answer: str | None = None


def answer_inputs(snapshot_id: str, questions: Sequence[FiledQuestion]) -> dict[str, str]:
    """Return what answers are made from: the snapshot and the questions."""
    return {"knowledge_base": snapshot_id, "questions": digest([one.model_dump() for one in questions])}


def read_questions(path: Path | None) -> list[FiledQuestion]:
    """Return the questions of a file, in its order; none when no file is configured.

    Raises:
        SettingsError: the file cannot be read or is not a list of questions.
    """
    if path is None:
        return []
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return TypeAdapter(list[FiledQuestion]).validate_python(content or [])
    except OSError as error:
        raise SettingsError(f"question file {path} cannot be read: {error.strerror}; correct `questions`") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"question file {path} is not valid YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "top level"
        raise SettingsError(f"question file {path}, {where}: {first['msg']}") from error
