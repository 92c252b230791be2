"""Claims of GraphRAG as answers of a pass, with the schema of that pass; and its names as texts have them."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.core.text.names import folded
from lightrag_dagster.core.text.sanitise import visible
from lightrag_dagster.imports.stored import key_of
from lightrag_dagster.stages.facts.dates import read_when
from lightrag_dagster.stages.facts.standing import PassageText

NOTHING = '{"facts": []}'
"""The answer about a text without claims."""

_TYPES = {"other": "Any named entity."}
_QUOTES = re.compile(r"(?<=[.!?])\s+|[\n\"“”]+")
_AROUND = 4  # words of a date before its year; a quote has more


def claims_of(rows: Iterable[Sequence[str]]) -> tuple[dict[str, tuple[str]], dict[str, Mapping[str, object]]]:
    """Return the answer about each text by its key, and the schema of the pass, of the rows of graphrag_claims.sql.

    A relation is the type of a claim, with its marks. The words are the quotes that the text has, the time the words of
    the text that say the first day: what is not in the text stays as it is, so that it is rejected and counted.
    """
    facts, relations, names = defaultdict[str, list[dict[str, str]]](list), dict[str, object](), dict[str, str]()
    for text, kind, marks, subject, target, first, last, said in rows:
        kind = "".join(filter(str.isprintable, visible(" ".join(kind.split()))))
        name = (kind if folded(kind) else "claim") + (f" ({marks})" if marks else "")
        name = names.setdefault(folded(name), name)
        relations[name] = {"from": "other", **({"to": "other"} if target else {"value": "text"}), "dated": True}
        words = _quoted(said, text)
        when = _as_dated(first, text) if first else last and f"until {last}"
        end = {"object": as_written(target, text)} if target else {"value": words}
        fact = {"subject": as_written(subject, text), "relation": name, **end, "words": words, "when": when}
        facts[key_of(text)].append(fact)
    answers = {key: (json.dumps({"facts": found}, ensure_ascii=False),) for key, found in facts.items()}
    return answers, {"types": _TYPES, "relations": relations} if relations else {}


def _quoted(said: str, text: str) -> str:
    """Return the longest of some quotes that a text has; all of them where it has none."""
    passage = PassageText(text)
    quotes = [said, *(one for one in _QUOTES.split(said) if one.count(" ") >= _AROUND)]
    return max((one for one in quotes if passage.find(one)), key=len, default=said)


def _as_dated(day: str, text: str) -> str:
    """Return the longest words of a text that are read as a time from a day on; the day where there are none."""
    words, year = text.split(), day[:4]
    found = [
        said
        for at in (at for at, word in enumerate(words) if year in word)
        for first in range(max(0, at - _AROUND), at + 1)
        for last in range(at + 1, at + 1 + _AROUND)
        if (when := read_when(said := " ".join(words[first:last]))) and str(when.valid_from) == day[:10]
    ]
    return max(found, key=len, default=day)


def as_written(name: str, text: str) -> str:
    """Return a name, of which GraphRAG keeps capitals alone, as a text has it first; not a part of a word."""
    capitals = _capitals(text)
    start = capitals.find(name)
    end = start + len(name)
    is_part = capitals[max(0, start - 1) : start].isalnum() or capitals[end : end + 1].isalnum()
    found = text[start:end]
    return name if start < 0 or is_part or name_key(found) != name_key(name) else found


@lru_cache(maxsize=1)
def _capitals(text: str) -> str:
    """Return a text in capitals, with as many characters."""
    capitals = text.upper()
    if len(capitals) == len(text):
        return capitals
    return "".join(one.upper() if len(one.upper()) == 1 else one for one in text)
