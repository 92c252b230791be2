"""The files that a merge reads, and those that the merge before it made."""

from pathlib import Path
from typing import NamedTuple


class MergeInput(NamedTuple):
    """The accepted Parquet files of one source. A file never changes: another version has another path."""

    source: str
    chunks: Path
    extractions: Path
    entity_mentions: Path
    relation_mentions: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        """The four files."""
        return self[1:]


class Previous(NamedTuple):
    """Merged rows, whose summaries are kept where the descriptions are the same: all, or those of one recipe."""

    entities: Path
    relations: Path
    recipe: str | None = None
