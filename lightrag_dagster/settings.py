"""All settings, in one class: environment `LIGHTRAG_…` over `lightrag.yaml` over the defaults here.

Secrets are not settings: the openai SDK reads `OPENAI_API_KEY` from the environment, and nothing here repeats it.
"""

import os
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from lightrag_dagster.errors import SettingsError, one_line

CONFIG_VARIABLE = "LIGHTRAG_CONFIG"
CONFIG_FILE = "lightrag.yaml"

Provider = Literal["offline", "openai"]
AnswerFormat = Literal["rows", "json_object", "json_schema"]
Role = Literal["extract", "summarise", "keywords", "answer", "judge"]
RetrievalMode = Literal["naive", "local", "global", "hybrid", "mix", "ppr"]


class Section(BaseModel):
    """A group of settings; an unknown name is an error rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceSettings(Section):
    """One source named in `lightrag.yaml`."""

    uri: str = Field(description="A folder: a path or a file:// URI.")
    glob: str = Field(default="**/*", description="Which files below the folder belong to the source.")


class DocumentSettings(Section):
    """Reading sources."""

    max_bytes: int = Field(default=20_000_000, gt=0, description="A larger file becomes a failed row. Bytes.")
    max_deleted_share: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="A source that lost more than this share of its documents at once needs accept_deletes.",
    )
    accept_deletes: bool = Field(default=False, description="Accept any number of deletions.")
    max_failed_share: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="A source with a larger share of failed documents or chunks keeps its last accepted version.",
    )


class ChunkingSettings(Section):
    """Token windows."""

    size: int = Field(default=1200, gt=0, description="Window length. Tokens.")
    overlap: int = Field(default=100, ge=0, description="What a window shares with the one before. Tokens.")
    encoding: str = Field(default="o200k_base", description="tiktoken encoding; o200k_base is in the package.")

    @model_validator(mode="after")
    def _overlap_fits(self) -> "ChunkingSettings":
        if self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} must be smaller than size {self.size}")
        return self


class PriceSettings(Section):
    """Price of one model. US dollars per million tokens."""

    input: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0, description="As input where the provider has no discount.")
    output: float = Field(default=0.0, ge=0)


class EndpointSettings(Section):
    """How an endpoint is called, for language and embedding models alike."""

    max_concurrency: int = Field(default=16, gt=0, description="Requests in flight at once.")
    requests_per_minute: int | None = Field(default=None, gt=0, description="No more requests are sent in a minute.")
    tokens_per_minute: int | None = Field(
        default=None, gt=0, description="No more tokens are sent in a minute, taking 3 bytes of text for one."
    )
    timeout: float = Field(default=120.0, gt=0, description="Per request. Seconds.")
    max_retries: int = Field(default=8, ge=0, description="Further attempts after a transient failure.")
    longest_wait: float = Field(
        default=600.0, gt=0, description="A server that asks to wait longer ends the run. Seconds."
    )
    prices: dict[str, PriceSettings] = Field(default={}, description="By model; wins over the package's list.")


class BatchSettings(Section):
    """Extraction by the provider's Batch API."""

    max_requests: int = Field(default=50_000, gt=0, description="In one batch.")
    max_bytes: int = Field(default=200_000_000, gt=0, description="In one batch. Bytes.")
    enqueued_tokens: int | None = Field(
        default=None,
        gt=0,
        description="Input under way in all batches at once; unset, it is found by trying. Tokens, 3 bytes for one.",
    )
    max_attempts: int = Field(default=3, gt=0, description="A request is submitted so often, then its chunk fails.")
    longest_poll: float = Field(default=300.0, gt=0, description="Pause between two looks at the batches. Seconds.")
    endpoint: str = Field(default="/v1/chat/completions", description="What the provider calls it in a batch.")


class RoleSettings(Section):
    """What one role of the language model has of its own; None is the general setting."""

    model: str | None = None
    max_concurrency: int | None = Field(default=None, gt=0)
    temperature: float | None = Field(default=None, ge=0)
    max_output_tokens: int | None = Field(default=None, gt=0)
    extra_body: dict[str, Any] | None = None


class LLMSettings(EndpointSettings):
    """The language model that extracts, summarises, finds keywords, answers and judges."""

    provider: Provider = "offline"
    model: str = Field(default="gpt-4o-mini", description="Ignored by the offline provider.")
    temperature: float = Field(default=0.0, ge=0)
    max_output_tokens: int = Field(default=8192, gt=0, description="Per response. Tokens.")
    most_output_tokens: int = Field(
        default=32_768,
        gt=0,
        description="An extraction cut off at max_output_tokens is asked for again with 2, then 4 times as many, "
        "up to this. Tokens.",
    )
    extra_body: dict[str, Any] = Field(default={}, description="Further parameters, sent with every request.")
    max_cost_usd: float | None = Field(
        default=None, ge=0, description="What one run may spend, embeddings included. US dollars."
    )
    retry_failed: bool = Field(default=False, description="Ask again about chunks that failed for good.")
    mode: Literal["realtime", "batch"] = Field(
        default="realtime", description="How extraction is asked for: at once, or at half the price within a day."
    )
    batch: BatchSettings = BatchSettings()
    roles: dict[Role, RoleSettings] = Field(
        default={}, description="Exceptions, by role: extract, summarise, keywords, answer, judge."
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
        """Limits for asking again what was cut off: 2 and 4 times the usual one, up to the cap. Tokens."""
        usual, most = self.max_output_tokens, self.most_output_tokens
        return tuple(sorted({min(usual * factor, most) for factor in (2, 4) if most > usual}))

    def of(self, role: Role) -> "LLMSettings":
        """Return the settings of one role."""
        own = self.roles.get(role, RoleSettings()).model_dump(exclude_none=True)
        return self.model_copy(update=own | {"roles": {}})


class EmbeddingSettings(EndpointSettings):
    """The embedding model."""

    provider: Provider = "offline"
    model: str = Field(default="text-embedding-3-small", description="Ignored by the offline provider.")
    dimensions: int = Field(default=1024, gt=0, description="Length of every vector.")
    batch_size: int = Field(default=64, gt=0, description="Texts in one request.")
    max_concurrency: int = Field(default=8, gt=0, description="Requests in flight at once.")
    timeout: float = Field(default=60.0, gt=0, description="Per request. Seconds.")
    batch_tokens: int = Field(default=100_000, gt=0, description="Texts in one request. Tokens.")
    max_input_tokens: int = Field(
        default=8191, gt=0, description="A longer text is cut to this, in tokens of o200k_base."
    )


class ExtractionSettings(Section):
    """What is asked of the model for each chunk."""

    language: str = Field(default="English", description="Language of descriptions and keywords.")
    answer_format: AnswerFormat = Field(
        default="rows", description="rows, or JSON where a model keeps to it better: json_object, json_schema."
    )
    gleaning: int = Field(default=1, ge=0, description="Further rounds that ask for what was missed.")
    max_gleaning_tokens: int = Field(
        default=20_480,
        ge=0,
        description="Gleaning is skipped when its input would be longer; 0 is no limit. Tokens.",
    )


class MergingSettings(Section):
    """What the row of an entity or relation is made from, and when its descriptions are summarised.

    The evidence tables hold every mention, whatever the limits.
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
    language: str = Field(default="English", description="Language of summaries.")


class AssociativeSettings(Section):
    """Mode `ppr`: a random walk from what resembles the question."""

    damping: float = Field(default=0.5, gt=0, lt=1, description="Probability of a further step.")
    facts: int = Field(default=5, ge=0, description="Relations at whose ends the walk begins, or else entities.")
    start_chunks: int = Field(default=200, gt=0, description="Chunks at which it begins.")
    chunk_share: float = Field(default=0.05, ge=0, le=1, description="Share of walks that begin at a chunk.")
    specificity: bool = Field(default=True, description="Divide an entity's share by the number of its chunks.")


class QuerySettings(Section):
    """Defaults of a question; each can be given per call."""

    mode: str = "mix"
    top_k: int = Field(default=40, gt=0, description="Entities, and relations, found by vector search.")
    chunk_top_k: int = Field(default=20, gt=0, description="Chunks in the context.")
    cosine_threshold: float = Field(default=0.2, ge=-1, le=1, description="Less similar hits are dropped.")
    max_entity_tokens: int = Field(default=6000, gt=0)
    max_relation_tokens: int = Field(default=8000, gt=0)
    max_total_tokens: int = Field(default=30_000, gt=0)
    related_chunk_number: int = Field(default=5, gt=0, description="Chunks considered for each entity or relation.")
    related_chunk_method: Literal["VECTOR", "WEIGHT"] = Field(
        default="VECTOR",
        description="Choose them by similarity to the question, or by the rank of what they stand behind.",
    )
    ppr: AssociativeSettings = AssociativeSettings()
    response_type: str = Field(default="Multiple Paragraphs", description="Form and length asked of an answer.")
    user_prompt: str = Field(default="", description="Further instructions to the model that answers.")
    system_prompt: str = Field(default="", description="Takes the place of the package's instructions to that model.")
    rerank: bool = Field(default=True, description="Rerank chunks, where a reranker is configured.")
    min_rerank_score: float = Field(default=0.0, description="Chunks that the reranker scores lower are dropped.")


class RerankSettings(Section):
    """The model that reranks chunks. Keys: COHERE_API_KEY, JINA_API_KEY, RERANK_API_KEY (http; may be unset)."""

    provider: Literal["none", "cohere", "jina", "http", "local"] = Field(
        default="none",
        description="http: any endpoint that Cohere and Jina would recognise. local: a cross-encoder, extra `rerank`.",
    )
    model: str = Field(default="", description="Name at the endpoint; for local a name or folder.")
    url: str = Field(default="", description="Of the endpoint, in place of the provider's own.")
    timeout: float = Field(default=30.0, gt=0, description="Per request. Seconds.")
    max_retries: int = Field(default=2, ge=0, description="Further attempts after a transient failure.")


class EvaluationSettings(Section):
    """What the `retrieval_evaluation` asset measures."""

    questions: Path | None = Field(
        default=None, description="YAML or JSONL file: question, documents or chunks that hold its answer, answer."
    )
    modes: tuple[RetrievalMode | Literal["bm25"], ...] = Field(
        default=("bm25", "naive", "local", "global", "hybrid", "mix", "ppr"),
        description="What is compared; bm25 and naive are the controls.",
    )
    k: int = Field(default=5, gt=0, description="How many chunks count for recall@k, precision@k and nDCG@k.")
    answer_modes: tuple[RetrievalMode, ...] = Field(
        default=("mix",),
        description="Modes whose answers are judged as well, unless llm.provider is offline; each costs two calls a "
        "question.",
    )
    response_type: str = Field(
        default="A short phrase: a name, a number or a date where one will do",
        description="Form and length of the answers that are judged; short ones can be compared with the known answer.",
    )


class RetentionSettings(Section):
    """What `gc` keeps, and whether it runs by itself."""

    snapshots: int = Field(default=2, gt=0, description="The newest so many, beside those that somebody uses.")
    automatic: bool = Field(default=False, description="Whether each publication is followed by `gc`.")


class Settings(BaseSettings):
    """Everything that can be configured; see `docs/` for what each setting does."""

    model_config = SettingsConfigDict(env_prefix="LIGHTRAG_", env_nested_delimiter="__", extra="forbid", frozen=True)

    home: Path = Field(default=Path("data"), description="Where everything is kept.")
    sources: Path = Field(default=Path("sources"), description="A folder whose sub-folders are sources.")
    named_sources: dict[str, SourceSettings] = Field(default_factory=dict)
    documents: DocumentSettings = DocumentSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    llm: LLMSettings = LLMSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    merging: MergingSettings = MergingSettings()
    query: QuerySettings = QuerySettings()
    retention: RetentionSettings = RetentionSettings()
    rerank: RerankSettings = RerankSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    prompts: Path | None = Field(
        default=None, description="Folder whose files replace the package's prompts of the same name."
    )
    nightly: str = Field(
        default="0 2 * * *",
        description="When the schedule `nightly` ingests: cron, UTC. By default at two in the morning, after the day's "
        "last edits and early enough to be mended before anybody reads.",
    )
    ingest_new_sources: bool = Field(
        default=False, description="Dagster ingests a new source as soon as it appears, not at the next `nightly`."
    )
    questions: Path | None = Field(
        default=None, description="YAML file with the questions that the `answers` asset asks."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the YAML file below the environment."""
        file = Path(os.environ.get(CONFIG_VARIABLE, CONFIG_FILE))
        return (init_settings, env_settings, YamlConfigSettingsSource(settings_cls, yaml_file=file))


def load_settings(**overrides: object) -> Settings:
    """Read the settings; keyword arguments win over environment and file.

    Raises:
        SettingsError: the file cannot be read or a value is not allowed; the message names the setting.
    """
    file = Path(os.environ.get(CONFIG_VARIABLE, CONFIG_FILE))
    if CONFIG_VARIABLE in os.environ and not file.is_file():
        raise SettingsError(f"{CONFIG_VARIABLE} names {file}, which is not a file; correct or unset it")
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # pydantic checks the values
    except yaml.YAMLError as error:
        raise SettingsError(f"{file} is not valid YAML: {one_line(error)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {one_line(error)}") from error
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "settings"
        raise SettingsError(f"setting {name}: {first['msg']}; see {file} and LIGHTRAG_… variables") from error
    except ValueError as error:
        raise SettingsError(f"{file} or a LIGHTRAG_… variable cannot be used: {one_line(error)}") from error
