"""Content-defined cutting: boundaries of several strengths, chosen so that an edit moves few of them.

A piece that is too long is cut at its strongest boundaries, and the parts between them again at the next weaker ones.
Short neighbours are packed up to the size. Packing from the left would move every boundary after an edit. So the
boundaries whose following text has the smallest hash within a size on both sides are always cut (as local maxima are in
Bjørner, Blass and Gurevich, "Content-dependent chunking for differential compression", 2010), and the text between two
of these is divided evenly. An edit changes only the text between the minima around it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.text.tokens import Measured
from lightrag_dagster.stages.chunking.chunker import Cut, trimmed

Boundaries = Callable[[int, int], Sequence[int]]
"""Characters start and end → the boundaries between them, ascending: where the next piece starts."""

Positions = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_HASHED_CHARACTERS = 64
_TINY_SHARE = 0.1


class Divider:
    """A divider of one text into spans of at most `size` tokens by boundaries, the strongest first.

    If no boundary is left, a span is cut after every `size` tokens; a character of several tokens is never cut.
    """

    def __init__(self, text: str, measured: Measured, size: int, levels: Sequence[Boundaries]) -> None:
        self._text = text
        self._measured = measured
        self._size = size
        self._levels = [*levels, self._between_tokens]

    def divide(self, start: int, end: int, level: int = 0) -> list[tuple[int, int]]:
        """Return the spans of `text[start:end]`, one after the other, without a gap."""
        first, last = self._measured.positions([start, end]).tolist()
        if last - first <= self._size or level == len(self._levels):
            return [(start, end)]
        inner = self._levels[level](start, end)
        if not inner:
            return self.divide(start, end, level + 1)
        spans: list[tuple[int, int]] = []
        for left, right, fits in self._runs([start, *inner, end]):
            if fits:
                spans += self._pack(left, right, inner[bisect_right(inner, left) : bisect_left(inner, right)])
            else:
                spans += self.divide(left, right, level + 1)
        return spans

    def _runs(self, edges: Sequence[int]) -> list[tuple[int, int, bool]]:
        """Join neighbouring pieces that fit into runs; a tiny one joins a neighbour that does not fit, if possible."""
        lengths, tiny = np.diff(self._measured.positions(edges)).tolist(), self._size * _TINY_SHARE
        runs: list[tuple[int, int, bool]] = []
        run_tokens = 0
        for (left, right), tokens in zip(pairwise(edges), lengths, strict=True):
            fits = tokens <= self._size
            if runs and runs[-1][2] and (fits or run_tokens <= tiny):
                left = runs.pop()[0]
                run_tokens += tokens
            else:
                run_tokens = tokens
            runs.append((left, right, fits))
        if len(runs) > 1 and runs[-1][2] and run_tokens <= tiny:
            _, right, _ = runs.pop()
            runs[-1] = (runs[-1][0], right, False)
        return runs

    def _pack(self, start: int, end: int, inner: Sequence[int]) -> list[tuple[int, int]]:
        """Join the pieces of a run, each of which fits, into spans that fit."""
        positions = self._measured.positions([start, *inner, end])
        if positions[-1] - positions[0] <= self._size:
            return [(start, end)]
        hashes = np.fromiter(map(self._hash, inner), np.uint64, len(inner))
        return list(pairwise([start, *(inner[at - 1] for at in pack(positions, hashes, self._size)), end]))

    def _hash(self, offset: int) -> int:
        following = self._text[offset : offset + _HASHED_CHARACTERS].encode()
        return int.from_bytes(blake2b(following, digest_size=8).digest(), "little")

    def _between_tokens(self, start: int, end: int) -> Sequence[int]:
        """Return a boundary after every `size` tokens; one after each token would be millions in a long text."""
        starts, found = self._measured.starts, [start]
        first, last = self._measured.positions([start, end]).tolist()
        while last - first > self._size:
            cut = int(starts[first + self._size])
            if cut <= found[-1]:  # within a character of more tokens than the size
                following = int(np.searchsorted(starts, cut, "right"))
                if following >= last:
                    break
                cut = int(starts[following])
            found.append(cut)
            first = int(np.searchsorted(starts, cut))
        return found[1:]


def pack(positions: Positions, hashes: Hashes, size: int) -> list[int]:
    """Return the boundaries to cut at, so that the text between two of them has at most `size` tokens.

    Args:
        positions: tokens before the start, each boundary and the end; no two neighbours are further apart than `size`.
        hashes: of the text at each boundary, so that `hashes[n]` belongs to `positions[n + 1]`.
        size: the most tokens.

    Returns:
        Indices of `positions`, ascending.
    """
    # Near an end no minimum counts, so that no small rest is left there.
    low = int(np.searchsorted(positions, positions[0] + size // 2))
    high = int(np.searchsorted(positions, positions[-1] - size // 2, "right"))
    low, high = max(low, 1), min(high, len(positions) - 1)
    minima = [low + at for at in _minima(positions[low:high], hashes[low - 1 : high - 1], size)] if low < high else []
    chosen: list[int] = []
    for left, right in pairwise([0, *minima, len(positions) - 1]):
        chosen += [*_filled(positions, left, right, size), right]
    return chosen[:-1]


def _minima(positions: Positions, hashes: Hashes, radius: int) -> list[int]:
    """Return the positions of hashes that are the smallest within a radius on both sides, the first of equal ones."""
    found, at = [], 0
    while at < len(positions):
        right = int(np.searchsorted(positions, positions[at] + radius, "right"))
        smallest = at + int(np.argmin(hashes[at:right]))
        if smallest > at:
            at = smallest
            continue
        left = int(np.searchsorted(positions, positions[at] - radius))
        if left == at or hashes[left:at].min() > hashes[at]:
            found.append(at)
        at = right
    return found


def _filled(positions: Positions, left: int, right: int, size: int) -> list[int]:
    """Return boundaries between two others that divide the text evenly, into as few parts as fit."""
    chosen: list[int] = []
    while (rest := int(positions[right] - positions[left])) > size:
        target = positions[left] + rest / -(-rest // size)
        most = int(np.searchsorted(positions, positions[left] + size, "right")) - 1
        after = int(np.searchsorted(positions[: right + 1], target))
        near = after if positions[min(after, right)] - target < target - positions[after - 1] else after - 1
        left = max(left + 1, min(near, most))
        chosen.append(left)
    return chosen


def cuts_of(text: str, measured: Measured, spans: Sequence[tuple[int, int]]) -> list[Cut]:
    """Return spans as chunks without the white space at their ends; blank ones are left out."""
    found = [(start, end) for start, end in [trimmed(text, start, end) for start, end in spans] if start < end]
    return [Cut(start, end, tokens) for (start, end), tokens in zip(found, measured.counts(found), strict=True)]


def overlapping(cuts: Sequence[Cut], measured: Measured, overlap: int, starts: Boundaries) -> list[Cut]:
    """Let each chunk begin up to `overlap` tokens earlier, at the first of `starts` there, within the one before."""
    moved = [*cuts[:1]]
    for before, cut in pairwise(cuts):
        earliest = max(measured.back(cut.start, overlap), before.start + 1)
        start = next(iter(starts(earliest, cut.start)), cut.start) if overlap else cut.start
        moved.append(Cut(start, cut.end, measured.count(start, cut.end)))
    return moved
