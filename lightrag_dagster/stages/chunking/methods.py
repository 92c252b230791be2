"""The chunking methods. A new one is a module with a `cut` function, and an entry here."""

from collections.abc import Mapping

from lightrag_dagster.settings import ChunkingMethod
from lightrag_dagster.stages.chunking import (
    adaptive,
    character,
    custom,
    recursive,
    semantic,
    sentence,
    structure,
    token,
)
from lightrag_dagster.stages.chunking.chunker import Chunker

METHODS: Mapping[ChunkingMethod, Chunker] = {
    "token": token.cut,
    "character": character.cut,
    "recursive": recursive.cut,
    "structure": structure.cut,
    "sentence": sentence.cut,
    "semantic": semantic.cut,
    "adaptive": adaptive.cut,
    "custom": custom.cut,
}
