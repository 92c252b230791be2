"""Which documents a question may see."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time
from importlib.resources import files as package_files
from typing import TYPE_CHECKING

import pyarrow as pa

from lightrag_dagster.errors import QueryError

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Filters:
    """What a document must be, in every respect that is given, for a question to see it.

    Lists may be given in any form, and a single text stands for a list of one.

    Attributes:
        sources: names of sources.
        paths: patterns of which the path below the source must match one; `*` is any text, slashes too.
        media_types: such as `text/markdown`.
        documents: ids of documents.
        modified_since: the earliest time of modification, UTC unless it says otherwise; a date is its first moment,
            and a text is ISO 8601.

    Raises:
        QueryError: `modified_since` is no time.
    """

    sources: Iterable[str] = ()
    paths: Iterable[str] = ()
    media_types: Iterable[str] = ()
    documents: Iterable[str] = ()
    modified_since: date | str | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            settled = _time(value) if one.name == "modified_since" else _texts(value)
            object.__setattr__(self, one.name, settled)


def allowed_documents(connection: "duckdb.DuckDBPyConnection", filters: Filters) -> pa.Array:
    """Return the ids of the documents that pass, from the views of a generation.

    Raises:
        QueryError: a source is named that the snapshot does not hold.
    """
    held = {source for (source,) in connection.execute("SELECT DISTINCT source FROM raw_documents").fetchall()}
    for source in filters.sources:
        if source not in held:
            raise QueryError(f"there is no source {source!r} in the snapshot; `lightrag-dagster status` lists them")
    statement = package_files(__package__).joinpath("allowed_documents.sql").read_text(encoding="utf-8")
    lists = {name: list(getattr(filters, name)) for name in ("sources", "paths", "media_types", "documents")}
    parameters = lists | {"modified_since": filters.modified_since}
    return pa.array([doc_id for (doc_id,) in connection.execute(statement, parameters).fetchall()], pa.string())


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _time(value: date | str | None) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise QueryError(f"modified since {value!r} is no time; write it like 2026-01-31") from error
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
