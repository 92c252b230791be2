"""The vectors that a local model returns, and the model in memory that returns them."""

import os
from typing import NamedTuple, Protocol

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.models.local.configuration import Kind

BATCH_TOKENS = 8_192
"""Tokens in one batch of a model, so that long texts do not take all memory."""


class Encoded(NamedTuple):
    """Vectors, not yet of unit length, and the number of tokens read."""

    vectors: Vectors
    tokens: int


class LoadedModel(Protocol):
    """A model in memory, which reads `limit` tokens of a text.

    It uses all processors, or a GPU, by itself: one call at a time.
    """

    limit: int

    def encode(self, kind: Kind, texts: list[str]) -> Encoded:
        """Return a vector for each text."""

    def lengths(self, kind: Kind, texts: list[str]) -> list[int]:
        """Return the number of tokens of each text with its prompt, those that are not read among them."""


def processors() -> int:
    """Return the number of threads to use: OMP_NUM_THREADS, which torch reads as well, or all processors.

    The variable may list numbers of nested levels; the first is that of the outer one.
    """
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first if first.isdecimal() else 0) or os.cpu_count() or 1
