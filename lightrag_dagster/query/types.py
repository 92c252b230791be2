"""What a question returns: plain frozen data, best first, ready for JSON by `to_dict`."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Keywords:
    """What a question is about: themes find relations, specifics find entities."""

    high_level: tuple[str, ...] = ()
    low_level: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entity:
    """An entity; `score` is its cosine similarity to the low-level keywords, None when the graph led to it.

    In mode `ppr` it is compared with the question.
    """

    entity_id: str
    name: str
    type: str
    description: str
    degree: int
    score: float | None


@dataclass(frozen=True)
class Relation:
    """A relation; `score` is its cosine similarity to the high-level keywords, None when the graph led to it.

    In mode `ppr` it is compared with the question.
    """

    relation_id: str
    src_id: str
    tgt_id: str
    src: str
    tgt: str
    keywords: str
    description: str
    weight: float
    rank: int
    score: float | None


@dataclass(frozen=True)
class Citation:
    """One place a chunk stands at: `content == document[char_start:char_end]`.

    `page` is where pages exist, `heading` the path of headings in force where the chunk starts.
    """

    source: str
    path: str
    doc_id: str
    chunk_index: int
    page: int | None
    char_start: int
    char_end: int
    heading: str | None = None


@dataclass(frozen=True)
class Chunk:
    """A chunk and every place it stands at, in canonical order.

    `score` is its cosine similarity to the question, None where no vector was compared, and in mode `ppr` the share of
    the walk that comes by; `rerank_score` is what a reranker gave it; `tokens` its length; `doc_id`, `source`, `path`
    are those of the first citation, and `reference_id` is that document's in the references. `content` is the exact
    quote at every place.
    """

    chunk_id: str
    content: str
    tokens: int
    score: float | None
    citations: tuple[Citation, ...]
    doc_id: str
    source: str
    path: str
    reference_id: str = ""
    rerank_score: float | None = None


@dataclass(frozen=True)
class Reference:
    """A document the chunks come from, numbered from "1", the one with most chunks first."""

    reference_id: str
    source: str
    path: str

    @property
    def file(self) -> str:
        """The document as people read it: source/path."""
        return f"{self.source}/{self.path}"


@dataclass(frozen=True)
class Step:
    """One step of a question: how long it took, and what it found, kept and cut."""

    name: str
    milliseconds: float
    notes: dict[str, Any]


@dataclass(frozen=True)
class Retrieval:
    """What was found for a question, before any answer; the model sees exactly this.

    `steps` tell how it was found; two retrievals that differ in nothing else are equal.
    """

    query: str
    mode: str
    snapshot_id: str
    keywords: Keywords
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    references: tuple[Reference, ...] = ()
    steps: tuple[Step, ...] = field(default=(), compare=False)

    def passages(self, reference: Reference) -> tuple[Chunk, ...]:
        """Return the chunks behind a reference, best first: the exact quotes, and where they stand."""
        return tuple(chunk for chunk in self.chunks if chunk.reference_id == reference.reference_id)

    @property
    def empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.entities or self.relations or self.chunks)

    def to_dict(self) -> dict[str, Any]:
        """Return it as dictionaries that `json.dumps` takes."""
        return asdict(self)


@dataclass(frozen=True)
class Answer:
    """An answer, the documents behind it and what was retrieved for it.

    `references` are all that the model was given, `cited` those that the answer cites. `invented` is the number of
    references that the model made up; they are not in `text` any more.
    """

    text: str
    references: tuple[Reference, ...]
    retrieval: Retrieval
    snapshot_id: str
    cited: tuple[Reference, ...] = ()
    invented: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as dictionaries that `json.dumps` takes."""
        return asdict(self)
