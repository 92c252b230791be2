"""The type of an entity, decided by votes: from the shape of its name, and from the words around each mention.

Types are those of the prompts (`stages/prompts/entity_types.md`) in lower case, and `other` where no rule has a reason.
The noun of a definition (`X is a village in`) and the last word of a name (`X Bridge`) say most.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from lightrag_dagster.offline import definitions, east_asian
from lightrag_dagster.offline.mentions import Mention
from lightrag_dagster.offline.tokens import Token, bare, gap
from lightrag_dagster.offline.words import noun_types, words

OTHER = "other"
TYPES = (
    *("person", "organization", "location", "event", "artifact", "content", "concept", "method"),
    *("naturalobject", "creature", "data"),
)
"""The types, in the order in which they win a tie."""

_ENOUGH = 3.0
"""Weight of a reason: of 92 labelled names that had a type for less, 23 had the right one."""

_BY_SHAPE = {"date": ("data", 3.0), "number": ("data", 3.0), "title": ("content", 1.0)}

# The text in parentheses after a name.
_LIFE = re.compile(
    r"\s?\(\s?(?:[^()\d]{0,60}[;,]\s)?(?:born|died|b\.|geb\.|\*|†)"
    r"|\s?\([^()]{0,60}\d{4}\)?[^()]{0,30}[–-]\s?[^()]{0,40}\d{4}"
)
_YEAR = re.compile(r"\s?\(\s?(?:19|20)\d\d\s?\)")
_INSIDE = re.compile(r"\s?\((?:[^()]{0,30} )?([^\W\d_]{2,20})\)")

# The last word of a name, and the text between names of an enumeration.
_CODE = re.compile(r"[A-Z]{1,5}-?\d{1,6}[A-Z]?|[A-Z]{1,4}-[A-Z\d]{1,8}(?:-\d{1,6})?")
_NUMERAL = re.compile(r"[IVX]{1,5}")
_LISTED = re.compile(r",? (?:and|und|or|oder|&) |, ")


class Vote(NamedTuple):
    """A vote for a type and its weight: 3 is a reason, less a hint, which only counts beside others.

    A negative weight speaks against the type.
    """

    type: str
    weight: float


Votes = Iterable[Vote]


def decide(votes: Votes) -> str:
    """Return the type with the most votes; `other` if these are hints alone, however often the same one is repeated."""
    votes = list(votes)
    sums = dict.fromkeys(TYPES, 0.0)
    for kind, weight in votes:
        sums[kind] = sums.get(kind, 0.0) + weight
    best = max(sums, key=sums.__getitem__)
    return best if sums[best] > 0 and sum(weight for kind, weight in set(votes) if kind == best) >= _ENOUGH else OTHER


def votes_of_part(text: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[list[Vote]]:
    """Return the votes for the type of each mention of a sentence.

    The words before the first name of an enumeration count for all of them.
    """
    votes: list[list[Vote]] = []
    before: list[Vote] = []
    for at, mention in enumerate(mentions):
        shape = [Vote(*_BY_SHAPE[mention.kind])] if mention.kind in _BY_SHAPE else []
        if mention.kind not in ("name", "given", "title"):
            votes.append(shape)
            continue
        listed = at > 0 and _LISTED.fullmatch(text[mentions[at - 1].end : mention.start])
        before = before if listed else list(_before(text, tokens, mention))
        own = shape if mention.kind == "title" else name_votes(mention.name)
        votes.append([*before, *_after(text, tokens, mention), *own])
    return votes


@lru_cache(maxsize=1 << 14)
def name_votes(name: str) -> tuple[Vote, ...]:
    """Return the votes that the name itself casts."""
    if not name.isascii() and (kind := east_asian.type_of(name)):
        return (Vote(kind, 4.0),)
    return tuple(_name_votes(name))


def _name_votes(name: str) -> Iterator[Vote]:
    parts = name.split()
    folded = [part.strip(".,").casefold() for part in parts]
    if "_".join(folded) in words("geography"):
        yield Vote("location", 5.0)
    head = _head(parts, folded)
    if folded[-1] in ("jr", "sr"):
        yield Vote("person", 6.0)
    elif folded[-1] in words("legal"):
        yield Vote("organization", 8.0)
    if "&" in folded:
        yield Vote("organization", 2.0)
    if head == "house" and "of" in folded:
        yield Vote("organization", 6.0)
    if kind := noun_types().get(head):
        yield Vote(kind, 4.0 if len(parts) > 1 else 0.5)
    elif (kind := noun_types().get(head.removesuffix("s"))) and len(parts) > 1:
        # `Orrin Instruments` is a company, `two Heron Loggers` are things
        yield Vote("organization" if kind == "artifact" else kind, 3.0)
    elif noun_types().get(folded[0]) == "person":
        yield Vote("person", 4.0)
    if folded[0] in words("place prefixes"):
        yield Vote("location", 4.0)
    if _CODE.fullmatch(parts[-1]) and len(parts) > 1:
        yield Vote("artifact", 3.0)  # `Pellmar P7`; a code alone may be anything
    if folded[0] in words("honorifics"):
        yield Vote("person", 6.0)
    if len(parts) == 1:
        yield from _word_votes(name, folded[0])
    else:
        yield from _phrase_votes(parts, folded)


def _word_votes(name: str, folded: str) -> Iterator[Vote]:
    if folded in words("names"):
        yield Vote("person", 2.5)
    elif folded.endswith(_endings("organization endings")) and len(folded) > 7:
        yield Vote("organization", 2.0)
    elif folded.endswith(_endings("location endings")) and len(folded) > 5:
        yield Vote("location", 1.0)


def _phrase_votes(parts: Sequence[str], folded: Sequence[str]) -> Iterator[Vote]:
    if folded[0] in words("names"):
        yield Vote("person", 4.0 if len(parts) == 2 else 3.0)
    if any(len(part) == 2 and part[1] == "." for part in parts[:-1]) and parts[-1].isalpha():
        yield Vote("person", 3.0)
    if folded[0].endswith(_endings("organization endings")):
        yield Vote("organization", 2.0)


def _head(parts: Sequence[str], folded: Sequence[str]) -> str:
    """Return the head noun of a name: its last word, or the one before `of`, a number or a numeral."""
    for at in range(1, len(folded)):
        if folded[at] in ("of", "for", "für", "der", "des", "de"):
            return folded[at - 1]
    at = len(folded) - 1
    while at > 0 and (folded[at].isdigit() or _NUMERAL.fullmatch(parts[at]) or _CODE.fullmatch(parts[at])):
        at -= 1
    return folded[at]


def _before(text: str, tokens: Sequence[Token], mention: Mention) -> Iterator[Vote]:
    at = mention.first - 1
    if at < 0 or gap(text, tokens, at) not in (" ", ". ", ' "', " “"):
        return
    word = bare(tokens[at].text).casefold()
    if word in words("honorifics"):
        yield Vote("person", 6.0)
    elif word in words("roles"):
        yield Vote("person", 5.0)
    elif kind := noun_types().get(word):
        yield Vote(kind, 4.0 if kind == "person" else 2.0)
    elif word in words("determiners"):
        yield Vote("person", -3.0)
    elif word in words("before places"):
        yield Vote("location", 2.0)
        yield Vote("person", -0.5)
    elif word in words("before persons"):
        done = tokens[at - 1].text if at > 0 else ""
        if word != "by" or done in words("before persons") or noun_types().get(done) == "content":
            yield Vote("person", 3.0)
        elif done in words("done by companies"):
            yield Vote("organization", 3.0)
    elif word in words("before organizations"):
        yield Vote("organization", 2.0)
    elif word == "of" and at > 0 and noun_types().get(tokens[at - 1].text.casefold()) == "location":
        yield Vote("location", 4.0)


def _after(text: str, tokens: Sequence[Token], mention: Mention) -> Iterator[Vote]:
    if east_asian.is_person(text, mention.end):
        yield Vote("person", 5.0)
    if text.startswith(("(", " ("), mention.end):
        if _LIFE.match(text, mention.end):
            yield Vote("person", 5.0)
        elif _YEAR.match(text, mention.end):
            yield Vote("content", 2.0)
        elif (inside := _INSIDE.match(text, mention.end)) and (kind := noun_types().get(inside[1].casefold())):
            yield Vote(kind, 6.0)
    at = mention.after
    if not 0 < at < len(tokens):
        return
    between, word = gap(text, tokens, at - 1), tokens[at].text.casefold()
    if between == " " and word in words("acts"):
        yield Vote("person", 2.0)
    if between == " " and word in words("company acts"):
        yield Vote("organization", 2.0)
    if tokens[at - 1].text != bare(tokens[at - 1].text) and word in words("kin"):
        yield Vote("person", 3.0)
    if between == ", " and tokens[at].text.casefold() in words("geography"):
        yield Vote("location", 3.0)
    defined = definitions.begins(text, tokens, at)
    if defined and (kind := definitions.type_of(text, tokens, defined)):
        yield Vote(kind, 6.0 if between != ", " else 4.0 if kind == "person" else 2.5)


@cache
def _endings(section: str) -> tuple[str, ...]:
    return tuple(sorted(words(section)))
