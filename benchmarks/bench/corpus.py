"""The passages of MuSiQue with what GPT-3.5 extracted from them, and questions about them.

`benchmarks/data/musique/LICENSE.md` says whose they are.
"""

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.bench import ROOT

MOST = 1000
"""Most passages that a benchmark may index."""
_DATA = ROOT / "benchmarks" / "data" / "musique"
_NAME = re.compile(r"[^\W\d_a-z][\w'’.-]*(?:\s+[^\W\d_a-z][\w'’.-]*)*")
_LONG_WORD = re.compile(r"\b[a-z]{5,}\b")


@dataclass(frozen=True)
class Passage:
    """A document of one chunk, and what a model finds in it."""

    name: str
    text: str
    entities: tuple[str, ...]
    triples: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Question:
    """A question with its keywords, and the names of the passages that support its answer."""

    text: str
    low_level: tuple[str, ...]
    high_level: tuple[str, ...]
    supporting: tuple[str, ...]


def passage(index: int) -> Passage:
    """Return the passage of an index; past the last one, two neighbours are joined to a further passage."""
    recorded = _recorded()
    if index < len(recorded):
        return recorded[index]
    first = index - len(recorded)
    return _joined(f"p{index:05}", recorded[first], recorded[first + 1])


def edited(index: int) -> Passage:
    """Return a passage after an edit, which adds the text of another one, half of all passages further on."""
    recorded = _recorded()
    return _joined(passage(index).name, passage(index), recorded[(index + len(recorded) // 2) % len(recorded)])


@cache
def questions() -> tuple[Question, ...]:
    """Return all questions; names in them are the low-level keywords, other long words the high-level ones."""
    return tuple(_question(row["question"], row["supporting"]) for row in _rows("questions"))


@cache
def _recorded() -> tuple[Passage, ...]:
    return tuple(
        Passage(
            row["id"],
            f"{row['title']}\n\n{row['text']}",
            tuple(row["entities"]),
            # Some have two parts or four: the model lost count.
            tuple((one[0], one[1], one[2]) for one in row["triples"] if len(one) == 3),
        )
        for row in _rows("passages")
    )


def _rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(_DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _joined(name: str, first: Passage, second: Passage) -> Passage:
    entities = dict.fromkeys((*first.entities, *second.entities))
    triples = dict.fromkeys((*first.triples, *second.triples))
    return Passage(name, f"{first.text}\n\n{second.text}", tuple(entities), tuple(triples))


def _question(text: str, supporting: Sequence[str]) -> Question:
    # The first word is capitalised whatever it is.
    rest = text.split(maxsplit=1)[1]
    low, high = _NAME.findall(rest), _LONG_WORD.findall(rest)
    return Question(text, tuple(low) or (text,), tuple(high) or (text,), tuple(supporting))
