"""Loading of a local model, by the library that its files need."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lightrag_dagster.errors import EmbeddingError, LightRAGError, SettingsError, one_line
from lightrag_dagster.models.local.configuration import Kind
from lightrag_dagster.models.local.encoded import Encoded, LoadedModel
from lightrag_dagster.models.local.files import find_model
from lightrag_dagster.models.local.identity import local_embedder_identity
from lightrag_dagster.settings import EmbeddingSettings


def load_model(settings: EmbeddingSettings, identity: str) -> LoadedModel:
    """Load the model of the settings on this machine.

    Raises:
        SettingsError: it is not here, its library is not installed, or it cannot be loaded.
        EmbeddingError: it has other weights here than `identity` names.
    """
    files, limit = find_model(settings.model), settings.max_input_tokens
    if local_embedder_identity(settings) != identity:
        raise EmbeddingError(
            f"{settings.model} on {os.uname().nodename} is not {identity}; copy the same model to every machine"
        )
    light = "`pip install lightrag-dagster[onnx]`"
    how = f"`pip install lightrag-dagster[local]`, or name an ONNX file in it, which needs much less: {light}"
    with explaining(f"setting embedding.model: {settings.model}", light if files.onnx else how):
        if files.onnx is None:
            from lightrag_dagster.models.local.sentence_transformer import SentenceTransformerModel

            return SentenceTransformerModel(files, limit, settings.batch_size)
        from lightrag_dagster.models.local.onnx import OnnxModel

        return OnnxModel(files, limit, settings.batch_size)


@contextmanager
def explaining(model: str, install: str) -> Iterator[None]:
    """Turn errors of a library that loads a model into SettingsError with the next step; `install` gets the library."""
    try:
        yield
    except LightRAGError:
        raise
    except ImportError as error:
        raise SettingsError(f"{model} needs {error.name}; {install}") from error
    except Exception as error:  # libraries raise errors of any class
        raise SettingsError(f"{model} cannot be loaded: {one_line(error)}; make or download it again") from error


def encode(model: LoadedModel, work: tuple[Kind, list[str]]) -> Encoded:
    """Return a vector for each text; work for an engine."""
    return model.encode(*work)


def unread(model: LoadedModel, texts: list[str]) -> list[int]:
    """Return the number of characters of each text that is not read; work for an engine.

    The share of a text in its tokens is taken for that in its characters, rounded up.
    """
    lengths, limit = model.lengths("document", texts), model.limit
    return [-(-len(text) * max(0, has - limit) // max(1, has)) for text, has in zip(texts, lengths, strict=True)]
