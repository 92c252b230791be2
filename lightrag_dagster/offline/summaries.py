"""Summaries and answers made of sentences of the texts: chosen, never written."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lightrag_dagster.core.text.terms import terms
from lightrag_dagster.offline.mentions import find_in_question
from lightrag_dagster.offline.prose import sentences

_BYTES_A_TOKEN = 4
_MOST_SENTENCES = 5
_LEAST_COVERED = 0.3
"""Share of the question's terms, by rarity, that a chunk must hold for its sentences to count as an answer. It must
also hold the rarest word of a name, when the question has one."""

_LEAST_OF_BEST = 0.6
_CHUNK_SHARE = 0.5
"""Weight of the chunk's terms relative to those of a sentence, whose subject is often in another sentence."""


class Passage(NamedTuple):
    """A text to answer from, and the number by which it is cited."""

    reference: str
    content: str


class CitedSentence(NamedTuple):
    """A sentence of an answer, and the number of the passage it is from."""

    text: str
    reference: str


def summarise(texts: Iterable[str], max_tokens: int) -> str:
    """Return the sentences of texts, each once, in order, in at most `max_tokens` tokens.

    If there are too many, keep those that add most new terms for their length. A token is taken for 4 bytes.
    """
    distinct = list(dict.fromkeys(_finished(part.text) for text in texts for part in sentences(text)))
    room = max_tokens * _BYTES_A_TOKEN
    said: set[str] = set()
    worth = []
    for sentence in distinct:
        worth.append(len(_terms(sentence) - said) / math.sqrt(len(sentence)))
        said |= _terms(sentence)
    kept = []
    for index in sorted(range(len(distinct)), key=lambda index: (-worth[index], index)):
        size = len(distinct[index].encode()) + 1
        if size <= room:
            kept.append(index)
            room -= size
    if distinct and not kept:
        return distinct[0].encode()[:room].decode(errors="ignore")
    return " ".join(distinct[index] for index in sorted(kept))


def answer(question: str, passages: Iterable[Passage]) -> list[CitedSentence]:
    """Return at most five sentences of passages that share the rarest terms with the question, best first, or none."""
    candidates = list(_candidates(passages))
    frequencies = Counter(term for _, _, found, _ in candidates for term in found)
    rarity = {term: math.log(1 + len(candidates) / (1 + frequencies[term])) for term in _terms(question)}

    def weight(found: frozenset[str]) -> float:
        return sum(rarity[term] for term in sorted(rarity.keys() & found))

    names = [sorted(_terms(mention.name)) for mention in find_in_question(question)[1]]
    named = {max(name, key=lambda term: rarity[term]) for name in names if name}
    enough = _LEAST_COVERED * weight(frozenset(rarity))
    scores = {
        (sentence, reference): weight(found) + _CHUNK_SHARE * weight(around)
        for sentence, reference, found, around in candidates
        if rarity.keys() & found and weight(around) >= enough and (not named or named & around)
    }
    best = sorted(scores, key=lambda candidate: -scores[candidate])[:_MOST_SENTENCES]
    return [CitedSentence(*one) for one in best if scores[one] >= _LEAST_OF_BEST * scores[best[0]]]


def _candidates(passages: Iterable[Passage]) -> Iterator[tuple[str, str, frozenset[str], frozenset[str]]]:
    """Yield each sentence of the passages, the reference of its passage, and the terms of both."""
    seen: set[str] = set()
    for reference, content in passages:
        around = _terms(content)
        texts = [_finished(part.text) for part in sentences(content) if not part.level]
        for text in dict.fromkeys(text for text in texts if text not in seen):
            seen.add(text)
            yield text, reference, _terms(text), around


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.text for term in terms(text))


def _finished(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?…。！？:;\"'”’)" else f"{sentence}."
