"""The partitions of a source's upstream asset, as Dagster last had them."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from lightrag_dagster.errors import SourceError, StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.records import read_record, write_record
from lightrag_dagster.storage.versions import Upstream


def known_partitions(
    home: Home, source: str, asset: str, named: Collection[str] = frozenset()
) -> dict[str, str] | None:
    """Return partition → version of an asset as last recorded for a source, None if never.

    `named` are the dimensions that the source's settings name, if any.

    Raises:
        SourceError: the asset has other dimensions, so that parts of a key would stand in each other's place.
        StoreError: the record is damaged.
    """
    found = _read(home, source, asset)
    if found and found.dimensions and named and set(found.dimensions) != set(named):
        raise SourceError(
            f"source {source!r} names the dimensions {', '.join(sorted(named))}, and {asset} has "
            f"{', '.join(found.dimensions)}; correct them in uri or rows.query"
        )
    return found.partitions if found else None


def record_partitions(
    home: Home, source: str, asset: str, partitions: Mapping[str, str], seconds: float, dimensions: Iterable[str] = ()
) -> None:
    """Record partition → version of the asset that a source reads, unless that is known; a damaged record is replaced.

    Raises:
        BuilderLockedError: another process still ingested the source after some `seconds`.
        StoreError: the disk refuses, or the home has another layout.
    """
    record = Upstream(asset=asset, partitions=dict(partitions), dimensions=tuple(sorted(dimensions)))
    with suppress(StoreError):
        if _read(home, source, asset) == record:
            return
    with ingesting(home, source, seconds):
        write_record(_record(home, source), record)


def _read(home: Home, source: str, asset: str) -> Upstream | None:
    path = _record(home, source)
    home.files.refresh([path])  # another machine may have asked
    found = read_record(path, Upstream)
    return found if found and found.asset == asset else None


def _record(home: Home, source: str) -> Path:
    return home.source_table("raw_documents", source) / "upstream.json"
