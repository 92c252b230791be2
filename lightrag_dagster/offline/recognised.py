"""Names that a NER model finds in a text, joined with those of the rules."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from lightrag_dagster.offline.entity_types import OTHER, Vote
from lightrag_dagster.offline.mentions import Mention
from lightrag_dagster.offline.tokens import Token, bare

_WEIGHT = 3.0
"""The weight of the model's vote for the type of a name."""

_SETTLED = 1000.0
"""The weight of a vote for a type that is known."""

_AROUND = "\"'“”‘’«»„`*_.,;:!?()[]{} \t"
_ARTICLE = re.compile(r"(?:the|der|die|das|den|dem)\s+", re.IGNORECASE)


class NameSpan(NamedTuple):
    """The characters `start` to `end` of a text: a name, with its type.

    One that `leads` counts more than the rules' names there. One that is `given` stays as it is in the text, and its
    type counts more than all votes of rules.
    """

    start: int
    end: int
    type: str
    leads: bool
    given: bool = False


class Joined(NamedTuple):
    """The mentions of a sentence in order, and the model's votes for their types, by start and end."""

    mentions: list[Mention]
    votes: Mapping[tuple[int, int], Vote]


Recogniser = Callable[[Sequence[str]], Sequence[Sequence[NameSpan]]]
"""A function that finds the names in each text of a list."""


def join(text: str, tokens: Sequence[Token], mentions: Sequence[Mention], spans: Iterable[NameSpan]) -> Joined:
    """Add to the mentions of a sentence the names of the model that overlap none of them, or lead."""
    joined, votes = list(mentions), dict[tuple[int, int], Vote]()
    for span in spans:
        start, name = (span.start, text[span.start : span.end]) if span.given else _cleaned(text, span)
        end = start + len(name)
        if not span.given and (len(name) < 2 or not any(map(str.isalpha, name))):
            continue
        overlapped = [one for one in joined if start < one.end and one.start < end]
        if span.leads or not overlapped:
            first = sum(one.end <= start for one in tokens)
            after = sum(one.start < end for one in tokens)
            joined = [one for one in joined if one not in overlapped]
            joined.append(Mention(name, "given" if span.given else "name", start, end, first, max(first, after)))
        votes[start, end] = Vote(span.type, _SETTLED if span.given and span.type != OTHER else _WEIGHT)
    return Joined(sorted(joined, key=lambda one: one.start), votes)


def _cleaned(text: str, span: NameSpan) -> tuple[int, str]:
    """Return the start of a name, and the name, without article, quotation marks and possessive ending."""
    inside = text[span.start : span.end]
    start = len(inside) - len(inside.lstrip(_AROUND))
    if article := _ARTICLE.match(inside, start):
        start = article.end()
    return span.start + start, bare(inside[start:].rstrip(_AROUND))
