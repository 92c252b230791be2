"""What a merge reads, and what the one before read and made."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.storage.generations import Generation, newest
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import GenerationInputs
from lightrag_dagster.storage.tables import SourceTables


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
    """What an earlier merge read, and the files of the tables that it made.

    Descriptions of the same texts are taken over from it: `whole`, if rows are that nothing touches since, made as they
    would be now but for the prompt and model of summaries; `needed`, if without it there would be other descriptions.
    """

    inputs: Sequence[MergeInput]
    tables: dict[str, Path]
    whole: bool = True
    needed: bool = False


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


def find_previous(home: Home, inputs: GenerationInputs) -> Previous | None:
    """Return the generation that the recipe follows, else the one merged last if its recipe was the same.

    None when the latter is not all there; then everything is merged.

    Raises:
        StoreError: the generation that is followed is damaged.
    """
    recipe = inputs.recipe
    if recipe is not None and recipe.follows is not None:
        followed = Generation(home, recipe.follows)
        made_by = followed.inputs().recipe
        whole = made_by is not None and recipe.differences(made_by) <= {"summaries", "follows"}
        return _previous(followed)._replace(whole=whole, needed=True)
    try:
        last = newest(home)
        previous = _previous(last) if last.inputs().fingerprint == inputs.fingerprint else None
    except StoreError:
        return None
    files = [*previous.tables.values(), *(path for one in previous.inputs for path in one.paths)] if previous else []
    return previous if all(path.exists() for path in files) else None


def _previous(generation: Generation) -> Previous:
    tables = {table: generation.path(f"{table}.parquet") for table in MERGED_TABLES}
    return Previous(merge_inputs(generation.home, generation.inputs()), tables)
