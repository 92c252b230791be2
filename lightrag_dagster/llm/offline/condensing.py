"""Summaries and answers made of the sentences of others: which ones to take, never how to put them."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lightrag_dagster.llm.offline.prose import sentences
from lightrag_dagster.llm.offline.terms import terms

_BYTES_A_TOKEN = 4
_MOST_SENTENCES = 5
_LEAST_COVERED = 0.3
"""Share of the question, by rarity of its terms, that the best sentence and its chunk must hold."""

_LEAST_OF_BEST = 0.6
_OF_CHUNK = 0.3
"""What the chunk around a sentence counts for, since a sentence often leaves its subject to the one before."""

_REFERENCE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
_APOLOGY = "Sorry, the knowledge base holds nothing that answers this question. [no-context]"


def summarise(lines: str, max_tokens: int) -> str:
    """Return the sentences of `{"Description": …}` lines, each once, in order, in at most `max_tokens` tokens.

    When they are too many, those that add most new terms for their length are kept. A token is taken for 4 bytes.
    """
    texts = [str(record.get("Description", "")) for record in _records(lines)]
    distinct = list(dict.fromkeys(_finished(part.text) for text in texts for part in sentences(text)))
    contents = [{term.text for term in terms(sentence)} for sentence in distinct]
    costs = [(len(sentence.encode()) + 1) / _BYTES_A_TOKEN for sentence in distinct]
    left, kept, covered = float(max_tokens), set[int](), set[str]()
    open_ = set(range(len(distinct)))
    if sum(costs) <= left:
        return " ".join(distinct)
    while fitting := [index for index in open_ if costs[index] <= left]:
        best = max(fitting, key=lambda index: (len(contents[index] - covered) / math.sqrt(costs[index]), -index))
        kept.add(best)
        covered |= contents[best]
        left -= costs[best]
        open_ = set(fitting) - {best}
    return " ".join(distinct[index] for index in sorted(kept)) or distinct[0][: max_tokens * _BYTES_A_TOKEN]
