"""The words of a passage about some names: whole sentences where they are short enough."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import pairwise

from lightrag_dagster.stages.chunking.boundaries import sentences
from lightrag_dagster.stages.chunking.chunker import trimmed

Span = tuple[int, int]

MOST = 400
"""Most characters of a quote."""

_WORD = re.compile(r"\S+")


def quoted(text: str, groups: Sequence[Collection[str]], statement: str = "") -> Span:
    """Return the span of the sentences in which a name of each group is, the names nearest to each other.

    A statement that was taken from the text word by word is quoted itself, or the first of its sentences that was. One
    name alone is quoted with the sentences right behind that have it as well. If the sentences are too long, the words
    around the names are quoted; if no name is in the text, its first words.
    """
    if span := _verbatim(text, statement):
        return span
    found = [spans for spans in (_occurrences(text, names) for names in groups) if spans]
    anchor = _nearest(found)
    if anchor is None:
        return _around(text, (0, 0))
    if anchor[1] - anchor[0] > MOST:
        found, anchor = found[:1], found[0][0]
    bounds = [0, *sentences(text)(0, len(text)), len(text)]
    spans = [(start, end) for start, end in pairwise(bounds) if start < anchor[1] and end > anchor[0]]
    start, end = spans[0][0], spans[-1][1]
    if end - start > MOST:
        return _around(text, anchor)
    if len(found) == 1:
        for first, last in pairwise(bounds):
            named = any(first <= name < last for name, _ in found[0])
            if first == end and named and last - start <= MOST:
                end = last
    return trimmed(text, start, end)


def _verbatim(text: str, statement: str) -> Span | None:
    """Return the span of a statement, or of its first sentence that a text has; any spaces are equal."""
    ends = sentences(statement)(0, len(statement))
    for one in (statement, *(statement[start:end] for start, end in pairwise([0, *ends, len(statement)]))):
        words = one.split() if len(one) <= MOST else []
        if words and (found := re.search(r"\s+".join(map(re.escape, words)), text)):
            return found.span()
    return None


def _occurrences(text: str, names: Collection[str]) -> list[Span]:
    """Return the places of names as whole words, in any case, in order."""
    parts = [_pattern(name) for name in sorted(names, key=len, reverse=True) if name.strip()]
    return [one.span() for one in re.finditer("|".join(parts), text, re.IGNORECASE)] if parts else []


def _pattern(name: str) -> str:
    words = name.split()
    before = r"(?<!\w)" if _has_spaces(words[0][0]) else ""
    after = r"(?!\w)" if _has_spaces(words[-1][-1]) else ""
    return before + r"\s+".join(map(re.escape, words)) + after


def _has_spaces(letter: str) -> bool:
    """Return True if words with this letter are written with spaces between them."""
    return letter.isalnum() and unicodedata.east_asian_width(letter) not in "WF"


def _nearest(found: Sequence[Sequence[Span]]) -> Span | None:
    """Return the smallest span with an occurrence of the first group and one of each other, the first of equal ones."""
    if not found:
        return None
    spans = list(found[0])
    for others in found[1:]:
        at, joined = 0, list[Span]()
        for start, end in spans:
            while at + 1 < len(others) and others[at + 1][0] <= start:
                at += 1
            near = others[at : at + 2]
            joined.append(min(((min(start, a), max(end, b)) for a, b in near), key=lambda one: one[1] - one[0]))
        spans = joined
    return min(spans, key=lambda one: (one[1] - one[0], one[0]))


def _around(text: str, anchor: Span) -> Span:
    """Return the words around a span, at most MOST characters."""
    start, end = anchor[0], min(anchor[1], anchor[0] + MOST)
    room = MOST - (end - start)
    first = max(0, start - room // 2)
    last = min(len(text), first + MOST)
    # Half a word at an edge is left out, unless it is all there is.
    words = [one.span() for one in _WORD.finditer(text, first, last)]
    begins = [at for at, _ in words if at <= start and (at == 0 or text[at - 1].isspace())]
    ends = [at for _, at in words if at >= end and (at == len(text) or text[at].isspace())]
    return trimmed(text, begins[0] if begins else start, ends[-1] if ends else max(end, last))
