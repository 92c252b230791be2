"""Summaries and answers made of the sentences of others: which ones to take, never how to put them."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from lightrag_dagster.models.offline.mentions import find_in_question
from lightrag_dagster.models.offline.prose import sentences
from lightrag_dagster.models.offline.terms import terms

_BYTES_A_TOKEN = 4
_MOST_SENTENCES = 5
_LEAST_COVERED = 0.3
"""Share of the question's terms, by rarity, that a chunk must hold for its sentences to count as an answer. It must
also hold the rarest word of a name, when the question has one."""

_LEAST_OF_BEST = 0.6
_NEAR_SHARE = 0.6
_CHUNK_SHARE = 0.3
"""What the terms of the sentences around, and of the whole chunk, count beside those of a sentence, which often leaves
its subject to another: `He was pulled out by the lock keeper.`"""

_REFERENCE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
_APOLOGY = "Sorry, the knowledge base holds nothing that answers this question. [no-context]"


class _Candidate(NamedTuple):
    reference: str
    sentence: str
    terms: frozenset[str]
    near_terms: frozenset[str]
    chunk_terms: frozenset[str]


def summarise(lines: str, max_tokens: int) -> str:
    """Return the sentences of `{"Description": …}` lines, each once, in order, in at most `max_tokens` tokens.

    When they are too many, those are kept that say most for their length that no sentence before them says. A token is
    taken for 4 bytes.
    """
    texts = [record["Description"] for record in _objects(lines, "Description")]
    distinct = list(dict.fromkeys(_finished(part.text) for text in texts for part in sentences(text)))
    room = max_tokens * _BYTES_A_TOKEN
    said: set[str] = set()
    worth = []
    for sentence in distinct:
        own = _terms(sentence)
        worth.append(len(own - said) / math.sqrt(len(sentence)))
        said |= own
    kept = []
    for index in sorted(range(len(distinct)), key=lambda index: (-worth[index], index)):
        size = len(distinct[index].encode()) + 1
        if size <= room:
            kept.append(index)
            room -= size
    if distinct and not kept:
        return distinct[0].encode()[:room].decode(errors="ignore")
    return " ".join(distinct[index] for index in sorted(kept))


def answer(question: str, context: str) -> str:
    """Return the sentences of the context's chunks that share the rarest terms with the question, each with its source.

    They end in a list of at most five references; a context without an answer gives an apology that ends in
    `[no-context]`.
    """
    candidates = list(_candidates(context))
    frequencies = Counter(term for candidate in candidates for term in candidate.terms)
    rarity = {term: math.log(1 + len(candidates) / (1 + frequencies[term])) for term in _terms(question)}

    def weight(shared: frozenset[str]) -> float:
        return sum(rarity[term] for term in sorted(rarity.keys() & shared))

    _, mentions = find_in_question(question)
    names = [_terms(mention.name) for mention in mentions]
    named = {max(sorted(name), key=lambda term: rarity[term]) for name in names if name}
    enough = _LEAST_COVERED * weight(frozenset(rarity))
    scores = {
        candidate: weight(candidate.terms)
        + _NEAR_SHARE * weight(candidate.near_terms - candidate.terms)
        + _CHUNK_SHARE * weight(candidate.chunk_terms)
        for candidate in candidates
        if rarity.keys() & candidate.terms
        and weight(candidate.chunk_terms) >= enough
        and (not named or named & candidate.chunk_terms)
    }
    best = sorted(scores, key=lambda candidate: -scores[candidate])[:_MOST_SENTENCES]
    chosen = [candidate for candidate in best if scores[candidate] >= _LEAST_OF_BEST * scores[best[0]]]
    if not chosen:
        return _APOLOGY
    paths = dict(_REFERENCE.findall(context))
    said = "\n\n".join(f"{candidate.sentence} [{candidate.reference}]" for candidate in chosen)
    cited = dict.fromkeys(candidate.reference for candidate in chosen)
    references = "\n".join(f"- [{number}] {paths[number]}" for number in cited if number in paths)
    return f"{said}\n\n### References\n\n{references}"


def _candidates(context: str) -> Iterator[_Candidate]:
    seen: set[str] = set()
    for record in _objects(context, "reference_id", "content"):
        chunk_terms = _terms(record["content"])
        parts = [part for part in sentences(record["content"]) if not part.level]
        found = [_terms(part.text) for part in parts]
        for index, part in enumerate(parts):
            text = _finished(part.text)
            if text not in seen:
                seen.add(text)
                near = frozenset[str]().union(*found[max(0, index - 1) : index + 2])
                yield _Candidate(record["reference_id"], text, found[index], near, chunk_terms)


def _objects(text: str, *keys: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that stand on a line of their own and whose `keys` are texts."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if all(isinstance(record.get(key), str) for key in keys):
                yield record


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.text for term in terms(text))


def _finished(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?…。！？:;\"'”’)" else f"{sentence}."
