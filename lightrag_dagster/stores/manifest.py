"""What a generation is made of: written once beside it, read by everyone who opens it."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lightrag_dagster.errors import StoreError


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
    """`CURRENT` and `NEWEST`: the generation meant."""

    id: str


class GenerationInputs(Record):
    """What the merge read: `generation.json`. The generation id is a hash of this."""

    sources: dict[str, dict[str, str]] = Field(description="source → table → accepted version")
    left_out: dict[str, str] = Field(description="source → why it has no accepted version yet")
    fingerprint: str = Field(description="Code and settings of the merge and of everything after it")


class VectorTable(Record):
    """One LanceDB table, pinned."""

    table: str
    tag: str
    rows: int
    dimensions: int
    upserted: int = Field(description="Rows written for this generation")
    deleted: int = Field(description="Rows deleted for this generation")


class Vectors(Record):
    """`vectors.json`: the vector tables of a generation and the embedder that made them."""

    provider: str
    model: str
    dimensions: int
    identity: str
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
