"""An embedder that needs no model: hashed word stems and parts of words.

A document's vector depends only on its text. Queries weigh each word by its rarity, from document frequencies counted
over the corpus, so adding a document changes no vector. Similarity means shared words, not shared meaning.

Hashing with signs: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009.
"""

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.protocols import Usage, Vectors
from lightrag_dagster.core.text.terms import terms
from lightrag_dagster.errors import SettingsError

_VERSION = 5
"""Raise it when a vector changes: it is part of the key of stored vectors."""

_BUCKETS = 1 << 16
_PLACES_OF_A_TERM = 2
_PARTS = (3, 4, 5)
_PARTS_WEIGHT = 0.5
_CAPITAL_WEIGHT = 1.5
_COMMON = 0.15
"""Similarity of two texts that share nothing. All vectors have the same first component, √0.15, so that shared words
lift a pair over the usual threshold of 0.2: in a long chunk a single word has a cosine of no more than 0.06."""

_FEWEST_DIMENSIONS = 64


class _Features(NamedTuple):
    """Hashes of a term, `_PLACES_OF_A_TERM` of them, and of its parts; their weights; its frequency bucket."""

    hashes: npt.NDArray[np.uint32]
    values: npt.NDArray[np.float64]
    bucket: int


class LexicalEmbedder:
    """An embedder without calls to count; the vector of a text without words is the first axis, never zero."""

    def __init__(self, dimensions: int = 1024) -> None:
        if dimensions < _FEWEST_DIMENSIONS:
            raise SettingsError(
                f"setting embedding.dimensions: {dimensions} is too few for the offline embedder; use 64 or more"
            )
        self._dimensions = dimensions
        self.usage = Usage()

    @property
    def identity(self) -> str:
        """The provider, the version of its rules and the length of its vectors."""
        return f"offline/lexical-{_VERSION}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (len(texts), dimensions), each made from one text."""
        return self._vectors(texts, None)

    async def unread(self, texts: Sequence[str]) -> list[int]:
        """Return zeros: every word counts."""
        return [0] * len(texts)

    def corpus_state(self, texts: Iterable[str]) -> Vectors:
        """Return the number of texts with a term of each of 65,536 hash buckets, and last the number of texts."""
        frequencies = np.zeros(_BUCKETS + 1, dtype=np.int64)
        for text in texts:
            frequencies[[*{_features(term.text).bucket for term in terms(text)}, _BUCKETS]] += 1
        return frequencies.astype(np.float32)

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        """Return unit vectors, shape (len(texts), dimensions), in which words rare in the corpus weigh most."""
        return self._vectors(texts, corpus_state)

    def _vectors(self, texts: Sequence[str], corpus_state: Vectors | None) -> Vectors:
        places = self._dimensions - 1
        vectors = np.zeros((len(texts), self._dimensions))
        for row, text in enumerate(texts):
            if weights := _weights(text):
                hashes, values = _hashed(weights, corpus_state)
                # The lowest bit of a hash is its sign; the others are its place after the first component.
                vectors[row, 1:] = np.bincount((hashes >> 1) % places, np.where(hashes & 1, values, -values), places)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors *= np.sqrt(1 - _COMMON) / np.maximum(lengths, 1e-12)
        vectors[:, 0] = np.where(lengths[:, 0] > 0, np.sqrt(_COMMON), 1)
        return vectors.astype(np.float32)


def _weights(text: str) -> dict[str, float]:
    """Return the terms of a text; a term's weight grows with the logarithm of its count."""
    counts: Counter[str] = Counter()
    capitals = set()
    for term, capital in terms(text):
        counts[term] += 1
        if capital:
            capitals.add(term)
    return {
        term: (1 + math.log(count)) * (_CAPITAL_WEIGHT if term in capitals else 1) for term, count in counts.items()
    }


def _hashed(
    weights: dict[str, float], corpus_state: Vectors | None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
    """Return the hashes of all terms and parts, and the amount that each adds to the vector."""
    features = [_features(term) for term in weights]
    lengths = np.array([len(feature.hashes) for feature in features])
    hashes = np.concatenate([feature.hashes for feature in features])
    values = np.concatenate([feature.values for feature in features])
    amounts = np.array(list(weights.values()))
    if corpus_state is not None:
        frequencies = corpus_state[[feature.bucket for feature in features]].astype(np.float64)
        amounts *= np.log(1 + (float(corpus_state[-1]) + 1) / (frequencies + 1)) ** 2
        # No text has an unseen term: only its parts can meet more than chance.
        unseen = (np.cumsum(lengths) - lengths)[frequencies == 0]
        for place in range(_PLACES_OF_A_TERM):
            values[unseen + place] = 0
    return hashes, values * np.repeat(amounts, lengths)


@lru_cache(maxsize=1 << 17)
def _features(term: str) -> _Features:
    framed = f"<{term}>"
    parts = [framed[at : at + size] for size in _PARTS for at in range(len(framed) - size + 1) if size < len(framed)]
    whole = np.frombuffer(hashlib.blake2b(term.encode(), digest_size=12).digest(), dtype="<u4")
    hashes = [whole[:_PLACES_OF_A_TERM], np.array([zlib.crc32(part.encode()) for part in parts], dtype=np.uint32)]
    values = np.full(_PLACES_OF_A_TERM + len(parts), _PARTS_WEIGHT / math.sqrt(max(1, len(parts))))
    values[:_PLACES_OF_A_TERM] = 1 / math.sqrt(_PLACES_OF_A_TERM)
    return _Features(np.concatenate(hashes), values, int(whole[-1]) % _BUCKETS)
