"""Results of a question: plain frozen data, best first, ready for JSON by `to_dict`."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from lightrag_dagster.query.answer_text import answer_markdown

_SHOWN = 60
"""Maximum characters of a text in the `repr` of a result."""


class Brief:
    """A dataclass that shows itself on one line: texts are shortened, collections counted, empty fields left out."""

    def __repr__(self) -> str:
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        shown = (f"{name}={_brief(value)}" for name, value in values.items() if value not in (None, "", (), {}))
        return f"{type(self).__name__}({', '.join(shown)})"


class Told(Brief):
    """A result as dictionaries."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as dictionaries that `json.dumps` takes."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


def _brief(value: object) -> str:
    if isinstance(value, str) and len(value) > _SHOWN:
        return repr(f"{value[: _SHOWN - 1]}…")
    return f"<{len(value)}>" if isinstance(value, tuple | dict) else repr(value)


@dataclass(frozen=True)
class Keywords:
    """The subjects of a question: themes (high level) find relations, specifics (low level) find entities."""

    high_level: tuple[str, ...] = ()
    low_level: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Entity(Brief):
    """An entity; `score` is its cosine similarity to the low-level keywords, None when the graph led to it.

    In mode `ppr` it is compared with the question; in mode `fusion` the score is its share of the random walk.
    """

    entity_id: str
    name: str
    type: str
    description: str
    degree: int
    score: float | None


@dataclass(frozen=True, repr=False)
class Relation(Brief):
    """A relation; `score` is its cosine similarity to the high-level keywords, None when the graph led to it.

    In modes `fusion` and `ppr` it is compared with the question.
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
    """One place where a chunk occurs: `content == document[char_start:char_end]`.

    It begins on `page` and ends on `page_end`, if the format has pages. On `date` the document says it was written
    (ISO 8601). `heading` is the path of headings at the start of the chunk.
    """

    source: str
    path: str
    doc_id: str
    chunk_index: int
    page: int | None
    char_start: int
    char_end: int
    heading: str | None = None
    page_end: int | None = None
    date: str | None = None

    @property
    def pages(self) -> str:
        """The pages in words: `page 3` or `pages 3–4`; empty if the format has none."""
        if self.page is None:
            return ""
        last = self.page_end or self.page
        return f"page {self.page}" if last == self.page else f"pages {self.page}–{last}"


@dataclass(frozen=True, repr=False)
class Chunk(Brief):
    """A chunk and every place where it occurs, in canonical order.

    `score` is its cosine similarity to the question, None if no vector was compared; in mode `ppr` its share of the
    random walk, in mode `fusion` its share of the walk and of the direct scores, in mode `bm25` its BM25 score.
    `rerank_score` comes from the reranker, `tokens` is the length of `content`. `context` is text of the document that
    a model reads before it: headings above it, the header of its table. `doc_id`, `source` and `path` are those of the
    first citation, `reference_id` is that document's number in the references. `content` is the exact quote at every
    place.
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
    context: str | None = None

    @property
    def date(self) -> str | None:
        """The date of the newest document that has it."""
        return max((one.date for one in self.citations if one.date), default=None)


@dataclass(frozen=True, repr=False)
class FactCitation(Brief):
    """A place that states a fact: `words == document[char_start:char_end]`, but for white space; `date` is its date."""

    source: str
    path: str
    doc_id: str
    date: str | None
    chunk_id: str
    words: str
    char_start: int
    char_end: int


@dataclass(frozen=True, repr=False)
class Fact(Brief):
    """A fact: a subject, a relation, and an object or a value, with the days on which it holds.

    `value` is as written, `number` with `unit` or `value_date` what it says. Days are ISO 8601; one that is known to a
    `month` or `year` is its first. `valid_from` and `valid_to` are those that documents say, `when_words` how they do;
    `holds_from` and `holds_to` also end where the next fact takes its place, and are empty where that is open. `counts`
    is false for an undated fact beside dated ones, of which only one holds at a time: it holds on no day. `contradicts`
    are facts that cannot hold beside it, `citations` places that state it: the first ten of each, and the two
    `…_left_out` count the others.
    """

    fact_id: str
    subject_id: str
    subject: str
    subject_type: str
    relation: str
    object_id: str | None
    object: str | None
    object_type: str | None
    value: str | None
    value_kind: str | None
    number: float | None
    unit: str | None
    value_date: str | None
    when_words: str | None
    valid_from: str | None
    from_precision: str | None
    valid_to: str | None
    to_precision: str | None
    holds_from: str | None
    holds_to: str | None
    counts: bool
    contradicts: tuple[str, ...]
    contradicts_left_out: int
    citations: tuple[FactCitation, ...]
    citations_left_out: int
    reference_id: str = ""

    @property
    def since(self) -> str:
        """The first day, or its month or year if no more is known, such as `2024-03`; empty if it is open."""
        return _known_part(self.holds_from, self.from_precision)

    @property
    def until(self) -> str:
        """The last day, or its month or year if no more is known; empty if it is open."""
        return _known_part(self.holds_to, self.to_precision if self.valid_to else "day")


def _known_part(day: str | None, precision: str | None) -> str:
    return (day or "")[: {"year": 4, "month": 7}.get(precision or "", 10)]


@dataclass(frozen=True)
class Reference:
    """A document that chunks come from, numbered from "1"; the one with most chunks is first."""

    reference_id: str
    source: str
    path: str

    @property
    def file(self) -> str:
        """The document as people read it: source/path."""
        return f"{self.source}/{self.path}"


@dataclass(frozen=True, repr=False)
class Step(Brief):
    """One step of a question: its time, and the rows that it found, kept and cut."""

    name: str
    milliseconds: float
    notes: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Retrieval(Told):
    """Everything found for a question, before any answer; the model sees exactly this.

    `facts` are those about the entities, newest first, before them those that held on the day `as_of`, if one was
    given. `notes` name options without effect and values of filters that no document meets; `steps` explain the
    retrieval. Neither counts when two retrievals are compared.
    """

    query: str
    mode: str
    snapshot_id: str
    keywords: Keywords
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    facts: tuple[Fact, ...] = ()
    as_of: str | None = None
    chunks: tuple[Chunk, ...] = ()
    references: tuple[Reference, ...] = ()
    steps: tuple[Step, ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def passages(self, reference: Reference) -> tuple[Chunk, ...]:
        """Return the chunks of a referenced document, best first: the exact quotes and their places."""
        return tuple(chunk for chunk in self.chunks if chunk.reference_id == reference.reference_id)

    @property
    def empty(self) -> bool:
        """True when nothing was found."""
        return not (self.entities or self.relations or self.chunks)


@dataclass(frozen=True, repr=False)
class Answer(Told):
    """An answer, the documents behind it and the retrieval it is based on.

    `references` are all documents that the model was given, `cited` those that the answer cites. `invalid_citations`
    is the number of references that the model made up; they have been removed from `text`.
    """

    text: str
    references: tuple[Reference, ...]
    retrieval: Retrieval
    snapshot_id: str
    cited: tuple[Reference, ...] = ()
    invalid_citations: int = 0

    def _repr_markdown_(self) -> str:
        """Return the answer, the documents that it cites, else those that the model was given, and notes."""
        shown, title = (self.cited, "References") if self.cited else (self.references, "Documents")
        documents = ((one.reference_id, one.file) for one in shown)
        return answer_markdown(self.text, title, documents, self.retrieval.notes)
