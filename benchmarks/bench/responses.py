"""The responses that stand in for a language model's; both systems get the same.

Both ask for the same kinds of things in words of their own: entities and relations as rows, which begin with `entity`
or `relation`, have `<|#|>` between their fields and end with `<|COMPLETE|>`; what was missed in a first answer; and a
summary of descriptions that are given as lines of JSON. The passage is in the last fence of the request.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from benchmarks.bench.corpus import Passage
from benchmarks.bench.prefixes import text_of

Kind = Literal["extract", "glean", "summarise"]
Messages = Sequence[Mapping[str, Any]]

COMPLETE = "<|COMPLETE|>"
_DELIMITER = "<|#|>"
_FENCED = re.compile(r"^```\w*\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_DESCRIPTION = re.compile(r'^\{"Description": .*\}$', re.MULTILINE)
_SENTENCES = 3
"""Most sentences that the description of an entity has."""
_SUMMARY_CHARACTERS = 1500


class UnknownRequestError(Exception):
    """A request that none of the responses answers."""


class Responses:
    """The responses about these passages."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._rows = {_letters(one.text): rows(one) for one in passages}

    def answer(self, messages: Messages) -> tuple[Kind, str]:
        """Return what a request asks for, and the response.

        Raises:
            UnknownRequestError: it is about no passage that is known, nor anything else.
        """
        asked = text_of(messages[-1])
        if any(message["role"] == "assistant" for message in messages):
            return "glean", COMPLETE
        if descriptions := _DESCRIPTION.findall(asked):
            return "summarise", summary(json.loads(line)["Description"] for line in descriptions)
        fenced = _FENCED.findall(asked)
        if fenced and (found := self._rows.get(_letters(fenced[-1]))):
            return "extract", found
        raise UnknownRequestError(f"no response to a request that ends in {asked[-200:]!r}")


def rows(passage: Passage) -> str:
    """Return what is extracted from a passage, as rows."""
    said: dict[str, list[str]] = {name: [] for name in passage.entities}
    for source, what, target in passage.triples:
        for name in (source, target):
            said.setdefault(name, []).append(f"{source} {what} {target}.")
    title = passage.text.partition("\n")[0]
    entities = (
        ("entity", name, "Other", " ".join(dict.fromkeys(sentences[:_SENTENCES])) or f"{name} is named in {title}.")
        for name, sentences in said.items()
    )
    relations = (
        ("relation", source, target, what, f"{source} {what} {target}.")
        for source, what, target in passage.triples
        if source != target
    )
    return "\n".join([*map(_DELIMITER.join, (*entities, *relations)), COMPLETE])


def summary(descriptions: Iterable[str]) -> str:
    """Return the sentences of all descriptions, each once, in the order of the alphabet, up to a length."""
    sentences = sorted({sentence for text in descriptions for sentence in text.split(". ")})
    return ". ".join(sentences)[:_SUMMARY_CHARACTERS]


def _letters(text: str) -> str:
    """Return the letters and digits, which reading and cutting a text leave as they are."""
    return "".join(filter(str.isalnum, text))
