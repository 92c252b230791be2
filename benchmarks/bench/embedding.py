"""The vectors that stand in for an embedding model's: texts that share words are more similar.

As with a model, two texts about different things are a little similar too, so that a search finds as many as it may.
"""

import re
import zlib
from functools import cache

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]

# Names, numbers and long words; short words in lower case are the same in every text.
_WORD = re.compile(r"\b(?:[^\W_a-z]\w*|\w{5,})\b")
_IN_COMMON = 0.8
"""Length of what all texts have in common, before that of their words, which is 1: a similarity of 0.39."""


def embed(text: str, dimensions: int) -> Vector:
    """Return the vector of a text, of length 1: the sum of a random vector for each of its words."""
    words = sorted({word.lower() for word in _WORD.findall(text)}) or [text]
    of_words = _unit(np.add.reduce([_random(word, dimensions) for word in words]))
    return _unit(of_words + _IN_COMMON * _unit(_random("", dimensions)))


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@cache
def _random(word: str, dimensions: int) -> Vector:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(dimensions, np.float32)
