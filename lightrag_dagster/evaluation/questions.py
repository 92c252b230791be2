"""The evaluation's question file: each question with the documents or chunks that hold its answer."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.filed_questions import read_filed


class GoldQuestion(BaseModel):
    """A question and what should be found for it: documents as source/path, or chunks by id; and its answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1)
    documents: list[str] = []
    chunks: list[str] = []
    answer: str | None = None

    @model_validator(mode="after")
    def _has_gold(self) -> Self:
        if not self.gold:
            raise ValueError("name the documents (source/path) or chunks that hold the answer")
        return self

    @property
    def gold(self) -> list[str]:
        """What should be found, sorted."""
        return sorted({*self.documents, *self.chunks})

    def key(self, k: int) -> str:
        """Return a hash of the question, what should be found and how many chunks count: equal keys can be compared."""
        return digest(self.question, self.gold, k)


def read_gold(path: Path | None) -> list[GoldQuestion]:
    """Return the questions of a file, none when no file is configured; raises SettingsError as `read_filed`.

    Raises:
        SettingsError: a question stands in the file twice.
    """
    questions = read_filed(path, GoldQuestion)
    seen: set[str] = set()
    for one in questions:
        if one.question in seen:
            raise SettingsError(f"question file {path} asks {one.question!r} twice; leave one out")
        seen.add(one.question)
    return questions
