"""The documents that a filter allows, and the values of the filter that no document meets.

The notes never mention documents that the rest of the filter hides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import shown, suggested
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.settings.unknown import nearest

_PHRASES = {
    "sources": "is in source",
    "paths": "has a path like",
    "media_types": "is of media type",
    "documents": "has id",
    "authors": "has author",
    "tags": "has tag",
    "languages": "is in language",
}
"""The lists of a filter, with the phrase of a note about a value."""

_DATED = ("dated_since", "dated_until")

_NAMED, _LISTED = 3, 10
"""Values that a note names, and sources that an error lists."""


class Allowed(NamedTuple):
    """Ids of documents, and notes on values of the filter that none of them meets."""

    documents: pa.Array
    notes: tuple[str, ...]


def allowed_documents(connection: duckdb.DuckDBPyConnection, filters: Filters) -> Allowed:
    """Judge the documents of a generation by a filter, in a database with its views.

    Raises:
        QueryError: a source, media type or language of the filter does not exist.
    """
    given = filters.given
    _require_sources(connection, given.get("sources", ()))
    values = {one.name: given.get(one.name) for one in fields(filters)}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    connection.execute(read_sql(__package__, "judged_documents"), values)
    conditions = {name: f"len({name}) > 0" if name in _PHRASES else name for name in given}
    documents = _column(connection, f"SELECT doc_id FROM judged WHERE {_all(conditions.values())}")
    notes = [] if documents else ["no document with text passes the filters"]
    for name in (one for one in _PHRASES if one in given):
        others = [condition for other, condition in conditions.items() if other != name]
        met = {*_column(connection, f"SELECT DISTINCT unnest({name}) FROM judged WHERE {_all(others)}")}
        if missing := [value for value in given[name] if value not in met]:
            _require_known(name, missing)
            notes.append(_note(name, missing, among_others=bool(others)))
            if name == "paths":
                sources = _column(connection, f"SELECT DISTINCT source FROM judged WHERE {_all(others)}")
                notes += _below(missing, sources)
    if not given.keys().isdisjoint(_DATED):
        others = [condition for name, condition in conditions.items() if name not in _DATED]
        notes += _undated(*_column(connection, f"SELECT count(*) FROM judged WHERE {_all([*others, 'undated'])}"))
        conditions["dated_by_name"] = "dated_by_name"
        notes += _dated_by_name(*_column(connection, f"SELECT count(*) FROM judged WHERE {_all(conditions.values())}"))
    connection.execute("DROP TABLE judged")
    return Allowed(pa.array(documents, pa.string()), tuple(notes))


def _require_sources(connection: duckdb.DuckDBPyConnection, sources: Iterable[str]) -> None:
    held = _column(connection, "SELECT DISTINCT nfc_normalize(source) FROM raw_documents")
    for source in sources:
        if source not in held:
            first = [*sorted(held)[:_LISTED], *(["…"] if len(held) > _LISTED else [])]
            hint = suggested(source, held) or f"; there are {', '.join(first)}"
            raise QueryError(f"there is no source {shown(source)} in the snapshot{hint}")


def _require_known(name: str, values: Sequence[str]) -> None:
    """Refuse media types and languages that no document could have; raises QueryError."""
    for value in values:
        if name == "media_types":
            _require_media_type(value)
        elif name == "languages":
            _require_language(value)


def _require_media_type(value: str) -> None:
    from lightrag_dagster.readers import format_of, media_types

    known = media_types()
    if value not in known:
        by_suffix = format_of(f".{value.rpartition('.')[2]}")
        found = by_suffix.media_type if by_suffix else nearest(value, known)
        hint = f"did you mean {found!r}?" if found else "give one such as 'text/markdown'"
        raise QueryError(f"there is no media type {shown(value)}; {hint}")


def _require_language(value: str) -> None:
    from lightrag_dagster.readers import language_codes

    codes = language_codes()
    if value not in codes.values():
        found = codes.get(value) or nearest(value.partition("-")[0], codes.values())
        hint = f"did you mean {found!r}?" if found else "give a code of ISO 639, such as 'de'"
        raise QueryError(f"there is no language {shown(value)}; {hint}")


def _note(name: str, missing: Sequence[str], *, among_others: bool) -> str:
    passing = " that passes the other filters" if among_others else ""
    more = f" (nor {len(missing) - _NAMED} more)" if len(missing) > _NAMED else ""
    return f"no document with text{passing} {_PHRASES[name]} {' or '.join(map(shown, missing[:_NAMED]))}{more}"


def _below(paths: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Return a note on the first path that begins with one of the sources; the path of a citation does."""
    for source, _, path in (one.partition("/") for one in paths):
        if path and source in sources:
            return [f"paths begin below the source; give the source {shown(source)} and the path {shown(path)}"]
    return []


def _undated(count: int) -> list[str]:
    said = counted(count, "document bears no date and is", "documents bear no date and are")
    return [f"{said} left out"] if count else []


def _dated_by_name(count: int) -> list[str]:
    said = counted(count, "document has its date in its name", "documents have their dates in their names")
    return [f"{said}, which counts where nothing else says one"] if count else []


def _column(connection: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    return [value for (value,) in connection.execute(query).fetchall()]


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions) or "true"
