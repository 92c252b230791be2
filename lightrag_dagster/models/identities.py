"""Identities of the OpenAI-compatible models, apart from the models so that no plan or status imports the SDK.

The address of the endpoint is not a part of them, nor who signs: the same model through another gateway or cloud is not
paid for again. `openai` in them names the protocol.
"""

from lightrag_dagster.core.identity import digest
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings


def openai_chat_identity(settings: LLMSettings) -> str:
    """Name the model and the parameters that shape its answers."""
    name = f"openai/{settings.model}?temperature={settings.temperature}&max_output_tokens={settings.max_output_tokens}"
    name += f"&reasoning_effort={settings.reasoning_effort}" if settings.reasoning_effort else ""
    return f"{name}&extra_body={digest(settings.extra_body)}" if settings.extra_body else name


def openai_embedder_identity(settings: EmbeddingSettings) -> str:
    """Name the model, the length of its vectors, and the length at which texts are cut unless it is the default."""
    name = f"openai/{settings.model}?dimensions={settings.dimensions}"
    usual = EmbeddingSettings.model_fields["max_input_tokens"].default
    limit = settings.max_input_tokens
    return name if limit == usual else f"{name}&max_input_tokens={limit}"
