"""The chunking methods. A new one is a `Chunker`, and an entry here."""

from collections.abc import Mapping

from lightrag_dagster.settings.chunking import ChunkingMethod
from lightrag_dagster.stages.chunking import custom, packed, semantic, structure, windows
from lightrag_dagster.stages.chunking.chunker import Chunker

METHODS: Mapping[ChunkingMethod, Chunker] = {
    "token": windows.by_tokens,
    "character": windows.by_character,
    "recursive": packed.recursive,
    "structure": structure.cut,
    "sentence": packed.sentence,
    "semantic": semantic.cut,
    "adaptive": windows.adaptive,
    "custom": custom.cut,
}
