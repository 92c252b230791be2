"""The rules and input files of a merge, and the files of the merge before it."""

from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.settings.sections import MergingSettings, TermsMode

Paths = tuple[Path, ...]


class MergeInput(NamedTuple):
    """The accepted Parquet files of one source. A file never changes: another version has others."""

    source: str
    chunks: Paths
    extractions: Paths
    entity_mentions: Paths
    relation_mentions: Paths
    readings: Paths = ()
    facts: Paths = ()

    @property
    def paths(self) -> Paths:
        """All files."""
        return tuple(path for paths in self[1:] for path in paths)


class Previous(NamedTuple):
    """Merged rows, whose summaries are kept where the descriptions are the same: all, or those of one recipe.

    With `evidence`, all but sources is as it was then, so rows of the same evidence are kept whole.
    """

    entities: Path
    relations: Path
    recipe: str | None = None
    evidence: "KeptEvidence | None" = None


class KeptEvidence(NamedTuple):
    """The evidence of an earlier merge; files of chunks that only it read (`gone`), or only this one (`come`)."""

    entity_evidence: Path
    relation_evidence: Path
    gone: Paths
    come: Paths


class Rules(NamedTuple):
    """Thresholds and limits, the embedder, and the phrases that become entities."""

    settings: MergingSettings
    embedder: str
    """Its identity, a part of every embedding key."""
    terms: TermsMode = "off"
    """`on`, or `auto` where names are few."""
