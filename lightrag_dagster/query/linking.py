"""Names of a question, linked to entities: exactly, then with small differences of spelling."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.text.terms import text_terms
from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.indexes.text_index import TextIndex, name_words, spans_of_words

Mask = npt.NDArray[np.bool_]

_MEANT = 0.5
_LONGEST_SIMILAR = 5
_SIMILAR_PARTS = 0.5
_SIMILAR_WORDS = 0.75
_CANDIDATES = 20
_MOST_UNKNOWN = 50
"""Words of a question that no chunk has, and that may be misspelt names: looking for names like them takes long."""


class Link(NamedTuple):
    """A part of a question that is the name of entities.

    `probability` is that of the part being meant as the name, and not as ordinary words: the share of the chunks with
    its words in which the entity was found (Mihalcea and Csomai, "Wikify!", 2007). `weight` is how rare its words are.
    """

    name: str
    entities: Rows
    probability: float
    weight: float


@dataclass(frozen=True)
class Names:
    """The entities that a question may name: those with a chunk that may be found.

    `spread` is the number of chunks of each entity, `visible` a mask of the chunks that may be found, `name_of` gives
    the name of an entity.
    """

    texts: TextIndex
    spread: npt.NDArray[np.int64]
    visible: Mask
    name_of: Callable[[int], str]

    def link(self, name: str, entities: Rows, similarity: float = 1.0) -> Link | None:
        """Return the link of a name to its entities, or None where none may be found, or the name has no term."""
        entities = entities[self.spread[entities] > 0]
        if not len(entities) or not (own := dict.fromkeys(text_terms(name))):
            return None
        mentioned = int(self.spread[entities].max())
        written = int(self.visible[self.texts.chunks_of_all(own)].sum())
        return Link(name, entities, similarity * mentioned / max(mentioned, written), sum(map(self.texts.rarity, own)))


def link_names(question: str, names: Names) -> list[Link]:
    """Link the parts of a question that are names, the longest first; no word is part of two names.

    The other words may be a name with small differences of spelling.
    """
    folded, words = spans_of_words(question)
    lengths = range(min(names.texts.longest_name, len(words)), 0, -1)
    spans = [(start, start + length) for length in lengths for start in range(len(words) - length + 1)]
    found = names.texts.entities_named(
        [" ".join(folded[first:end] for first, end in words[slice(*one)]) for one in spans]
    )
    used, meant = np.zeros(len(words), dtype=bool), np.zeros(len(words), dtype=bool)
    links: dict[str, Link] = {}
    for (start, end), entities in zip(spans, found, strict=True):
        link = None if used[start:end].any() else names.link(folded[words[start][0] : words[end - 1][1]], entities)
        if link:
            used[start:end] = True
            meant[start:end] = link.probability >= _MEANT
            links[link.name] = link
    spelt = [folded[first:end] for first, end in words]
    for run in unknown_runs(spelt, names.texts):
        link = None if meant[run].any() else _similar(spelt[run], names)
        if link:
            meant[run] = True
            links.setdefault(link.name, link)
    return list(links.values())


def unknown_runs(words: Sequence[str], texts: TextIndex) -> Iterator[slice]:
    """Yield the runs of words that hold one of the first 50 that no chunk has, the longest first.

    None ends in a stop word.

    A word that no chunk has cannot be looked up as it is: it is misspelt, or written otherwise than in the documents.
    """
    unknown = np.array([any(not len(texts.chunks_of(one)) for one in text_terms(word)) for word in words], dtype=bool)
    plain = np.array([bool(text_terms(word)) for word in words], dtype=bool)
    end = len(words) if unknown.sum() <= _MOST_UNKNOWN else int(np.flatnonzero(unknown)[_MOST_UNKNOWN])
    for length in range(min(_LONGEST_SIMILAR, end), 0, -1):
        for start in range(end - length + 1):
            run = slice(start, start + length)
            if unknown[run].any() and plain[start] and plain[start + length - 1]:
                yield run


def _similar(spelt: Sequence[str], names: Names) -> Link | None:
    """Link some words to the entities whose name has words like these, in this order."""
    best: dict[str, float] = {}
    for entity in names.texts.entities_like(" ".join(spelt), _SIMILAR_PARTS, _CANDIDATES):
        words = name_words(names.name_of(entity))
        if (similarity := likeness(spelt, words)) >= _SIMILAR_WORDS:
            best[" ".join(words)] = similarity
    if not best:
        return None
    name = max(best, key=lambda one: (best[one], one))
    return names.link(name, names.texts.entities_named([name])[0], best[name])


def likeness(spelt: Sequence[str], name: Sequence[str]) -> float:
    """Return how alike the least similar pair of words is, 0 to 1; 0 unless there are as many, with the same digits.

    For two words, it is the share of their characters in their longest common subsequence.
    """
    from rapidfuzz.distance.Indel import normalized_similarity  # slow to import, and most questions are spelt well

    if len(spelt) != len(name):
        return 0.0
    pairs = list(zip(spelt, name, strict=True))
    if any(one != other and not (one + other).isalpha() for one, other in pairs):
        return 0.0
    return min((normalized_similarity(one, other) for one, other in pairs), default=0.0)


def coverage(question: str, links: Sequence[Link], texts: TextIndex) -> float:
    """Return the share of a question, by rarity of its terms, that is probably meant as names; 0 to 1."""
    whole = sum(map(texts.rarity, dict.fromkeys(text_terms(question))))
    return min(1.0, sum(link.probability * link.weight for link in links) / whole) if whole else 0.0
