"""Tokens: counts, and cuts of text at token boundaries that never cut a character."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tiktoken

from lightrag_dagster.core.text.encodings import load_encoding

# tiktoken's regular expressions fail within a run of about a million spaces.
_PIECE = 100_000


class Span(NamedTuple):
    """A window of a text: `text[char_start:char_end]`, and the number of tokens it was cut from."""

    char_start: int
    char_end: int
    tokens: int


@cache
def load_tokenizer(encoding: str) -> "Tokenizer":
    """Return the tokenizer for a tiktoken encoding; loading takes a third of a second, once.

    Raises:
        TokenizerError: the encoding cannot be loaded.
    """
    return Tokenizer(load_encoding(encoding))


class Tokenizer:
    """Token arithmetic in one encoding. Special tokens such as `<|endoftext|>` are ordinary text to it.

    Texts must be encodable in UTF-8 (no lone surrogates), which sanitised text is.
    """

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        self._known_lengths = np.zeros(encoding.n_vocab, np.uint16)

    def encode(self, text: str) -> npt.NDArray[np.uint32]:
        """Return the tokens of a text. Releases the GIL."""
        try:
            return self._encoding.encode_to_numpy(text, disallowed_special=())
        except ValueError:
            if len(text) <= _PIECE:
                raise
            pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
            return np.concatenate([self._encoding.encode_to_numpy(piece, disallowed_special=()) for piece in pieces])

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))

    def counts(self, texts: list[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [self.count(text) for text in texts]

    def truncate(self, text: str, max_tokens: int) -> str:
        """Return the longest start of the text, cut between characters, that has at most `max_tokens` when encoded."""
        tokens = self.encode(text)
        kept = max_tokens
        while kept > 0 and len(tokens) > max_tokens:
            size = int(self._byte_lengths(tokens[:kept]).sum(dtype=np.int64))
            text = text.encode("utf-8")[:size].decode("utf-8", "ignore")  # ignores a character cut in half
            # Encoded by itself a start can have a token or two more than it had within the text.
            kept -= 1
            tokens = self.encode(text)
        return text if len(tokens) <= max_tokens else ""

    def windows(self, text: str, size: int, overlap: int) -> list[Span]:
        """Cut a text into windows of `size` tokens, each sharing `overlap` tokens with the one before.

        Edges inside a character move to its start, and spans shrink past whitespace at their ends. A window that is
        then empty, or inside one of its neighbours, is left out. (LightRAG cuts 1200 tokens into windows of 1200 and
        100; here it is one.)
        """
        tokens = self.encode(text)
        first = np.arange(0, len(tokens), size - overlap)
        last = np.minimum(first + size, len(tokens))
        edges = self._char_offsets(text, tokens, np.concatenate([first, last])).tolist()
        spans: list[Span] = []
        for left, right, count in zip(edges[: len(first)], edges[len(first) :], (last - first).tolist(), strict=True):
            window = text[left:right]
            start = right - len(window.lstrip())
            end = left + len(window.rstrip())
            if start >= end or (spans and end <= spans[-1].char_end):
                continue
            if spans and start == spans[-1].char_start:
                spans.pop()
            spans.append(Span(start, end, count))
        return spans

    def measure(self, text: str) -> "Measured":
        """Return the tokens of a text, to look up the length of each of its parts."""
        return Measured(self._char_offsets(text, self.encode(text), slice(-1)))

    def _byte_lengths(self, tokens: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint16]:
        """Return the length of each token; those of the whole vocabulary take longer than to cut a few texts."""
        lengths = self._known_lengths[tokens]
        if not lengths.all():
            for token in np.unique(tokens[lengths == 0]).tolist():
                self._known_lengths[token] = len(self._encoding.decode_single_token_bytes(token))
            lengths = self._known_lengths[tokens]
        return lengths

    def _char_offsets(
        self, text: str, tokens: npt.NDArray[np.uint32], positions: npt.NDArray[np.int64] | slice
    ) -> npt.NDArray[np.int64]:
        """Return the character offset of each token position; the first must be 0.

        Token boundaries are byte offsets. They are floored to the first byte of a character, and characters counted
        between them: exact, and a hundred times faster than decoding token by token.
        """
        edges = np.zeros(len(tokens) + 1, np.int64)
        np.cumsum(self._byte_lengths(tokens), out=edges[1:])
        offsets = edges[positions]
        if text.isascii():
            return offsets
        data = np.frombuffer(text.encode("utf-8"), np.uint8)
        starts_character = (data & 0xC0) != 0x80
        distinct, where = np.unique(offsets, return_inverse=True)
        inner = distinct[distinct < len(data)]
        characters = np.concatenate([np.zeros(1, np.int64), np.add.reduceat(starts_character, inner, dtype=np.int64)])
        before = np.cumsum(characters)[: len(distinct)]
        before[: len(inner)] -= ~starts_character[inner]
        return before[where]


class Measured:
    """The tokens of a text, encoded once, to look up the length of each of its parts.

    A part counts the tokens that it touches; encoded by itself it may have a token or two more or fewer. `starts` is
    the character at which each token starts, ascending; the tokens of one character start together.
    """

    def __init__(self, starts: npt.NDArray[np.int64]) -> None:
        self.starts = starts

    def counts(self, spans: Sequence[tuple[int, int]]) -> list[int]:
        """Return the number of tokens that each `text[start:end]` touches; none may be empty."""
        starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
        within = self.starts[np.searchsorted(self.starts, starts, "right") - 1]
        counts: list[int] = (np.searchsorted(self.starts, ends) - np.searchsorted(self.starts, within)).tolist()
        return counts

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens that `text[start:end]` touches; 0 where it is empty."""
        return self.counts([(start, end)])[0] if start < end else 0

    def positions(self, offsets: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return for each character the number of tokens that start before it."""
        return np.searchsorted(self.starts, np.asarray(offsets, np.int64))

    def back(self, end: int, tokens: int) -> int:
        """Return the first character of a part that ends at `end` and has at most this number of tokens."""
        first = max(0, int(np.searchsorted(self.starts, end)) - tokens)
        return int(self.starts[first]) if first < len(self.starts) else end
