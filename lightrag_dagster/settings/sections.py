"""The sections of the settings, each with its values, defaults and bounds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.names import normalise_type

EngineName = Literal["local", "processes", "ray"]
ExecutorName = Literal["in_process", "multiprocess", "kubernetes"]
AnswerFormat = Literal["rows", "json_object", "json_schema"]
Share = Annotated[float, Field(ge=0, le=1)]
_UNSET_IF_EMPTY = BeforeValidator(lambda path: path or None)
_EXPANDED = AfterValidator(lambda one: Path.home() / one.relative_to("~") if one and one.parts[:1] == ("~",) else one)
OptionalPath = Annotated[Path | None, _UNSET_IF_EMPTY, _EXPANDED]
"""A path, which is unset if it is empty: an empty one would be the working folder."""

GivenPath = Annotated[Path, _UNSET_IF_EMPTY, _EXPANDED]
"""A path that is refused if it is empty."""


def _word_or_share(value: object, check: ValidatorFunctionWrapHandler) -> object:
    try:
        return check("" if isinstance(value, bool) else value)
    except ValidationError:
        raise ValueError("it is automatic, manual or a share such as 0.2") from None


ScopeCondition = Literal["sources", "paths", "tags", "access"]
ScopeName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Values = Annotated[tuple[Annotated[str, AfterValidator(composed)], ...], Field(min_length=1)]
ScopeRule = Annotated[dict[ScopeCondition, Values], Field(min_length=1)]
"""Conditions on documents, all of which hold for those that a scope shows; each has one of its values."""

Publication = Annotated[Literal["automatic", "manual"] | Share, WrapValidator(_word_or_share)]


class Section(BaseModel):
    """A group of settings; an unknown name is an error rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _is_what_it_says(cls, given: object, check: ValidatorFunctionWrapHandler) -> object:
        found = check(given)
        if isinstance(given, bool) and type(found) in (int, float):
            raise ValueError("it is a number, not true or false")
        if isinstance(given, Mapping) and isinstance(found, Mapping) and len(found) < len(given):
            twice = ", ".join(name for name in given if name not in found)
            raise ValueError(f"{twice} is the name of another entry in other letters; write each name once")
        return found


class DocumentSettings(Section):
    """The reading of sources."""

    max_bytes: int = Field(default=20_000_000, gt=0, description="A larger file becomes a failed row. Bytes.")
    max_seconds: float = Field(
        default=60.0,
        gt=0,
        description="A file whose parser takes longer becomes a failed row; plain text has no parser. Each page whose "
        "text is recognised adds as much time. Seconds.",
    )
    max_memory_mb: int = Field(
        default=2048,
        ge=512,
        description="A file whose parser needs more memory becomes a failed row; on Linux. Megabytes.",
    )
    recognise_text: bool = Field(
        default=False,
        description="Recognise the text in images: of scanned pages in PDFs, and of image files, which are skipped "
        "otherwise. With the extra `ocr`; about four seconds a page.",
    )
    describe_figures: bool = Field(
        default=False,
        description="Ask the language model, in its role `describe`, what the images in documents show, and image "
        "files, which are skipped otherwise. It must be one that sees images.",
    )
    pdf_reader: Literal["pdfium", "docling"] = Field(
        default="pdfium", description="docling finds layout and tables with models, slowly; with the extra `docling`."
    )
    keep_repeated_lines: bool = Field(
        default=False,
        description="Keep the headers and footers of PDF pages: lines that repeat at the same place on most pages.",
    )
    max_deleted_share: Share = Field(
        default=0.2,
        description="A source that lost more than this share of its documents at once needs accept_deletes.",
    )
    accept_deletes: bool | tuple[Annotated[str, AfterValidator(composed)], ...] = Field(
        default=False,
        description="Accept any number of deleted and emptied documents, and sources that are gone: of all sources, or "
        "of a list of them.",
    )
    max_failed_share: Share = Field(
        default=0.2,
        description="A source with a larger share of failed documents or chunks keeps its last accepted version.",
    )

    @field_validator("accept_deletes", mode="wrap")
    @classmethod
    def _true_or_listed(cls, value: object, check: ValidatorFunctionWrapHandler) -> object:
        try:
            return check(value)
        except ValidationError:
            raise ValueError("it is true, false or a list of sources") from None

    def accepts_deletes_of(self, source: str) -> bool:
        """Return whether a source may lose any number of documents, or be gone."""
        return self.accept_deletes if isinstance(self.accept_deletes, bool) else composed(source) in self.accept_deletes

    @property
    def reads_images(self) -> bool:
        """True if image files are read: their text is recognised, or a model describes them."""
        return self.recognise_text or self.describe_figures


ExtractionMethod = Literal["llm", "mentions", "co_mentions"]
ExtractionProfile = Literal["standard", "small"]
TermsMode = Literal["auto", "on", "off"]


class ExtractionSettings(Section):
    """The search for entities and relations in each chunk, and the requests to the model for it."""

    method: ExtractionMethod = Field(
        default="llm",
        description="llm: the language model is asked. mentions: rules find names, which become entities with links to "
        "their chunks; no model is asked, and there are no relations. co_mentions: those of one sentence are related.",
    )
    methods: dict[Annotated[str, AfterValidator(composed)], ExtractionMethod] = Field(
        default={}, description="Exceptions to `method`, by source."
    )
    names_model: str | None = Field(
        default=None,
        description="A source of names besides the rules: a table of known names (CSV, JSON Lines, Parquet), or "
        "with the extra `names` a spaCy pipeline, by its folder or the name of the package it was installed as.",
    )
    document_language: bool = Field(
        default=False,
        description="The language of its document, where that is known, counts for each chunk: a model writes "
        "descriptions and keywords in it, summaries in `language`, and rules know that a short text is German.",
    )
    terms: TermsMode = Field(
        default="auto",
        description="Phrases that several chunks share become entities of type `term`, found by counting and without a "
        "model. auto: where names leave more than a third of the chunks without an entity, unless each vector is paid.",
    )
    answer_format: AnswerFormat = Field(
        default="rows", description="rows, or JSON where a model keeps to it better: json_object, json_schema."
    )
    profile: ExtractionProfile = Field(
        default="standard",
        description="small: short instructions and few records a chunk, for models of less than about two billion "
        "parameters; by a JSON schema, unless `answer_format` is json_object.",
    )
    gleaning: int = Field(default=1, ge=0, description="Further rounds that ask for missed entities and relations.")
    max_rejected_share: Share = Field(
        default=0.1,
        description="A source keeps its last accepted version if a larger share of the rows in the model's answers "
        "cannot be used, of all answers and of those that came since.",
    )

    def method_of(self, source: str) -> ExtractionMethod:
        """Return the method for a source."""
        return self.methods.get(composed(source), self.method)


def _as_read(written: str) -> str:
    """Return a type as it is read in an answer, where `Medical Device` is `medicaldevice`."""
    if not (kind := normalise_type(written)):
        raise ValueError(f"{written!r} cannot be a type; write a word, such as person")
    return kind


TypeName = Annotated[str, AfterValidator(_as_read)]


class TypeSettings(Section):
    """The types of entities, applied to those that a model or rules gave; changing them asks no model again."""

    allowed: tuple[TypeName, ...] = Field(
        default=(), description="The types that an entity may have; any other becomes `other`. Empty: all."
    )
    map: dict[TypeName, TypeName] = Field(
        default={}, description="Types that stand for another, like `company: organization`."
    )


class MergingSettings(Section):
    """The lists in the row of an entity or relation, and the thresholds for a summary of its descriptions.

    Counts, sources, votes, weights and the graph are of all mentions, and the evidence tables hold them all.
    """

    max_chunks: int = Field(
        default=200,
        gt=0,
        description="Chunks and documents that a row lists, in turn over sources; descriptions, keywords are theirs.",
    )
    chunk_limit_method: Literal["KEEP", "FIFO"] = Field(
        default="KEEP",
        description="If there are more, each source gives its first (KEEP) or its last (FIFO) by path and place.",
    )

    types: TypeSettings = TypeSettings()
    summary_min_descriptions: int = Field(default=8, gt=1, description="Summarise from this number of distinct ones.")
    summary_min_tokens: int = Field(default=1200, gt=0, description="Summarise from this number of tokens in all.")
    summary_max_tokens: int = Field(default=600, gt=0, description="Length asked of a summary. Tokens.")
    summary_context_tokens: int = Field(default=12_000, gt=0, description="Descriptions in one call. Tokens.")


class QuerySettings(Section):
    """Defaults of a question; each but `max_retries` can be given per call."""

    mode: str = Field(default="fusion", description="Retrieval mode; `lightrag-dagster query --help` lists the modes.")
    top_k: int = Field(default=40, gt=0, description="Entities, and relations, found by vector search.")
    chunk_top_k: int = Field(default=20, gt=0, description="Chunks in the context.")
    cosine_threshold: float = Field(
        default=0.2, ge=-1, le=1, allow_inf_nan=False, description="Less similar hits are dropped."
    )
    max_entity_tokens: int = Field(default=6000, gt=0, description="Entities in the context. Tokens.")
    max_relation_tokens: int = Field(default=8000, gt=0, description="Relations in the context. Tokens.")
    max_total_tokens: int = Field(default=30_000, gt=0, description="The whole prompt, without history. Tokens.")
    related_chunk_number: int = Field(default=5, gt=0, description="Chunks considered for each entity or relation.")
    related_chunk_method: Literal["VECTOR", "WEIGHT"] = Field(
        default="VECTOR",
        description="Choose them by similarity to the question, or by the rank of their entity or relation.",
    )
    response_type: str = Field(default="Multiple Paragraphs", description="Form and length asked of an answer.")
    rerank: bool = Field(default=True, description="Rerank chunks, where a reranker is configured.")
    min_rerank_score: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="Chunks that the reranker scores lower are dropped; none, unless set: its scores may be logits, "
        "which are below 0 for good chunks too.",
    )
    filter_relations: bool = Field(
        default=False,
        description="In modes `fusion` and `ppr`, ask the language model, in its role `relevance`, which of the "
        "20 relations nearest to the question help to answer it; the walk starts at these. One call a search.",
    )
    hops: int = Field(
        default=0,
        ge=0,
        le=10,
        description="After the first search, ask the language model, in its role `hops`, what to look up next, and "
        "search for that too, until it says that nothing is missing, at most this number of times; 0: never. One call, "
        "and one search, a hop.",
    )
    max_retries: int = Field(
        default=2,
        ge=0,
        description="Further attempts of a question's call after a transient failure; `llm.max_retries`, if less.",
    )
    prefer: Literal["best", "newest"] = Field(
        default="best",
        description="Order of the chunks found: best first, or those of the newest documents first, undated ones last; "
        "what does not fit into the context is cut from the end.",
    )


class RetentionSettings(Section):
    """Snapshots and runs that `gc` keeps, and when it runs."""

    runs_days: ClassVar[float] = 14
    """Time a run stays in the history of the home's own Dagster instance, if a later one made its partition."""

    snapshots: int = Field(default=2, gt=0, description="Number of the newest snapshots that are kept.")
    grace_days: float = Field(
        default=3,
        ge=0,
        le=36_500,
        description="Time a snapshot is kept after another replaced it. In a bucket, longer than any reader keeps one "
        "open; on a disk an open one stays anyway.",
    )
    automatic: bool = Field(
        default=True, description="Run `gc` after every publication, and prune the history of runs once a day."
    )


class GoldSettings(Section):
    """Rows that people say some passages state, beside which extraction is measured."""

    folder: OptionalPath = Field(
        default=None, description="A folder of gold files, `.csv`, `.tsv` or `.txt`, or one. See docs/evaluation.md."
    )
    least_f1: float | None = Field(
        default=None, gt=0, le=1, description="The check `extraction_is_good` warns when F1 of a kind of rows is lower."
    )
    gate: bool = Field(
        default=False,
        description="Every backfill is one with `--better-than-stored`: first the gold passages are made by the new "
        "recipe, and nothing more if that is worse.",
    )


class CacheSettings(Section):
    """The local copies of files of a home that is a bucket, and graph databases of older snapshots of any home."""

    folder: Path = Field(
        default=Path("~/.cache/lightrag-dagster"), description="Folder of all caches, on a local disk; one each home."
    )
    max_gb: float = Field(
        default=20.0,
        gt=0,
        description="Maximum size of the cache of one bucket, and of the graph databases of older snapshots of a home; "
        "the least recently used files are removed, never those used within an hour. Gigabytes.",
    )


DagsterPart = Literal[
    "communities",
    "duplicate_candidates",
    "graph_report",
    "published_graph",
    "source_partitions",
    "publish_accepted",
    "record_failures",
    "record_failed_checks",
    "nightly",
    "morning",
]


class DagsterSettings(Section):
    """The appearance of the assets in Dagster."""

    executor: ExecutorName = Field(
        default="in_process",
        description="Processes in which Dagster's daemon and UI run the steps of a job: the run's, one after the other "
        "(`in_process`), or each in a process (`multiprocess`) or a pod (`kubernetes`, with the extra `deploy`) of "
        "its own. The command line always takes its own process.",
    )
    fresh_hours: float | None = Field(
        default=None,
        ge=1 / 60,
        le=100_000,
        description="`raw_documents` and `knowledge_base` are overdue when nothing new arrived for longer, at least a "
        "minute; unset, they never are. Hours.",
    )

    without: tuple[DagsterPart, ...] = Field(
        default=(),
        description="Assets, sensors and schedules that are left out, for a project that wants few of them. With "
        "`published_graph`, no graph database is built, so that `cypher` soon has none to ask.",
    )
