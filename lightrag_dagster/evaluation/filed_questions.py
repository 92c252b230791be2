"""Question files: a YAML list, or one JSON object a line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import SettingsError, one_line


class FiledQuestion(BaseModel):
    """One question, the mode to ask it in, and what a good answer rests on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    mode: str | None = None
    documents: list[str] = []
    answer: str | None = None


Filed = TypeVar("Filed", bound=BaseModel)


def answer_inputs(snapshot_id: str, questions: Sequence[BaseModel]) -> dict[str, str]:
    """Return what answers are made from: the snapshot and the questions."""
    return {"knowledge_base": snapshot_id, "questions": digest([one.model_dump() for one in questions])}


def read_questions(path: Path | None) -> list[FiledQuestion]:
    """Return the questions to answer; see `read_filed`."""
    return read_filed(path, FiledQuestion)


def read_filed(path: Path | None, kind: type[Filed]) -> list[Filed]:
    """Return the questions of a file (`.jsonl`, else YAML), in its order; none when no file is configured.

    Raises:
        SettingsError: the file cannot be read or is not a list of questions.
    """
    if path is None:
        return []
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            content = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            content = yaml.safe_load(text)
        return TypeAdapter(list[kind]).validate_python(content or [])  # type: ignore[valid-type]
    except OSError as error:
        raise SettingsError(f"question file {path} cannot be read: {error.strerror}; correct the setting") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"question file {path} is not UTF-8; save it as UTF-8") from error
    except (yaml.YAMLError, json.JSONDecodeError) as error:
        form = "JSON lines" if path.suffix == ".jsonl" else "YAML"
        raise SettingsError(f"question file {path} is not valid {form}: {one_line(error)}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "top level"
        raise SettingsError(f"question file {path}, {where}: {first['msg']}") from error
