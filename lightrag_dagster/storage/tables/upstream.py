"""The partitions of a source's upstream asset, as Dagster last had them."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locks.locks import ingesting
from lightrag_dagster.storage.snapshots.records import Record, read_record


class Upstream(Record):
    """`upstream.json`: the Dagster asset that a source reads, and partition → version of its last materialisation."""

    mended_by = "delete it and run `lightrag-dagster run`, which asks Dagster again"

    asset: str
    partitions: dict[str, str]


def known_partitions(home: Home, source: str, asset: str) -> dict[str, str] | None:
    """Return partition → version of an asset as last recorded for a source, None if never; raises StoreError."""
    path = _record(home, source)
    home.files.take_over([path])  # another machine may have asked
    found = read_record(path, Upstream)
    return found.partitions if found and found.asset == asset else None


def record_partitions(home: Home, source: str, asset: str, partitions: Mapping[str, str], seconds: float) -> None:
    """Record partition → version of the asset that a source reads, unless that is known; a damaged record is replaced.

    Raises:
        BuilderLockedError: another process still ingested the source after some `seconds`.
        OlderFormatError: a builder must bring the home forward first.
        StoreError: the disk refuses.
    """
    with suppress(StoreError):
        if known_partitions(home, source, asset) == partitions:
            return
    record = Upstream(asset=asset, partitions=dict(partitions))
    with ingesting(home, source, seconds):
        atomic.write_text(_record(home, source), record.model_dump_json(indent=2))


def _record(home: Home, source: str) -> Path:
    return home.source_table("raw_documents", source) / "upstream.json"
