"""Names of a question, linked to entities."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.indexes.text_index import TextIndex, spans_of_words, text_terms

Mask = npt.NDArray[np.bool_]


class Link(NamedTuple):
    """A part of a question that is the name of entities.

    `probability` is that of the part being meant as the name, and not as ordinary words: the share of the chunks with
    its words in which the entity was found (Mihalcea and Csomai, "Wikify!", 2007). `weight` is how rare its words are.
    """

    name: str
    entities: Rows
    probability: float
    weight: float


def link_names(question: str, texts: TextIndex, spread: npt.NDArray[np.int64], visible: Mask) -> list[Link]:
    """Link the parts of a question that are names, the longest first; no word is part of two names.

    Args:
        question: the question.
        texts: terms and names of the snapshot.
        spread: the number of chunks of each entity; one without chunks is not linked.
        visible: the chunks that may be found.
    """
    folded, words = spans_of_words(question)
    spans = [
        (start, start + length)
        for length in range(min(texts.longest_name, len(words)), 0, -1)
        for start in range(len(words) - length + 1)
    ]
    named = texts.entities_named([" ".join(folded[first:end] for first, end in words[slice(*span)]) for span in spans])
    used = np.zeros(len(words), dtype=bool)
    links: dict[str, Link] = {}
    for (start, end), entities in zip(spans, named, strict=True):
        entities = entities[spread[entities] > 0]
        name = folded[words[start][0] : words[end - 1][1]]
        if not len(entities) or used[start:end].any() or not (own := dict.fromkeys(text_terms(name))):
            continue
        used[start:end] = True
        mentioned = int(spread[entities].max())
        written = int(visible[texts.chunks_of_all(own)].sum())
        links[name] = Link(name, entities, mentioned / max(mentioned, written), sum(map(texts.rarity, own)))
    return list(links.values())


def coverage(question: str, links: Sequence[Link], texts: TextIndex) -> float:
    """Return the share of a question, by rarity of its terms, that is probably meant as names; 0 to 1."""
    whole = sum(map(texts.rarity, dict.fromkeys(text_terms(question))))
    return min(1.0, sum(link.probability * link.weight for link in links) / whole) if whole else 0.0
