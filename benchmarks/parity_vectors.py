"""Deterministic vectors of words, the same in every process and on both sides of the comparison with LightRAG."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

DIMENSIONS = 256
_PLACES_A_WORD = 8
_WORD = re.compile(r"\w+")


def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return one row a text; longer words count for more.

    All values are eighths, of which half precision loses nothing. Hardly two words weigh the same in all places, so
    that hardly two texts are equally near to a third: LightRAG leaves the order of such to its sort.
    """
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in _WORD.findall(text.lower()):
            for place, weight in _places(word):
                row[place] += weight * (min(len(word), 9) // 2)
    return vectors


def entity_text(name: str, description: str) -> str:
    """Return what LightRAG embeds of an entity."""
    return f"{name}\n{description}"


def relation_text(src: str, tgt: str, keywords: str, description: str) -> str:
    """Return what LightRAG embeds of a relation."""
    return f"{keywords}\t{src}\n{tgt}\n{description}"


def _places(word: str) -> list[tuple[int, float]]:
    hashed = hashlib.blake2b(word.encode(), digest_size=2 * _PLACES_A_WORD).digest()
    pairs = zip(hashed[::2], hashed[1::2], strict=True)
    return [(place, (1 if byte % 2 else -1) * (8 + byte // 32) / 8) for place, byte in pairs]
