"""The response store: every paid answer of a language model, by a hash of the model and the request."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.keyed_store import KeyedTable, keyed_table


class Verbatim(sa.TypeDecorator[str]):
    """Text that may contain every character: UTF-8 bytes in Postgres, whose text type refuses U+0000."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[Any]:
        """Return the type of the column in one database."""
        return dialect.type_descriptor(sa.LargeBinary() if dialect.name == "postgresql" else sa.Text())

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Return the value to store."""
        return value.encode() if value is not None and dialect.name == "postgresql" else value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Return the text that was stored."""
        return bytes(value).decode(errors="replace") if value is not None and dialect.name == "postgresql" else value


RESPONSES = keyed_table(
    "responses",
    sa.Column("text", Verbatim, nullable=False),
    sa.Column("finish_reason", sa.Text, nullable=False),
    *(sa.Column(f"{of}_tokens", sa.BigInteger, nullable=False) for of in ("input", "output", "cached_input")),
    sa.Column("cost_usd", sa.Double, nullable=False),
    sa.Column("cache_write_tokens", sa.BigInteger, nullable=False, server_default="0"),
)


class Totals(NamedTuple):
    """Number, tokens and US dollars of all stored answers."""

    rows: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


class ResponseStore(KeyedTable):
    """Answers by key, one row each: the fields of `ChatResponse` in their order."""

    def __init__(self, address: Address, *, looking: bool = False) -> None:
        super().__init__(address, RESPONSES, looking=looking)

    def get_many(self, keys: Iterable[str]) -> dict[str, ChatResponse]:
        """Return the answers that are stored, by key."""
        return {key: ChatResponse(*tuple(row)[1:-2]) for key, row in self._read(keys).items()}

    def put_many(self, responses: Mapping[str, ChatResponse]) -> None:
        """Store answers by key; they are durable when this returns."""
        self._write({"key": key, **vars(response)} for key, response in responses.items())

    def totals(self) -> Totals:
        """Return the totals of all answers."""
        columns = (RESPONSES.c.input_tokens, RESPONSES.c.output_tokens, RESPONSES.c.cost_usd)
        with self.begin() as connection:
            row = connection.execute(
                sa.select(sa.func.count(), *(sa.func.coalesce(sa.func.sum(one), 0) for one in columns))
            ).one()
        return Totals(row[0], int(row[1]), int(row[2]), float(row[3]))
