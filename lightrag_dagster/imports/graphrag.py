"""The output of Microsoft's GraphRAG 1.x to 3.3: its documents, and what it found in each text unit."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.names import folded
from lightrag_dagster.core.text.sanitise import visible
from lightrag_dagster.errors import SourceError, one_line
from lightrag_dagster.imports.json_stores import JsonStores
from lightrag_dagster.imports.stored import StoredBase, StoredDocument, answers_of, key_of
from lightrag_dagster.pipeline.scope_tables import GRAPHRAG
from lightrag_dagster.stages.facts.dates import read_when
from lightrag_dagster.stages.facts.standing import PassageText
from lightrag_dagster.storage.duckdb import spilling, view_files

if TYPE_CHECKING:
    import duckdb

_CLAIMS = "covariates"
_TABLES = ("documents", "text_units", "entities", "relationships", _CLAIMS)
_DOCUMENTS = """
SELECT id::VARCHAR, coalesce(title::VARCHAR, ''), left(coalesce("text"::VARCHAR, ''), {}) FROM documents
"""
_KEYS = pa.schema({"id": pa.string(), "key": pa.string()})
_UNITS = {"entities": "text_unit_ids", "relationships": "text_unit_ids", _CLAIMS: "[text_unit_id]"}
_OF_NO_UNIT = """
SELECT count(DISTINCT number) - count(DISTINCT number) FILTER ("key" IS NOT NULL) FROM (
    SELECT number, unnest(coalesce(nullif(units, []), [NULL])) AS id
    FROM (SELECT row_number() OVER () AS number, {}::VARCHAR[] AS units FROM {})
) LEFT JOIN unit_key USING (id)
"""
_NAMES = {"entity": 1, "relation": 2}  # behind the kind of a row


def read_graphrag(folder: Path, most_bytes: int) -> StoredBase:
    """Read what GraphRAG wrote into its output folder, of documents of at most `most_bytes` each.

    Raises:
        SourceError: it is not a folder, it lacks a table of GraphRAG or a column of one, or one of them is damaged.
    """
    stores = JsonStores(folder, 0)
    paths = {name: stores.path(f"{name}.parquet", f"create_final_{name}.parquet") for name in _TABLES}
    if missing := [name for name, path in paths.items() if path is None and name != _CLAIMS]:
        raise SourceError(f"{folder} has no {missing[0]}.parquet; name the output folder of GraphRAG 1.x to 3.3")
    answers, silent = dict[str, tuple[str, ...]](), 0
    with _opened(folder, paths) as connection:
        connection.execute(f"{_DOCUMENTS.format(0)} LIMIT 0")  # to refuse it before anything is written
        units = _fetched(connection, 'SELECT id::VARCHAR, "text"::VARCHAR FROM text_units WHERE "text" IS NOT NULL')
        keys = pa.Table.from_pylist([{"id": name, "key": key_of(text)} for name, text in units], schema=_KEYS)
        connection.register("unit_key", keys)
        for text, rows in _fetched(connection, read_sql(__package__, "graphrag_units")):
            silent += rows is None
            if rows:
                answers[key_of(text)] = _answers(text, rows)
        has_claims = paths[_CLAIMS] and connection.table(_CLAIMS).shape[0]
        rows = _fetched(connection, read_sql(__package__, "graphrag_claims")) if has_claims else ()
        facts, relations, lacking = _claims_of(rows)
        queries = {view: _OF_NO_UNIT.format(ids, view) for view, ids in _UNITS.items() if paths[view]}
        left = {view: next(_fetched(connection, query))[0] for view, query in queries.items()}
    if relations:
        lost = f"; others, whose words or day their text lacks, do not come along: {lacking:,}" if lacking else ""
        stores.notes.append(f"claims, which are facts: {sum(map(len, facts.values())):,}{lost}")
    if found := [f"{view} {lost:,}" for view, lost in left.items() if lost]:
        stores.notes.append(f"of no text unit that is there, which do not come along: {', '.join(found)}")
    if silent:
        stores.notes.append(f"text units about which GraphRAG has stored nothing, without an answer here: {silent:,}")

    def documents() -> Iterator[StoredDocument]:
        # One character more than is taken, so that it counts as too large.
        with _opened(folder, paths) as connection:
            for row in _fetched(connection, f"{_DOCUMENTS.format(most_bytes + 1)} ORDER BY id"):
                yield StoredDocument(*row)

    claims = {key: (json.dumps({"facts": facts.get(key, [])}, ensure_ascii=False),) for key in answers.keys() | facts}
    schema: dict[str, Mapping[str, object]] = {"types": _TYPES, "relations": relations} if relations else {}
    return StoredBase(GRAPHRAG, "graphrag", documents, answers, claims=claims, schema=schema, notes=stores.notes)


@contextmanager
def _opened(folder: Path, paths: dict[str, Path | None]) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open views over tables, in bounded memory; raises SourceError for what DuckDB cannot read in the block."""
    import duckdb

    try:
        with spilling() as connection:
            for view, path in paths.items():
                if path:
                    view_files(connection, view, [path])
            yield connection
    except duckdb.Error as error:
        told = f"the tables in {folder} cannot be read as those of GraphRAG 1.x to 3.3: {one_line(error)}"
        raise SourceError(f"{told}; name its output folder") from error


def _fetched(connection: "duckdb.DuckDBPyConnection", query: str) -> Iterator[tuple[Any, ...]]:
    result = connection.execute(query)
    while row := result.fetchone():
        yield row


def _answers(text: str, rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return answers of the rows of a text unit, as many as it takes, with names as the text has them."""
    spelled = list[list[str]]()
    for kind, *fields in rows:
        names = [_as_written(name, text) for name in fields[: _NAMES[kind]]]
        spelled.append([kind, *names, *fields[len(names) :]])
    return answers_of(spelled)


_TYPES = {"other": "Any named entity."}
_QUOTES = re.compile(r"(?<=[.!?])\s+|[\n\"“”]+")
_AROUND = 4  # words of a date before its year; a quote has more


def _claims_of(rows: Iterable[Sequence[str]]) -> tuple[dict[str, list[dict[str, str]]], dict[str, object], int]:
    """Return the facts of each text by its key, the relations of the schema, and the number of claims left out.

    A row is one of graphrag_claims.sql. A relation is the type of a claim, with its marks. The words are the quotes
    that the text has, the time the words of the text that say the first day: a claim that its text lacks is left out,
    since too many of them would withhold the others.
    """
    facts = defaultdict[str, list[dict[str, str]]](list)
    relations = dict[str, object]()
    names, left_out = dict[str, str](), 0
    for text, kind, marks, subject, target, first, last, said in rows:
        kind = "".join(filter(str.isprintable, visible(" ".join(kind.split()))))
        name = (kind if folded(kind) else "claim") + (f" ({marks})" if marks else "")
        name = names.setdefault(folded(name), name)
        relations[name] = {"from": "other", **({"to": "other"} if target else {"value": "text"}), "dated": True}
        passage, told = PassageText(text), facts[key_of(text)]
        words = _quoted(said, passage)
        when = _as_dated(first, text) if first else last and f"until {last}"
        if not words or (when and not passage.find(when)):
            left_out += 1
            continue
        end = {"object": _as_written(target, text)} if target else {"value": words}
        fact = {"subject": _as_written(subject, text), "relation": name, **end, "words": words, "when": when}
        told.append(fact)
    return facts, relations, left_out


def _quoted(said: str, passage: PassageText) -> str:
    """Return the longest of some quotes that a text has; empty where it has none."""
    quotes = [said, *(one for one in _QUOTES.split(said) if one.count(" ") >= _AROUND)]
    return max((one for one in quotes if passage.find(one)), key=len, default="")


def _as_dated(day: str, text: str) -> str:
    """Return the longest words of a text that are read as a time from a day on; the day where there are none."""
    words, found = text.split(), list[str]()
    for at in (number for number, word in enumerate(words) if day[:4] in word):
        for first in range(max(0, at - _AROUND), at + 1):
            for last in range(at + 1, at + 1 + _AROUND):
                said = " ".join(words[first:last])
                when = read_when(said)
                if when and str(when.valid_from) == day[:10]:
                    found.append(said)
    return max(found, key=len, default=day)


def _as_written(name: str, text: str) -> str:
    """Return a name, of which GraphRAG keeps capitals alone, as a text has it first; not a part of a word."""
    small, wanted, start = _small(text), _small(name), -1
    while name and (start := small.find(wanted, start + 1)) >= 0:
        end = start + len(name)
        if not (small[max(0, start - 1) : start].isalnum() or small[end : end + 1].isalnum()):
            return text[start:end] if name_key(text[start:end]) == name_key(name) else name
    return name


def _small(text: str) -> str:
    """Return a text in small letters, with as many characters."""
    return text.replace("İ", "I").lower()
