"""The files that a merge reads, and those that the merge before it read and made."""

from collections.abc import Sequence
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
    """An earlier merge: the files that it read and the merged tables that it made.

    Its summaries are kept where the descriptions are the same, those of `recipe` only when one is given. If it merged
    by the same settings and embedder (`comparable`), rows that no change affects are copied from it.
    """

    inputs: Sequence[MergeInput]
    tables: dict[str, Path]
    comparable: bool = True
    recipe: str | None = None
