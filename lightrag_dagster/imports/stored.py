"""The contents of another system's base, as it hands them over."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lightrag_dagster.core.identity import text_digest
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.text.sanitise import sanitise
from lightrag_dagster.stages.extraction.parsing import MOST_ROWS
from lightrag_dagster.stages.extraction.writing import write_answer

TABLE = "table"
"""The recipe of rows of a table that a person keeps."""


class StoredDocument(NamedTuple):
    """A document: its id, the path or name under which it came in, empty if there was none, and its text."""

    id: str
    path: str
    text: str


class EditedName(NamedTuple):
    """A name that answers and graph do not share: it is in `graph` or `answers` alone, or has another `description`."""

    name: str
    where: str
    description: str = ""


@dataclass
class StoredBase:
    """A base of another system.

    `recipe` names rows that come from it, `model` is theirs. `documents` gives all documents each time. `answers` has
    by `key_of` the text of a chunk the answers about it, in order; `vectors` gives texts of chunks and their vectors.
    `claims` has likewise answers of the pass `claims`, whose file says what `schema` does; there is none without it.
    `notes` are sentences about what could not be read; it `is_whole` if all documents could.
    """

    recipe: str
    model: str
    documents: Callable[[], Iterator[StoredDocument]]
    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    vectors: Callable[[], Iterator[tuple[str, Vectors]]] = lambda: iter(())
    claims: Mapping[str, Sequence[str]] = field(default_factory=dict)
    schema: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    edited: Sequence[EditedName] = ()
    notes: list[str] = field(default_factory=list)
    is_whole: bool = True


def key_of(text: str) -> str:
    """Return a hash of the text of a chunk as documents have it here: equal to what was cut there, but for its ends."""
    return text_digest(sanitise(valid(text)))


def answers_of(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return answers of rows as `write_answer` takes them, as many as hold all, and one of none."""
    return tuple(write_answer(rows[at : at + MOST_ROWS]) for at in range(0, len(rows) or 1, MOST_ROWS))


def valid(text: str) -> str:
    """Return a text that UTF-8 can hold: `?` in place of halves of pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")
