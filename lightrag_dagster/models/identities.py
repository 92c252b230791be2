"""Identities of the OpenAI-compatible models, apart from the models so that no plan or status imports the SDK.

The address of the endpoint is not a part of them, nor who signs: the same model through another gateway or cloud is not
paid for again. `openai` in them names the protocol. Nor are the parameters of price and cache; how much a model reasons
is.
"""

import re

from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

_REASONING = re.compile(r"(?:^|[/.]|^\w+:)(?:o\d|gpt-[5-9])")
_SHAPES_NOTHING = re.compile("service_tier|prompt_cache_.*")


def openai_chat_identity(settings: LLMSettings) -> str:
    """Name the model and the parameters that shape its answers."""
    temperature = settings.temperature if reasoning_effort(settings) is None else 0.0  # by which it is not sent
    name = f"openai/{settings.model}?temperature={temperature}&max_output_tokens={settings.max_output_tokens}"
    name += f"&reasoning_effort={settings.reasoning_effort}" if settings.reasoning_effort else ""
    shapes = {name: value for name, value in settings.extra_body.items() if not _SHAPES_NOTHING.fullmatch(name)}
    return f"{name}&extra_body={digest(shapes)}" if shapes else name


def reasoning_effort(settings: LLMSettings) -> str | None:
    """Return how much one of OpenAI's reasoning models is to reason, `medium` unless said otherwise; None for others.

    These models take no temperature, and their limit by another name.
    """
    if not _REASONING.search(settings.model):
        return None
    return str(settings.extra_body.get("reasoning_effort") or settings.reasoning_effort or "medium")


def openai_embedder_identity(settings: EmbeddingSettings) -> str:
    """Name the model, the length of its vectors, and the length at which texts are cut unless it is the default."""
    name = f"openai/{settings.model}?dimensions={settings.dimensions}"
    usual = EmbeddingSettings.model_fields["max_input_tokens"].default
    limit = settings.max_input_tokens
    return name if limit == usual else f"{name}&max_input_tokens={limit}"
