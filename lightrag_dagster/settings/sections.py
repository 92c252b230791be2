"""The sections of the settings, each with its values, defaults and bounds."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_OUTPUT_TOKENS = 32_768
"""No answer is asked for with a higher limit because an earlier one was cut off."""

EngineName = Literal["local", "processes", "ray"]
ExecutorName = Literal["in_process", "multiprocess", "kubernetes"]
Provider = Literal["offline", "openai"]
EmbeddingProvider = Literal["offline", "openai", "local"]
AnswerFormat = Literal["rows", "json_object", "json_schema"]
Role = Literal["extract", "summarise", "keywords", "facts", "hops", "answer", "judge", "describe"]


class Section(BaseModel):
    """A group of settings; an unknown name is an error rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DocumentSettings(Section):
    """Reading sources."""

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
        default="pdfium",
        description="docling finds layout and tables with models, slowly; with the extra `docling`.",
    )
    max_deleted_share: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="A source that lost more than this share of its documents at once needs accept_deletes.",
    )
    accept_deletes: bool = Field(default=False, description="Accept any number of deletions.")
    similar: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Report documents of a source that share so much of their text with another, such as 0.8; unset, "
        "they are not looked for. Equal ones are always found.",
    )
    max_failed_share: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="A source with a larger share of failed documents or chunks keeps its last accepted version.",
    )


class PriceSettings(Section):
    """Price of one model. US dollars per million tokens."""

    input: float = Field(ge=0, description="Input tokens.")
    cached_input: float | None = Field(default=None, ge=0, description="Cached input tokens; as `input` where unset.")
    output: float = Field(default=0.0, ge=0, description="Output tokens.")


class EndpointSettings(Section):
    """How an endpoint is called, for language and embedding models alike."""

    max_concurrency: int = Field(default=16, gt=0, description="Requests in flight at once.")
    requests_per_minute: int | None = Field(default=None, gt=0, description="No more requests are sent in a minute.")
    tokens_per_minute: int | None = Field(
        default=None, gt=0, description="No more tokens are sent in a minute, taking 3 bytes of text for one."
    )
    timeout: float = Field(default=120.0, gt=0, description="Per request. Seconds.")
    max_retries: int = Field(default=8, ge=0, description="Further attempts after a transient failure.")
    prices: dict[str, PriceSettings] = Field(default={}, description="By model; wins over the published price.")


class BatchSettings(Section):
    """Extraction by the provider's Batch API."""

    enqueued_tokens: int | None = Field(
        default=None,
        gt=0,
        description="Input under way in all batches at once, and in one. Tokens, 3 bytes for one.",
    )
    endpoint: str = Field(default="/v1/chat/completions", description="What the provider calls it in a batch.")


class RoleSettings(Section):
    """Settings of one role of the language model; None means the general setting."""

    model: str | None = Field(default=None, description="As `llm.model`.")
    max_concurrency: int | None = Field(default=None, gt=0, description="As `llm.max_concurrency`.")
    temperature: float | None = Field(default=None, ge=0, description="As `llm.temperature`.")
    max_output_tokens: int | None = Field(default=None, gt=0, description="As `llm.max_output_tokens`.")
    extra_body: dict[str, Any] | None = Field(default=None, description="As `llm.extra_body`.")


class LLMSettings(EndpointSettings):
    """The language model that extracts, summarises, helps to retrieve, answers, judges and describes images."""

    provider: Provider = Field(default="offline", description="offline: no model. openai: any compatible endpoint.")
    model: str = Field(default="gpt-4o-mini", description="Ignored by the offline provider.")
    temperature: float = Field(default=0.0, ge=0, description="Sampling temperature.")
    max_output_tokens: int = Field(
        default=8192,
        gt=0,
        description="Per response; an extraction that was cut off is asked for again with 2, then 4 times as many. "
        "Tokens.",
    )
    extra_body: dict[str, Any] = Field(default={}, description="Further parameters, sent with every request.")
    offline_dates: bool = Field(
        default=False, description="The rules of the offline provider make entities of dates and amounts, too."
    )
    max_cost_usd: float | None = Field(
        default=None, ge=0, description="Limit of what one run may spend, embeddings included. US dollars."
    )
    max_cost_per_day_usd: float | None = Field(
        default=None,
        ge=0,
        description="Limit of what all runs together may spend in a day, UTC. US dollars.",
    )
    max_cost_per_source_usd: float | None = Field(
        default=None, ge=0, description="Limit of what all runs together may spend on one source, ever. US dollars."
    )
    retry_failed: bool = Field(default=False, description="Ask again about chunks that failed for good.")
    mode: Literal["realtime", "batch"] = Field(
        default="realtime",
        description="realtime: extraction is answered at once. batch: within a day, at half the price.",
    )
    batch: BatchSettings = BatchSettings()
    roles: dict[Role, RoleSettings] = Field(
        default={},
        description="Exceptions, by role: extract, summarise, keywords, facts, hops, answer, judge, describe.",
    )

    @property
    def conversations(self) -> int:
        """How many chunks are under way at once: a quarter more than requests, so that the next one always waits."""
        return self.max_concurrency + self.max_concurrency // 4

    @property
    def by_batch(self) -> bool:
        """Whether extraction goes by the Batch API; the offline provider has none."""
        return self.mode == "batch" and self.provider != "offline"

    @property
    def longer_outputs(self) -> tuple[int, ...]:
        """Limits for asking again what was cut off: 2 and 4 times the usual one, up to MOST_OUTPUT_TOKENS. Tokens."""
        usual, most = self.max_output_tokens, MOST_OUTPUT_TOKENS
        return tuple(sorted({min(usual * factor, most) for factor in (2, 4) if most > usual}))

    def of(self, role: Role) -> "LLMSettings":
        """Return the settings of one role."""
        own = self.roles.get(role, RoleSettings()).model_dump(exclude_none=True)
        return self.model_copy(update=own | {"roles": {}})


class EmbeddingSettings(EndpointSettings):
    """The embedding model."""

    provider: EmbeddingProvider = Field(
        default="offline",
        description="offline: no model. openai: any compatible endpoint. local: a model on this machine, with the "
        "extra `onnx` or `local`.",
    )
    model: str = Field(
        default="text-embedding-3-small",
        description="Name at the endpoint. For local, the folder of a sentence-transformers model or its name in the "
        "Hugging Face cache, or the ONNX file of either. Ignored by the offline provider.",
    )
    dimensions: int = Field(default=1024, gt=0, description="Length of every vector.")
    batch_size: int = Field(default=64, gt=0, description="Texts in one request.")
    max_concurrency: int = Field(default=8, gt=0, description="Requests in flight at once.")
    timeout: float = Field(default=60.0, gt=0, description="Per request. Seconds.")
    max_input_tokens: int = Field(
        default=8191,
        gt=0,
        description="A longer text is cut to this, in tokens of o200k_base; for local in those of the model, which may "
        "read fewer.",
    )


ExtractionMethod = Literal["llm", "mentions"]


class ExtractionSettings(Section):
    """How entities and relations are found in each chunk, and what is asked of the model for it."""

    method: ExtractionMethod = Field(
        default="llm",
        description="llm: the language model is asked. mentions: rules find names, which become entities with links to "
        "their chunks; no model is asked, and there are no relations but those of `co_mentions`.",
    )
    methods: dict[str, ExtractionMethod] = Field(default={}, description="Exceptions to `method`, by source.")
    co_mentions: bool = Field(default=False, description="With mentions, names in one sentence are related.")
    names_model: str | None = Field(
        default=None,
        description="With mentions, a spaCy pipeline that finds names besides those of the rules: its folder, or the "
        "name of the package it was installed as. With the extra `names`.",
    )
    document_language: bool = Field(
        default=False,
        description="The language of its document, where that is known, counts for each chunk: a model writes "
        "descriptions and keywords in it, not in `language`, and rules know that a short text is German.",
    )
    answer_format: AnswerFormat = Field(
        default="rows", description="rows, or JSON where a model keeps to it better: json_object, json_schema."
    )
    gleaning: int = Field(default=1, ge=0, description="Further rounds that ask for what was missed.")
    max_gleaning_tokens: int = Field(
        default=20_480,
        ge=0,
        description="Gleaning is skipped when its input would be longer; 0 is no limit. Tokens.",
    )

    def method_of(self, source: str) -> ExtractionMethod:
        """Return the method for a source."""
        return self.methods.get(source, self.method)


class MergingSettings(Section):
    """What the row of an entity or relation is made from, and when its descriptions are summarised.

    The evidence tables hold every mention, also those above the limits.
    """

    max_chunks_per_entity: int = Field(default=200, gt=0, description="Chunks that an entity's row is made from.")
    max_chunks_per_relation: int = Field(default=200, gt=0, description="Chunks that a relation's row is made from.")
    chunk_limit_method: Literal["KEEP", "FIFO"] = Field(
        default="KEEP", description="Which of more chunks: the first or the last, in order of source, path and place."
    )

    summary_min_descriptions: int = Field(default=8, gt=1, description="This many distinct ones: summarise.")
    summary_min_tokens: int = Field(default=1200, gt=0, description="This many tokens in all: summarise.")
    summary_max_tokens: int = Field(default=600, gt=0, description="Length asked of a summary. Tokens.")
    summary_context_tokens: int = Field(default=12_000, gt=0, description="Descriptions in one call. Tokens.")


class GraphSettings(Section):
    """The graph database, which answers Cypher; questions do not need it."""

    before_publication_rows: int = Field(
        default=2_000_000,
        ge=0,
        description="With up to so many chunks, entities and relations it is built before a snapshot is published, "
        "which takes up to about a minute; with more of them, after it.",
    )


class QuerySettings(Section):
    """Defaults of a question; each can be given per call."""

    mode: str = Field(default="fusion", description="How to retrieve; `lightrag-dagster query --help` lists the modes.")
    top_k: int = Field(default=40, gt=0, description="Entities, and relations, found by vector search.")
    chunk_top_k: int = Field(default=20, gt=0, description="Chunks in the context.")
    cosine_threshold: float = Field(default=0.2, ge=-1, le=1, description="Less similar hits are dropped.")
    max_entity_tokens: int = Field(default=6000, gt=0, description="Entities in the context. Tokens.")
    max_relation_tokens: int = Field(default=8000, gt=0, description="Relations in the context. Tokens.")
    max_total_tokens: int = Field(default=30_000, gt=0, description="The whole prompt, without history. Tokens.")
    related_chunk_number: int = Field(default=5, gt=0, description="Chunks considered for each entity or relation.")
    related_chunk_method: Literal["VECTOR", "WEIGHT"] = Field(
        default="VECTOR",
        description="Choose them by similarity to the question, or by the rank of their entity or relation.",
    )
    response_type: str = Field(default="Multiple Paragraphs", description="Form and length asked of an answer.")
    user_prompt: str = Field(default="", description="Further instructions to the model that answers.")
    system_prompt: str = Field(default="", description="Replaces the package's instructions to that model.")
    rerank: bool = Field(default=True, description="Rerank chunks, where a reranker is configured.")
    min_rerank_score: float = Field(default=0.0, description="Chunks that the reranker scores lower are dropped.")
    filter_facts: bool = Field(
        default=False,
        description="In modes `fusion` and `ppr`, ask the language model, in its role `facts`, which of the 20 "
        "relations nearest to the question help to answer it; the walk starts at these. One call a search.",
    )
    decompose: bool = Field(
        default=False,
        description="After the first search, ask the language model, in its role `hops`, what to look up next, and "
        "search for that too, until it says that nothing is missing. One call, and one search, a hop.",
    )
    max_hops: int = Field(default=3, ge=1, le=10, description="With decompose, most calls, and further searches.")


class RerankSettings(Section):
    """The model that reranks chunks. Keys: COHERE_API_KEY, JINA_API_KEY, RERANK_API_KEY (http; may be unset)."""

    provider: Literal["none", "cohere", "jina", "http", "local"] = Field(
        default="none",
        description="http: any endpoint with the API of Cohere and Jina. local: a cross-encoder, extra `rerank`.",
    )
    model: str = Field(default="", description="Name at the endpoint; for local a name or folder.")
    url: str = Field(default="", description="URL of the endpoint, instead of the provider's own.")
    timeout: float = Field(default=30.0, gt=0, description="Per request. Seconds.")
    with_first: bool = Field(
        default=False,
        description="The reranker is given the start of the top chunk together with each of the others, so that it can "
        "recognise a chunk that continues from it.",
    )


class EvaluationSettings(Section):
    """Settings of the `retrieval_evaluation` asset, which asks the questions that name where their answer is."""

    modes: tuple[str, ...] = Field(default=(), description="Modes that are compared; empty: all that retrieve.")


class RetentionSettings(Section):
    """Snapshots that `gc` keeps, and when it runs."""

    snapshots: int = Field(default=2, gt=0, description="How many of the newest snapshots are kept.")
    grace_days: float = Field(
        default=7,
        ge=0,
        description="How long a snapshot is kept after another replaced it; longer than any reader keeps one open.",
    )
    automatic: bool = Field(default=False, description="Run `gc` after every publication.")


class CacheSettings(Section):
    """The local copies of files of a home that is a bucket."""

    folder: Path = Field(
        default=Path("~/.cache/lightrag-dagster"), description="Folder of all caches, on a local disk; one each bucket."
    )
    max_gb: float = Field(
        default=20.0,
        gt=0,
        description="Most that the cache of one bucket holds; what was not used for longest is removed, never what was "
        "used within an hour. Gigabytes.",
    )


class DagsterSettings(Section):
    """How the assets appear in Dagster."""

    owners: tuple[str, ...] = Field(
        default=("team:data-platform",), description="Owners of every asset: email addresses, or names like team:data."
    )
    executor: ExecutorName = Field(
        default="in_process",
        description="Where Dagster's daemon and UI run the steps of a job: one after the other in the run's process "
        "(`in_process`), or each in a process (`multiprocess`) or a pod (`kubernetes`, with the extra `deploy`) of its "
        "own. The command line always takes its own process.",
    )
    fresh_hours: float | None = Field(
        default=None,
        gt=0,
        description="`raw_documents` and `knowledge_base` are overdue when nothing new arrived for longer; unset, "
        "they never are. Hours.",
    )
