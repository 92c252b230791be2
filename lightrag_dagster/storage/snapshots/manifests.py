"""Records of a generation and of a snapshot, written once beside them and read by everything that opens them."""

import hashlib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings import EmbeddingProvider, EmbeddingSettings, MergingSettings, TermsMode
from lightrag_dagster.storage.records import Record

MADE_AGAIN = "`lightrag-dagster run` makes that of the current snapshot again; delete that of an older one"
"""The next step where a record in the folder of a generation is damaged."""

VECTOR_TABLES = ("chunk_vectors", "entity_vectors", "relation_vectors")
"""The vector tables of every generation."""


class PinnedEmbedder(Record):
    """An embedding model: its settings, so that it can be opened again, and its identity."""

    provider: EmbeddingProvider
    model: str
    dimensions: int
    max_input_tokens: int = Field(default=8191, description="The length at which texts are cut")
    identity: str

    def settings(self, now: EmbeddingSettings) -> EmbeddingSettings:
        """Return settings that open this embedder, with limits and prices of `now`."""
        return now.model_copy(update=self.model_dump(include=_CHOOSING_AN_EMBEDDER))


_CHOOSING_AN_EMBEDDER = {"provider", "model", "dimensions", "max_input_tokens"}


class GenerationInputs(Record):
    """The inputs of a merge, and the code, settings and embedder by which it and everything after it is made."""

    sources: dict[str, dict[str, str]] = Field(description="source → table → accepted version")
    left_out: dict[str, str] = Field(description="source → why it has no accepted version yet")
    code: str = Field(description="Hash of the code of the merge and of everything after it")
    merging: MergingSettings
    encoding: str = Field(description="Counts the tokens of descriptions")
    embedder: PinnedEmbedder
    decisions: str = Field(default="", description="Hash of the decisions that shape it; empty without any")
    terms: TermsMode = Field(default="auto", description="The setting by which phrases become entities")

    @property
    def hash(self) -> str:
        """A hash of it all."""
        decisions = [self.decisions] if self.decisions else []
        return digest(self.sources, self.left_out, self.code_version, *decisions)

    @property
    def code_version(self) -> str:
        """A hash of code, settings and embedder: the inputs without the sources."""
        rules = self.merging.model_dump(mode="json")
        # Of the embedder its identity counts, since not every provider uses every setting.
        terms = [self.terms] if self.terms != "auto" else []
        return digest(self.code, rules, self.encoding, self.embedder.identity, *terms)

    def makes_rows_of(self, other: "GenerationInputs") -> bool:
        """Return whether a merge has the rows of another: they differ at most in sources that are left out."""
        return self.model_copy(update={"left_out": other.left_out}) == other

    @model_validator(mode="before")
    @classmethod
    def _of_older_versions(cls, record: Any) -> Any:
        """Accept a recipe for the whole generation, and a language in `merging`, as older versions wrote them."""
        if not isinstance(record, dict):
            return record
        if recipe := record.get("recipe"):
            sources = {name: record[name] for name in ("sources", "left_out")}
            record = sources | {name: recipe[name] for name in ("code", "merging", "encoding", "embedder")}
        if isinstance(merging := record.get("merging"), dict):
            record = record | {"merging": {name: value for name, value in merging.items() if name != "language"}}
        return record


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

    @model_validator(mode="before")
    @classmethod
    def _of_older_versions(cls, record: Any) -> Any:
        """Accept the record of a version of this package that stored the inputs alone."""
        return record if not isinstance(record, dict) or "inputs" in record else {"inputs": record, "tables": {}}


SearchKind = Literal["flat", "partitioned", "exhaustive"]
"""The search of a vector table: without an index, or through all of one (`partitioned` in older versions)."""


class VectorTable(Record):
    """One LanceDB table, pinned."""

    table: str
    tag: str
    rows: int
    dimensions: int
    upserted: int = Field(description="Rows written for this generation")
    deleted: int = Field(description="Rows deleted for this generation")
    search: SearchKind | None = Field(default=None, description="None in manifests of older versions")


class Vectors(PinnedEmbedder):
    """`vectors.json`: the vector tables of a generation and the embedder that made them."""

    mended_by = MADE_AGAIN

    tables: dict[str, VectorTable] = Field(description="One of VECTOR_TABLES → its LanceDB table")


class FileSum(Record):
    """Size in bytes and SHA-256 of a file; of LanceDB files that were written in a bucket, the size alone."""

    size: int
    sha256: str | None

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return those of a file on disk."""
        with path.open("rb") as file:
            return cls(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


class Graph(Record):
    """Row counts of the Kùzu database."""

    documents: int
    chunks: int
    entities: int
    relations: int


class BuiltGraph(Graph):
    """`graph.json`: it is written when the Kùzu database is in place, which may be after publication."""

    mended_by = MADE_AGAIN

    file: FileSum | None = Field(default=None, description="None in records of older versions")

    @property
    def counts(self) -> Graph:
        """The row counts alone."""
        return Graph.model_validate(self.model_dump(exclude={"file"}))


class BuiltViews(Record):
    """`views.json`: where and for which tables the file of views was made; it names absolute paths."""

    folder: str
    tables: str = Field(description="Hash of the views, their columns and their comments")
    file: FileSum


class Manifest(Record):
    """`manifest.json`: a published snapshot."""

    mended_by = MADE_AGAIN

    snapshot_id: str
    sequence: int = Field(description="1 for the first snapshot of a home, and so on")
    published_at: str = Field(description="UTC, ISO 8601")
    inputs: GenerationInputs
    rows: dict[str, int] = Field(description="table → rows, per-source tables added up")
    vectors: Vectors
    graph: Graph | None = Field(description="None when it is built after publication; `graph.json` says when it is")
