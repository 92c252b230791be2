"""The gates before publication, all off by default: a limit of change, and a team's own checks in SQL.

A snapshot that a gate stops is built like any other, and waits for `release`.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from textwrap import shorten

import pyarrow as pa

from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.core.text.sheets import files_of, read_text
from lightrag_dagster.errors import QueryError, SettingsError
from lightrag_dagster.indexes.changes import count_changes
from lightrag_dagster.indexes.sql import NESTED_TOO, TableFiles, open_tables, published_tables, results
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.manifests import Changed, Gates
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot

_SEVERITY = re.compile(r"^--[ \t]*severity:[ \t]*(\w*)", re.MULTILINE | re.IGNORECASE)
_ERROR, _WARN = "error", "warn"
_NAMED_ROWS, _LONGEST_ROW = 3, 200
_SECONDS = 600.0
"""Time that a check may take; a run that hangs publishes nothing."""


def look(generation: Generation, settings: Settings) -> Gates:
    """Return the results of the gates for a finished generation.

    Raises:
        SettingsError: a check cannot be read.
        StoreError: a table is missing or damaged.
    """
    home = generation.home
    difference = dict[str, Changed]()
    faults = list[str]()
    warnings = list[str]()
    published = published_snapshot(home)
    if published and settings.publish != "automatic":
        counts = count_changes(Generation(home, published.snapshot_id), generation, ["document", "entity"])
        difference = {"documents": counts["document"], "entities": counts["entity"]}
        faults += _too_different(difference, settings.publish)
    for severity, fault in _run_checks(read_checks(settings), published_tables(generation)):
        (warnings if severity == _WARN else faults).append(fault)
    return Gates(difference=difference, faults=faults, warnings=warnings)


def _too_different(difference: dict[str, Changed], limit: str | float) -> Iterator[str]:
    """Yield a line on documents, and one on entities, if more differ than the limit allows.

    An entity changes with each document that mentions it, so only those count that were added or removed.
    """
    for rows, counts in difference.items():
        differing = counts.added + counts.removed + (counts.changed if rows == "documents" else 0)
        if isinstance(limit, float) and differing > limit * counts.before:
            yield f"{rows}: {counts}, more than the share of {limit:g} that publish allows"


def read_checks(settings: Settings) -> dict[str, str]:
    """Return the statements of each check by the name of its file; raises as `look`."""
    folder = settings.checks
    if folder is None:
        return {}
    try:
        files = files_of(folder, ".sql")
    except OSError as error:
        raise SettingsError(
            f"setting checks: {folder.absolute()} cannot be listed: {error.strerror}; name a folder with files *.sql"
        ) from error
    if not files:
        raise SettingsError(f"setting checks: {folder.absolute()} has no file *.sql; add one, or unset it")
    return {path.name: read_text(path, SettingsError) for path in files}


def _run_checks(checks: Mapping[str, str], tables: TableFiles) -> Iterator[tuple[str, str]]:
    """Yield the severity of each check that fails, and its file with the first rows."""
    for name, statements in checks.items():
        found = _SEVERITY.search(statements)
        severity = found[1].lower() if found else _ERROR
        if severity not in (_ERROR, _WARN):
            yield _ERROR, f"check {name}: its severity {severity!r} is neither {_ERROR} nor {_WARN}"
        elif fault := _fault(statements, tables):
            yield severity, f"check {name}: {fault}"


def _fault(statements: str, tables: TableFiles) -> str | None:
    """Return the number of rows that statements give, and the first ones; None without any."""
    number, first = 0, list[str]()
    try:
        with open_tables(tables) as connection:
            for rows in results(connection, statements, timeout=_SECONDS, in_words=NESTED_TOO):
                for batch in rows:
                    number += batch.num_rows
                    first += islice(_in_words(batch), _NAMED_ROWS - len(first))
    except QueryError as error:
        return str(error)
    return f"{counted(number, 'row', 'rows')}, as {'; '.join(first)}" if number else None


def _in_words(batch: pa.RecordBatch) -> Iterator[str]:
    for row in batch.slice(0, _NAMED_ROWS).to_pylist():
        yield shorten(", ".join(f"{name} {value}" for name, value in row.items()), _LONGEST_ROW, placeholder=" …")
