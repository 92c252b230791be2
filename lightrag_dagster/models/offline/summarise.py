"""Summaries and answers made of sentences of the texts: chosen, never written."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lightrag_dagster.models.offline.mentions import find_in_question
from lightrag_dagster.models.offline.prose import sentences
from lightrag_dagster.models.offline.terms import terms
from lightrag_dagster.stages.prompts import NO_CONTEXT

_BYTES_A_TOKEN = 4
_MOST_SENTENCES = 5
_LEAST_COVERED = 0.3
"""Share of the question's terms, by rarity, that a chunk must hold for its sentences to count as an answer. It must
also hold the rarest word of a name, when the question has one."""

_LEAST_OF_BEST = 0.6
_CHUNK_SHARE = 0.5
"""Weight of the chunk's terms beside those of a sentence, whose subject is often in another sentence."""

_REFERENCE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)


def summarise(lines: str, max_tokens: int) -> str:
    """Return the sentences of `{"Description": …}` lines, each once, in order, in at most `max_tokens` tokens.

    When they are too many, those are kept that add most new terms for their length. A token is taken for 4 bytes.
    """
    texts = [record["Description"] for record in _objects(lines, "Description")]
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


def answer(question: str, context: str) -> str:
    """Return the sentences of the context's chunks that share the rarest terms with the question, each with its source.

    They end in a list of at most five references; a context without an answer gives `NO_CONTEXT`.
    """
    candidates = list(_candidates(context))
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
    chosen = [candidate for candidate in best if scores[candidate] >= _LEAST_OF_BEST * scores[best[0]]]
    if not chosen:
        return NO_CONTEXT
    paths = dict(_REFERENCE.findall(context))
    said = "\n\n".join(f"{sentence} [{reference}]" for sentence, reference in chosen)
    cited = dict.fromkeys(reference for _, reference in chosen)
    references = "\n".join(f"- [{number}] {paths[number]}" for number in cited if number in paths)
    return f"{said}\n\n### References\n\n{references}"


def _candidates(context: str) -> Iterator[tuple[str, str, frozenset[str], frozenset[str]]]:
    """Yield each sentence of the chunks, the reference of its chunk, and the terms of both."""
    seen: set[str] = set()
    for record in _objects(context, "reference_id", "content"):
        around = _terms(record["content"])
        texts = [_finished(part.text) for part in sentences(record["content"]) if not part.level]
        for text in dict.fromkeys(text for text in texts if text not in seen):
            seen.add(text)
            yield text, record["reference_id"], _terms(text), around


def _objects(text: str, *keys: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects on a line of their own whose `keys` are texts."""
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
