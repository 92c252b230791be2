"""The record of a purge that has begun: its documents, until all of them are gone."""

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.records import Record, read_record


class Unfinished(Record):
    """`purging.json`: what a purge that was interrupted is to remove; the tables may not have it any more."""

    mended_by = "delete it, and run the last `purge` again"

    gone: dict[str, set[str]]
    """Source → paths; the whole source where there is none. Empty: what edits removed from documents that stay."""


def unfinished_purge(home: Home) -> list[str]:
    """Return a line about a purge that did not end, if there is one, also if its record cannot be read."""
    said = "a purge has not ended, so that removed texts may still be here"
    try:
        found = read_record(home.purging, Unfinished)
    except StoreError as error:
        return [f"{said}: {error}"]
    if found is None:
        return []
    return [f"{said}; `lightrag-dagster purge … --yes` finishes it, with the sources and paths that {home.purging} has"]
