"""The identity of a local model, which every command asks for, and its limit: nothing here loads it or its library."""

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.local.configuration import dimensions, token_limit
from lightrag_dagster.models.local.files import find_model
from lightrag_dagster.settings import EmbeddingSettings


def local_embedder_identity(settings: EmbeddingSettings) -> str:
    """Name the model, a hash of its weights and configuration, and the limit of tokens unless it is the default.

    Only the name of the folder counts, not its place: a copy elsewhere is the same embedder.

    Raises:
        SettingsError: the model is not on this machine, or makes vectors of another length than is configured.
    """
    files, limit = find_model(settings.model), settings.max_input_tokens
    length = dimensions(files)
    if length not in (None, settings.dimensions):
        raise SettingsError(
            f"setting embedding.dimensions: {settings.model} makes vectors of {length} dimensions, but "
            f"{settings.dimensions} are configured; set LIGHTRAG_EMBEDDING__DIMENSIONS={length}"
        )
    name = f"local/{files.name}@{files.weights_hash()}"
    usual = EmbeddingSettings.model_fields["max_input_tokens"].default
    return name if limit == usual else f"{name}?max_input_tokens={limit}"


def local_tokens_read(settings: EmbeddingSettings) -> int:
    """Return the tokens of a text that the model reads at most; raises SettingsError if it is not on this machine."""
    return min(settings.max_input_tokens, token_limit(find_model(settings.model)))
