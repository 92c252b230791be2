"""Identities of the OpenAI-compatible models, without the import of the SDK, which takes a second.

The address of the endpoint is no part of them: the same model through another gateway is not paid for again.
"""

from lightrag_dagster.identity import digest
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings


def openai_chat_identity(settings: LLMSettings) -> str:
    """Name the model and the parameters that shape its answers."""
    name = f"openai/{settings.model}?temperature={settings.temperature}&max_output_tokens={settings.max_output_tokens}"
    return f"{name}&extra_body={digest(settings.extra_body)}" if settings.extra_body else name


def openai_embedder_identity(settings: EmbeddingSettings) -> str:
    """Name the model and the length of its vectors."""
    return f"openai/{settings.model}?dimensions={settings.dimensions}"
