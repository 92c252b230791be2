"""What a merge reads, and what the one before read and made."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.stores.generations import Generation, newest
from lightrag_dagster.stores.home import Home
from lightrag_dagster.stores.manifest import GenerationInputs
from lightrag_dagster.stores.tables import SourceTables


@dataclass(frozen=True)
class MergeInput:
    """The accepted Parquet files of one source. A file never changes: another version has another path."""

    source: str
    chunks: Path
    entity_mentions: Path
    relation_mentions: Path

    @property
    def paths(self) -> tuple[Path, Path, Path]:
        """All three."""
        return self.chunks, self.entity_mentions, self.relation_mentions


class Previous(NamedTuple):
    """What the last merge with the same code and settings read, and the files of the tables that it made."""

    inputs: Sequence[MergeInput]
    tables: dict[str, Path]


def merge_inputs(home: Home, inputs: GenerationInputs) -> list[MergeInput]:
    """Return the files of every source, in order of source."""
    tables = SourceTables(home)
    return [
        MergeInput(
            source=source,
            chunks=tables.path("chunks", source, versions["chunks"]),
            entity_mentions=tables.path("entity_mentions", source, versions["entity_mentions"]),
            relation_mentions=tables.path("relation_mentions", source, versions["relation_mentions"]),
        )
        for source, versions in sorted(inputs.sources.items())
    ]


def find_previous(home: Home, fingerprint: str) -> Previous | None:
    """Return the generation merged last, or None unless it was made with this code and settings and is all there."""
    try:
        last = newest(home)
        if last.inputs().fingerprint != fingerprint:
            return None
        previous = Previous(merge_inputs(home, last.inputs()), {name: _file(last, name) for name in MERGED_TABLES})
    except StoreError:
        return None
    files = [*previous.tables.values(), *(path for one in previous.inputs for path in one.paths)]
    return previous if all(path.exists() for path in files) else None


def _file(generation: Generation, table: str) -> Path:
    return generation.path(f"{table}.parquet")
