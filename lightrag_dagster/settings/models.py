"""The sections of the settings about models: language models, embedders, rerankers, and their prices."""

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from lightrag_dagster.core.roles import Role
from lightrag_dagster.settings.sections import Section

MOST_OUTPUT_TOKENS = 32_768
"""The highest limit of a repeated request after an answer that was cut off."""

_OWN = {"model", "messages", "stream", "n", "max_tokens", "max_completion_tokens"}
_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")


def _variable(name: str) -> str:
    """Check the name of an environment variable, in capitals, so that a key in its place is refused."""
    if name and not _VARIABLE.fullmatch(name):
        raise ValueError("name an environment variable in capitals, such as GATEWAY_KEY; a key is never a setting")
    return name


def _further(body: dict[str, Any]) -> dict[str, Any]:
    """Check that further parameters leave alone what prices, budgets and stored answers go by."""
    if ours := sorted(_OWN & body.keys()):
        raise ValueError(f"{', '.join(ours)} cannot be here, since costs go by it; model and output limit are settings")
    return body


FurtherParameters = Annotated[dict[str, Any], AfterValidator(_further)]
VariableName = Annotated[str, AfterValidator(_variable)]

Provider = Literal["offline", "openai", "bedrock", "vertex"]
EmbeddingProvider = Literal["offline", "openai", "local", "vertex"]


_LONGEST_SECONDS, _HURRIED_SECONDS = 600.0, 60.0  # limits of providers are mostly those of a minute


class PriceSettings(Section):
    """Price of one model. US dollars per million tokens."""

    input: float = Field(ge=0, description="Input tokens.")
    cached_input: float | None = Field(default=None, ge=0, description="Cached input tokens; as `input` where unset.")
    cache_write: float | None = Field(
        default=None, ge=0, description="Input tokens written to the cache; as `input` where unset."
    )
    output: float = Field(ge=0, description="Output tokens.")


class PlaceSettings(Section):
    """The place of an endpoint, for all models alike."""

    base_url: str = Field(default="", description="Address of the endpoint; unset, the usual one.")
    api_key_env: VariableName = Field(
        default="",
        description="Name of the environment variable with the key, never the key; unset, the usual one, which for an "
        "address in `base_url` is none.",
    )
    headers: dict[str, str] = Field(
        default={}, description="Further headers; `$NAME` is replaced by that environment variable."
    )


class EndpointSettings(PlaceSettings):
    """The requests to an endpoint, for language and embedding models alike."""

    max_concurrency: int = Field(default=16, gt=0, description="Requests in flight at once.")
    requests_per_minute: int | None = Field(default=None, gt=0, description="No more requests are sent in a minute.")
    tokens_per_minute: int | None = Field(
        default=None, gt=0, description="No more tokens are sent in a minute, taking 3 bytes, or a mark, for one."
    )

    _longest_wait: float = PrivateAttr(default=_LONGEST_SECONDS)

    @property
    def longest_wait(self) -> float:
        """The longest wait that a server may ask for before the next attempt; beyond it, none is made. Seconds."""
        return self._longest_wait


class RoleSettings(Section):
    """Settings of one role of the language model; None means the general setting."""

    model: str | None = Field(default=None, description="As `llm.model`.")
    base_url: str | None = Field(
        default=None, description="As `llm.base_url`; neither key nor headers of `llm` follow."
    )
    api_key_env: VariableName | None = Field(default=None, description="As `llm.api_key_env`.")
    headers: dict[str, str] | None = Field(default=None, description="As `llm.headers`.")
    reasoning_effort: str | None = Field(default=None, description="As `llm.reasoning_effort`.")
    max_concurrency: int | None = Field(default=None, gt=0, description="As `llm.max_concurrency`.")
    temperature: float | None = Field(default=None, ge=0, description="As `llm.temperature`.")
    max_output_tokens: int | None = Field(default=None, gt=0, description="As `llm.max_output_tokens`.")
    extra_body: FurtherParameters | None = Field(default=None, description="As `llm.extra_body`.")


class LLMSettings(EndpointSettings):
    """The language model that extracts, summarises, retrieves, answers, judges, describes images and compares names."""

    provider: Provider = Field(
        default="offline",
        description="offline: no model. openai: any compatible endpoint. bedrock, vertex: signed for AWS or Google, "
        "with the extra of that name.",
    )
    model: str = Field(
        default="", description="Name at the endpoint; every endpoint needs one: docs/models.md compares them."
    )
    prices: dict[str, PriceSettings] = Field(default={}, description="By model; wins over the published price.")
    timeout: float = Field(default=120.0, gt=0, description="Per request. Seconds.")
    max_retries: int = Field(default=8, ge=0, description="Further attempts after a transient failure; an embedder: 8.")
    temperature: float = Field(default=0.0, ge=0, description="Sampling temperature; OpenAI's that reason get none.")
    max_output_tokens: int = Field(
        default=8192,
        gt=0,
        description="Per response; an extraction or summary that was cut off is asked for again with 2, then 4 times "
        "as many. Tokens.",
    )
    reasoning_effort: str = Field(
        default="", description="Effort of a model that reasons, in its own words: none, low, high; unset, its usual."
    )
    extra_body: FurtherParameters = Field(default={}, description="Further parameters, none of costs; null omits one.")
    max_cost_usd: float | None = Field(
        default=None, ge=0, description="Limit of what one run may spend, embeddings included. US dollars."
    )
    max_cost_per_day_usd: float | None = Field(
        default=None, ge=0, description="Limit of what all runs together may spend in a day, UTC. US dollars."
    )
    max_cost_per_source_month_usd: float | None = Field(
        default=None,
        ge=0,
        description="Limit of what all runs together may spend on one source in a calendar month, UTC. US dollars.",
    )
    mode: Literal["realtime", "batch"] = Field(
        default="realtime",
        description="realtime: extraction is answered at once. batch: within a day, at half the price.",
    )
    enqueued_tokens: int | None = Field(
        default=None,
        gt=0,
        description="With batch, input of all batches together, and of one. Tokens, 3 bytes or a mark for one.",
    )
    roles: dict[Role, RoleSettings] = Field(
        default={},
        description="Exceptions, by role: extract, summarise, keywords, relevance, hops, rerank, answer, judge, "
        "describe, resolve, draft.",
    )

    @field_validator("max_cost_usd", "max_cost_per_day_usd", "max_cost_per_source_month_usd", mode="before")
    @classmethod
    def _has_a_value(cls, given: object) -> object:
        if given is None:
            raise ValueError("it has no value, which would be no limit; give one, or leave it out")
        return given

    @model_validator(mode="after")
    def _refuse_batch(self) -> Self:
        if self.mode == "batch" and self.provider in ("bedrock", "vertex"):
            raise ValueError("mode is batch, which needs provider openai; set it to realtime")
        return self

    @model_serializer(mode="wrap")
    def _leave_out_no_limits(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: one for name, one in write(self).items() if one is not None or not name.startswith("max_cost_")}

    @property
    def conversations(self) -> int:
        """Number of chunks worked on at once: a quarter more than requests, so that the next one always waits."""
        return self.max_concurrency + self.max_concurrency // 4

    @property
    def by_batch(self) -> bool:
        """True if extraction goes by the Batch API; the offline provider has none."""
        return self.mode == "batch" and self.provider != "offline"

    def hurried(self, most: int) -> "LLMSettings":
        """Return the settings with no more than `most` further attempts, and none after a long wait."""
        found = self.model_copy(update={"max_retries": min(self.max_retries, most)})
        found._longest_wait = _HURRIED_SECONDS
        return found

    @property
    def longer_outputs(self) -> tuple[int, ...]:
        """Limits of requests after a cut-off answer: 2 and 4 times the usual one, up to MOST_OUTPUT_TOKENS. Tokens."""
        usual, most = self.max_output_tokens, MOST_OUTPUT_TOKENS
        return tuple(sorted({min(usual * factor, most) for factor in (2, 4) if most > usual}))

    def of(self, role: Role) -> "LLMSettings":
        """Return the settings of one role; at an address of its own, no key, signature and header of another place."""
        own = self.roles.get(role, RoleSettings()).model_dump(exclude_none=True)
        if not own.get("base_url"):  # an empty one is unset, so that the key of `llm` goes nowhere else
            own.pop("base_url", None)
        elsewhere: dict[str, Any] = {"api_key_env": "", "headers": {}} if own.get("base_url") else {}
        if elsewhere and self.provider != "offline":
            elsewhere["provider"] = "openai"
        return self.model_copy(update={"roles": {}} | elsewhere | own)


class EmbeddingSettings(EndpointSettings):
    """The embedding model."""

    timeout: ClassVar[float] = 120.0
    """Time of a request, which `batch_size` makes short enough. Seconds."""

    _max_retries: int = PrivateAttr(default=8)

    provider: EmbeddingProvider = Field(
        default="offline",
        description="offline: no model. openai: any compatible endpoint. vertex: signed for Google, with the extra "
        "`vertex`. local: a model on this machine, with the extra `onnx` or `local`.",
    )
    model: str = Field(
        default="text-embedding-3-small",
        description="Name at the endpoint. For local, the folder of a sentence-transformers model or its name in the "
        "Hugging Face cache, or the ONNX file of either. Ignored by the offline provider.",
    )
    dimensions: int = Field(default=1024, gt=0, description="Length of every vector.")
    batch_size: int = Field(default=64, gt=0, description="Texts in one request.")
    max_concurrency: int = Field(default=8, gt=0, description="Requests in flight at once.")
    prices: dict[str, NonNegativeFloat] = Field(
        default={}, description="By model; wins over the published price. US dollars per million input tokens."
    )
    max_input_tokens: int = Field(
        default=8191,
        gt=0,
        description="A longer text is cut to this, in tokens of o200k_base; for local in those of the model, which may "
        "read fewer.",
    )

    @property
    def max_retries(self) -> int:
        """Further attempts after a transient failure."""
        return self._max_retries

    def hurried(self, most: int) -> "EmbeddingSettings":
        """Return the settings with no more than `most` further attempts, and none after a long wait."""
        found = self.model_copy()
        found._max_retries, found._longest_wait = min(self._max_retries, most), _HURRIED_SECONDS
        return found


class RerankSettings(PlaceSettings):
    """The model that reranks chunks, by POST to /rerank, or a language model.

    Usual keys: COHERE_API_KEY, JINA_API_KEY, RERANK_API_KEY (http; may be unset).
    """

    provider: Literal["none", "cohere", "jina", "http", "local", "chat"] = Field(
        default="none",
        description="http: any endpoint with the API of Cohere and Jina. local: a cross-encoder, extra `rerank`. "
        "chat: the language model of `llm`, in its role `rerank`; the other settings here are then unset.",
    )
    model: str = Field(
        default="",
        description="Name at the endpoint; for local a name or folder; for chat unset, `llm.roles.rerank.model` names "
        "another.",
    )

    @model_validator(mode="after")
    def _refuse_a_place_of_chat(self) -> Self:
        for name in ("model", "base_url", "api_key_env", "headers"):
            if self.provider == "chat" and getattr(self, name):
                raise ValueError(f"provider is chat, which asks the model of llm; set llm.roles.rerank.{name} instead")
        return self
