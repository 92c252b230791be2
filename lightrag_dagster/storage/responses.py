"""The response store: every paid answer of a language model, by a hash of the model and the request."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.storage.sqlite import KeyedTable, explained

_COLUMNS = (
    "text TEXT NOT NULL",
    "finish_reason TEXT NOT NULL",
    "input_tokens INTEGER NOT NULL",
    "output_tokens INTEGER NOT NULL",
    "cached_input_tokens INTEGER NOT NULL",
    "cost_usd REAL NOT NULL",
)
_values = attrgetter(*(field.name for field in fields(ChatResponse)))


class Totals(NamedTuple):
    """Number, tokens and US dollars of all stored answers."""

    rows: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


class ResponseStore(KeyedTable):
    """Answers by key, one row each: the fields of `ChatResponse` in their order."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "responses", _COLUMNS)

    def get_many(self, keys: Iterable[str]) -> dict[str, ChatResponse]:
        """Return the answers that are stored, by key."""
        return {key: ChatResponse(*row) for key, row in self._read(keys).items()}

    def put_many(self, responses: Mapping[str, ChatResponse]) -> None:
        """Store answers by key; they are durable when this returns."""
        self._write((key, *_values(response)) for key, response in responses.items())

    def totals(self) -> Totals:
        """Return the totals of all answers."""
        statement = "SELECT count(*), total(input_tokens), total(output_tokens), total(cost_usd) FROM responses"
        with explained(self._path), self._lock:
            rows, input_tokens, output_tokens, cost = self._connection.execute(statement).fetchone()
        return Totals(rows, int(input_tokens), int(output_tokens), cost)
