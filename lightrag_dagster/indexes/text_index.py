"""The index of words and names for questions: sorted, memory-mapped arrays next to those of the graph.

terms.npy                          uint64[terms]: hashes of the terms of all chunks, ascending
term_chunks_offsets.npy, _values   the chunks that a term occurs in: rows of `chunks.arrow`, ascending
term_weights.npy                   float32, one per value: weight of the term in that chunk (BM25 without rarity)
names.npy                          uint64[names]: hashes of entity names as words, ascending
name_entities.npy                  int32[names]: the entity of that name; several entities may share one
name_parts.npy                     uint64[parts]: hashes of pieces of three letters of those names, ascending
part_names_offsets.npy, _values    the names that a piece occurs in: positions in names.npy
name_sizes.npy                     int16[names]: number of pieces of a name
text_sizes.npy                     int32[2]: number of chunks, and words of the longest name

The arrays are made whole for each generation, so that they depend on its texts alone. A chunk is indexed as it is
embedded: its context, then its content. BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.text.composed import as_typed
from lightrag_dagster.core.text.terms import CJK, MARKS
from lightrag_dagster.indexes.arrays import Lists, Rows, map_array, map_lists

Hashes = npt.NDArray[np.uint64]
Scores = npt.NDArray[np.float32]

_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+(?:[{MARKS}]+[^\W{CJK}]*)*")
_POSSESSIVE = re.compile(r"['’]s\b")
_LONGEST_TITLE = 120
_PART = 3


@dataclass(frozen=True)
class TextIndex:
    """Terms of chunks and names of entities, by hash."""

    chunks: int
    terms: Hashes
    term_chunks: Lists
    term_weights: Scores
    names: Hashes
    name_entities: Rows
    longest_name: int
    parts: Hashes
    part_names: Lists
    name_sizes: npt.NDArray[np.int16]

    @classmethod
    def open(cls, folder: Path) -> "TextIndex":
        """Map the arrays of a folder; raises OSError or ValueError when one is missing or damaged."""
        chunks, longest_name = map_array(folder, "text_sizes").tolist()
        return cls(
            chunks=chunks,
            terms=map_array(folder, "terms"),
            term_chunks=map_lists(folder, "term_chunks"),
            term_weights=map_array(folder, "term_weights"),
            names=map_array(folder, "names"),
            name_entities=map_array(folder, "name_entities"),
            longest_name=longest_name,
            parts=map_array(folder, "name_parts"),
            part_names=map_lists(folder, "part_names"),
            name_sizes=map_array(folder, "name_sizes"),
        )

    def chunks_of(self, term: str) -> Rows:
        """Return the chunks that a term occurs in, ascending."""
        at = _find(self.terms, hash_of(term))
        return self.term_chunks.values[:0] if at is None else self.term_chunks.of(at)

    def chunks_of_all(self, wanted: Iterable[str]) -> Rows:
        """Return the chunks in which all of the terms occur, ascending; none without terms."""
        lists = sorted((self.chunks_of(term) for term in wanted), key=len)
        found = lists[0] if lists else self.term_chunks.values[:0]
        for other in lists[1:]:
            found = found[np.isin(found, other, assume_unique=True)]
        return found

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term, as BM25 defines it; above 0, also for an unknown term."""
        return float(np.log1p((self.chunks - len(self.chunks_of(term)) + 0.5) / (len(self.chunks_of(term)) + 0.5)))

    def scores(self, wanted: Iterable[str]) -> Scores:
        """Return the BM25 score of every chunk for some terms, each counted once."""
        scores = np.zeros(self.chunks, dtype=np.float32)
        for term in dict.fromkeys(wanted):
            if (at := _find(self.terms, hash_of(term))) is not None:
                first, end = self.term_chunks.offsets[at : at + 2]
                scores[self.term_chunks.values[first:end]] += self.rarity(term) * self.term_weights[first:end]
        return scores

    def entities_named(self, names: Sequence[str]) -> list[Rows]:
        """Return the entities of each name, given as words with a space between."""
        wanted = np.array([hash_of(name) for name in names], dtype=np.uint64)
        first, end = (np.searchsorted(self.names, wanted, side) for side in ("left", "right"))
        return [self.name_entities[start:stop] for start, stop in zip(first, end, strict=True)]

    def entities_like(self, name: str, least: float, limit: int) -> list[int]:
        """Return at most `limit` entities whose names share most pieces of three letters with a name, best first.

        The name is words with a space between; `least` is the smallest Dice coefficient of the two sets of pieces.
        """
        own = name_parts(name)
        places = [_find(self.parts, hash_of(part)) for part in own]
        lists = [self.part_names.of(place) for place in places if place is not None]
        common = np.bincount(np.concatenate([self.part_names.values[:0], *lists]), minlength=len(self.names))
        near = np.flatnonzero(common >= least * len(own) / (2 - least))  # a name has no fewer pieces than are common
        likeness = 2 * common[near] / (len(own) + self.name_sizes[near])
        near, likeness = near[likeness >= least], likeness[likeness >= least]
        entities: list[int] = self.name_entities[near[np.argsort(-likeness, kind="stable")][:limit]].tolist()
        return entities


def passage(content: str, context: str | None) -> str:
    """Return a chunk as it is embedded, indexed and reranked: its context, if any, and its content."""
    return f"{context}\n\n{content}" if context else content


def title_of(text: str) -> str:
    """Return the first line of a passage if it is short enough for a title, else an empty text."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_TITLE else ""


def spans_of_words(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text without case and accents, and the spans of its words; a CJK character is a word."""
    folded = _POSSESSIVE.sub("", as_typed(unicodedata.normalize("NFKC", text).casefold()))
    return folded, [word.span() for word in _WORD.finditer(folded)]


def name_words(name: str) -> list[str]:
    """Return the words of a name, as questions are searched for them."""
    folded, spans = spans_of_words(name)
    return [folded[start:end] for start, end in spans]


def name_parts(name: str) -> set[str]:
    """Return the pieces of three letters of a name, with a space before and after it."""
    framed = f" {name} "
    return {framed[at : at + _PART] for at in range(len(framed) - _PART + 1)}


def _find(hashes: Hashes, wanted: int) -> int | None:
    at = int(np.searchsorted(hashes, np.uint64(wanted)))
    return at if at < len(hashes) and int(hashes[at]) == wanted else None


def hash_of(text: str) -> int:
    """Return the 64-bit key of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
