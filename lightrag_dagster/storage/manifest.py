"""What a generation is made of: written once beside it, read by everyone who opens it."""

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import EmbeddingSettings, MergingSettings, Provider


class Record(BaseModel):
    """A frozen JSON record."""

    model_config = ConfigDict(frozen=True, extra="forbid")


R = TypeVar("R", bound=Record)

VECTOR_TABLES = ("chunk_vectors", "entity_vectors", "relation_vectors")
"""The vector tables of every generation."""


def read_record(path: Path, kind: type[R]) -> R | None:
    """Read a record, or None when the file does not exist.

    Raises:
        StoreError: the file is damaged.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path} cannot be read; delete it and run `lightrag-dagster run`") from error


class Pointer(Record):
    """`CURRENT`, `HELD` and `NEWEST`: the generation that they point to."""

    id: str
    replaced: dict[str, str] = Field(
        default={}, description="In `CURRENT`: snapshot → when another replaced it; UTC, ISO 8601"
    )


class Embedder(Record):
    """An embedding model: all that must be known to open it again, and the identity that it had."""

    provider: Provider
    model: str
    dimensions: int
    max_input_tokens: int = Field(default=8191, description="Where texts are cut")
    identity: str

    def settings(self, now: EmbeddingSettings) -> EmbeddingSettings:
        """Return settings that open this embedder, called as `now` says."""
        return now.model_copy(update=self.model_dump(include=_CHOOSING_AN_EMBEDDER))


_CHOOSING_AN_EMBEDDER = {"provider", "model", "dimensions", "max_input_tokens"}


class Recipe(Record):
    """How a generation is made of what it reads."""

    code: str = Field(description="Of the merge and of everything after it")
    extractions: str = Field(description="Fingerprint of extraction: decides which of a chunk's extractions counts")
    summaries: str = Field(description="Of the prompt and the model of summaries that were made for it")
    merging: MergingSettings
    encoding: str = Field(description="Counts the tokens of descriptions")
    embedder: Embedder
    follows: str | None = Field(
        default=None, description="Generation whose descriptions, made otherwise, stand wherever nothing was added"
    )

    @property
    def fingerprint(self) -> str:
        """A hash of it all."""
        return digest(self._compared())

    def differences(self, other: "Recipe") -> set[str]:
        """Return the fields that differ."""
        theirs = other._compared()
        return {name for name, value in self._compared().items() if theirs[name] != value}

    def _compared(self) -> dict[str, Any]:
        """Return what counts: of the embedder its identity alone, since not every provider heeds every setting."""
        return self.model_dump(mode="json") | {"embedder": self.embedder.identity}


class GenerationInputs(Record):
    """What the merge read, and how: `generation.json`. The generation id is a hash of this."""

    sources: dict[str, dict[str, str]] = Field(description="source → table → accepted version")
    left_out: dict[str, str] = Field(description="source → why it has no accepted version yet")
    fingerprint: str = Field(description="Hash of the recipe")
    recipe: Recipe | None = Field(default=None, description="None in generations of older versions of this package")


SearchKind = Literal["flat", "partitioned", "exhaustive"]
"""How a vector table is searched: without an index, through half of an index, or through all of it."""


class VectorTable(Record):
    """One LanceDB table, pinned."""

    table: str
    tag: str
    rows: int
    dimensions: int
    upserted: int = Field(description="Rows written for this generation")
    deleted: int = Field(description="Rows deleted for this generation")
    search: SearchKind | None = Field(default=None, description="None in manifests of older versions")


class Vectors(Embedder):
    """`vectors.json`: the vector tables of a generation and the embedder that made them."""

    tables: dict[str, VectorTable] = Field(description="One of VECTOR_TABLES → its LanceDB table")


class Graph(Record):
    """`graph.json`: row counts of the Kùzu database."""

    documents: int
    chunks: int
    entities: int
    relations: int


class Manifest(Record):
    """`manifest.json`: a published snapshot."""

    snapshot_id: str
    sequence: int = Field(description="1 for the first snapshot of a home, and so on")
    published_at: str = Field(description="UTC, ISO 8601")
    inputs: GenerationInputs
    rows: dict[str, int] = Field(description="table → rows, per-source tables added up")
    vectors: Vectors
    graph: Graph
