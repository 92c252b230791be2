"""Records of a generation and of a snapshot, written once beside them and read by everything that opens them."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings.models import EmbeddingProvider, EmbeddingSettings
from lightrag_dagster.settings.sections import MergingSettings, TermsMode
from lightrag_dagster.storage.records import Pointer, Record, SummedRecord

MADE_AGAIN = "`lightrag-dagster run` makes that of the published snapshot again; delete that of an older one"
"""The next step where a record in the folder of a generation is damaged."""

VECTOR_TABLES = ("chunk_vectors", "entity_vectors", "relation_vectors")


class EmbedderRecord(Record):
    """An embedding model: its settings, so that it can be opened again, and its identity."""

    provider: EmbeddingProvider
    model: str
    dimensions: int
    max_input_tokens: int = Field(default=8191, description="The length at which texts are cut")
    identity: str

    @classmethod
    def of(cls, settings: EmbeddingSettings, identity: str) -> Self:
        """Return that of some settings."""
        return cls(identity=identity, **settings.model_dump(include=_CHOOSING_AN_EMBEDDER))

    def settings(self, now: EmbeddingSettings) -> EmbeddingSettings:
        """Return settings that open this embedder, with the place, limits and prices of `now`."""
        chosen = self.model_dump(include=_CHOOSING_AN_EMBEDDER)
        if {self.provider, now.provider}.isdisjoint(("offline", "local")):
            del chosen["provider"]  # who signs is of the place
        return now.model_copy(update=chosen)


_CHOOSING_AN_EMBEDDER = {"provider", "model", "dimensions", "max_input_tokens"}


class GenerationInputs(Record):
    """The inputs of a merge, and what shapes it and everything after it."""

    sources: dict[str, dict[str, str]] = Field(description="source → table → accepted version")
    revisions: str = Field(description="Hash of the revisions of the merge and of everything after it")
    merging: MergingSettings
    encoding: str = Field(description="Counts the tokens of descriptions")
    embedder: EmbedderRecord
    decisions: str = Field(default="", description="Hash of the decisions that shape it; empty without any")
    terms: TermsMode = Field(default="auto", description="The setting by which phrases become entities")

    @property
    def hash(self) -> str:
        """A hash of it all."""
        return digest(self.sources, self.recipe, *([self.decisions] if self.decisions else []))

    @property
    def recipe(self) -> str:
        """The recipe of all that is built: revisions, settings and embedder, without the sources."""
        rules = self.merging.model_dump(mode="json")
        # Of the embedder its identity counts, since not every provider uses every setting.
        terms = [self.terms] if self.terms != "auto" else []
        return digest(self.revisions, rules, self.encoding, self.embedder.identity, *terms)


class WrittenRecord(Record):
    """A name, type or description that a person wrote, of an entity or relation."""

    id: str
    column: str
    text: str
    sources: list[str] = Field(default=[], description="Sources that it is taken from, as the decision names them")


class CurationRecord(Record):
    """The effect of decisions and of the settings of types on a merge."""

    written: list[WrittenRecord] = Field(default=[])
    unmatched: list[str] = Field(default=[], description="Names in decisions that no document has")
    removed: list[str] = Field(default=[], description="Ids of names in documents whose entity is removed")
    idle: list[str] = Field(
        default=[], description="Splits, and relations in decisions, that nothing in documents fits"
    )
    last_taken: int = Field(default=0, description="Highest number of the decisions in force of the table")
    undecided: int = Field(default=0, description="Mentions that fit several splits of their name, which they keep")
    mapped: int = Field(default=0, description="Mentions with a type that is mapped to another")
    disallowed: int = Field(default=0, description="Mentions whose type is not allowed")


class GenerationRecord(Record):
    """`generation.json`: what a merge read and made. The generation id is a hash of inputs and tables."""

    mended_by = MADE_AGAIN

    inputs: GenerationInputs
    tables: dict[str, str] = Field(description="merged table → hash of its rows")
    summaries: dict[str, int] = Field(default={}, description="recipe → rows with a summary made by it")
    failed_summaries: int = Field(default=0, description="Rows whose descriptions are joined because a summary failed")
    curation: CurationRecord = CurationRecord()


SearchKind = Literal["flat", "exhaustive"]
"""The search of a vector table: without an index, or through all of one."""


class VectorTable(Record):
    """One LanceDB table, at the version of a tag."""

    table: str
    tag: str
    rows: int
    dimensions: int
    characters: int = Field(default=0, description="Characters of the texts of all rows")
    cut: int = Field(default=0, description="Rows whose text is longer than the embedder reads")
    unread: int = Field(default=0, description="Characters of these texts that are in no vector")
    upserted: int = Field(description="Rows written for this generation")
    deleted: int = Field(description="Rows deleted for this generation")
    refused: dict[str, str] = Field(
        default={}, description="Rows of which the embedder refuses the text: the vector is zero; id → first words"
    )
    search: SearchKind | None = Field(default=None, description="None until it is tagged")

    @property
    def unread_share(self) -> float:
        """The share of the characters that are in no vector."""
        return self.unread / max(1, self.characters)


class Vectors(EmbedderRecord):
    """`vectors.json`: the vector tables of a generation and the embedder that made them."""

    mended_by = MADE_AGAIN

    tables: dict[str, VectorTable] = Field(description="One of VECTOR_TABLES → its LanceDB table")
    reads: int | None = Field(default=None, description="Tokens of a text that the embedder reads; None if all")


class FileSum(Record):
    """Size in bytes and SHA-256 of a file; of LanceDB files that were written in a bucket, the size alone."""

    size: int
    sha256: str | None

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return those of a file on disk."""
        with path.open("rb") as file:
            return cls(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


class BuiltGraph(Record):
    """`graph.json`: it is written when the Kùzu database is in place, which may be after publication."""

    mended_by = MADE_AGAIN

    file: FileSum


class BuiltViews(Record):
    """`views.json`: where and for which tables the file of views was made; it names absolute paths."""

    folder: str
    tables: str = Field(description="Hash of the views, their columns and their comments")
    file: FileSum


class Changed(Record):
    """Numbers of rows of a kind that differ between two snapshots, and of all rows of the earlier one."""

    added: int
    removed: int
    changed: int
    before: int

    def __str__(self) -> str:
        """Return the numbers in words."""
        return f"{self.added:,} added, {self.removed:,} removed, {self.changed:,} changed of {self.before:,}"


class Gates(Record):
    """The results of the gates before publication: the difference from the snapshot that was published, and faults."""

    difference: dict[str, Changed] = Field(default={}, description="Documents and entities, if a gate asks")
    faults: list[str] = Field(default=[], description="Reasons for which the snapshot waits for release")
    warnings: list[str] = Field(default=[], description="Other lines of checks")

    def __str__(self) -> str:
        """Return the faults, and the difference, in words."""
        return "; ".join([*self.faults, *(f"{rows}: {counts}" for rows, counts in self.difference.items())])


class Manifest(SummedRecord):
    """`manifest.json`: a published snapshot."""

    mended_by = MADE_AGAIN

    snapshot_id: str
    sequence: int = Field(description="1 for the first snapshot of a home, and so on")
    published_at: str = Field(description="UTC, ISO 8601")
    inputs: GenerationInputs
    rows: dict[str, int] = Field(description="table → rows, per-source tables added up")
    vectors: Vectors
    gates: Gates = Gates()


class PublishedFiles(SummedRecord):
    """`files.json`: path below the home → facts."""

    mended_by = MADE_AGAIN

    files: dict[str, FileSum] = Field(
        description="Every file that the snapshot reads, except this one, the graph and the views"
    )


class Pins(Record):
    """`pins.json`: names of pinned snapshots."""

    mended_by = "delete it, and give the snapshots their names again"

    names: dict[str, str] = Field(default={}, description="name → snapshot")


class Hold(Pointer):
    """`HELD`: the snapshot that a person or a gate holds."""

    mended_by = "delete it; then no rollback holds a snapshot, and the next run publishes"

    by_gate: bool = Field(default=False, description="The next snapshot without a fault is published")


class Export(Record):
    """An export of one format."""

    rows: dict[str, int] = Field(description="File → rows")
    bytes: int
    notes: list[str] = Field(description="Losses of the format")
    recipe: str = Field(default="", description="Revision of the code that wrote it")
    figures: dict[str, int] = Field(default_factory=dict, description="Numbers of what it shows")
    compared_with: str | None = Field(default=None, description="Another snapshot of which it shows something")


class Exports(Record):
    """`exports.json`: the exports of the snapshot that was exported last."""

    mended_by = "delete it and run `lightrag-dagster export` again"

    snapshot_id: str
    formats: Mapping[str, Export] = Field(description="Format → its export, in exports/<snapshot_id>/<format>")
