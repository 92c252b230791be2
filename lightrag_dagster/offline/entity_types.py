"""The type of an entity, decided by votes: from the shape of its name, and from the words around each mention.

Types are those of the prompts (`stages/prompts/entity_types.md`) in lower case, and `other`. The noun of a definition
(`X is a village in`), the noun before a name (`the band X`) and the last word of a name (`X Bridge`) say most.
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

_BY_SHAPE = {"date": "data", "number": "data", "title": "content", "term": "artifact"}

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
    """A vote for a type and its weight: 5 and more decides alone, 3 is strong, 1 a hint, less a guess.

    A negative weight speaks against the type.
    """

    type: str
    weight: float


Votes = Iterable[Vote]


def decide(votes: Votes) -> str:
    """Return the type with the most votes; `other` if there are none."""
    sums: dict[str, float] = {}
    for kind, weight in votes:
        sums[kind] = sums.get(kind, 0.0) + weight
    best = max((*TYPES, *sums), key=lambda kind: sums.get(kind, 0.0))
    return best if sums.get(best, 0.0) > 0 else OTHER


def votes_of_part(text: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[list[Vote]]:
    """Return the votes for the type of each mention of a sentence.

    The words before the first name of an enumeration count for all of them.
    """
    votes: list[list[Vote]] = []
    before: list[Vote] = []
    for at, mention in enumerate(mentions):
        if mention.kind in _BY_SHAPE:
            votes.append([Vote(_BY_SHAPE[mention.kind], 3.0)])
            continue
        listed = at > 0 and _LISTED.fullmatch(text[mentions[at - 1].end : mention.start])
        before = before if listed else list(_before(text, tokens, mention))
        votes.append([*before, *_after(text, tokens, mention), *name_votes(mention.name)])
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
    elif noun_types().get(head, "organization") == "organization" and _is_organized(folded):
        yield Vote("organization", 4.0)
    if "&" in folded:
        yield Vote("organization", 3.0)
    if head == "house" and "of" in folded:
        yield Vote("organization", 6.0)
    if kind := noun_types().get(head):
        yield Vote(kind, 4.0 if len(parts) > 1 else 0.5)
    elif (kind := noun_types().get(head.removesuffix("s"))) and len(parts) > 1:
        # `Orrin Instruments` is a company, `two Heron Loggers` are things
        yield Vote("organization" if kind == "artifact" else kind, 3.0)
    elif kind := noun_types().get(folded[0]):
        yield Vote(kind, 4.0 if kind == "person" or folded[0] in words("place prefixes") else 3.0)
    if folded[0] in words("place prefixes"):
        yield Vote("location", 4.0)
    if _CODE.fullmatch(parts[-1]):
        yield Vote("artifact", 5.0)
    if folded[0] in words("honorifics"):
        yield Vote("person", 6.0)
    if len(parts) == 1:
        yield from _word_votes(name, folded[0])
    else:
        yield from _phrase_votes(parts, folded)


def _is_organized(folded: Sequence[str]) -> bool:
    """Return True if a name contains a word for an organization, as in `Ostrel Basin Authority`."""
    return folded[-1] not in words("geography") and not words("organizations").isdisjoint(folded)


def _word_votes(name: str, folded: str) -> Iterator[Vote]:
    if folded in words("names"):
        yield Vote("person", 2.5)
    elif folded in words("demonyms"):
        yield Vote("concept", 3.0)
    elif name.isupper():
        if 3 <= len(name) <= 6:
            yield Vote("organization", 1.5)
    elif folded.endswith(_endings("organization endings")) and len(folded) > 7:
        yield Vote("organization", 2.0)
    elif folded.endswith(_endings("location endings")) and len(folded) > 5:
        yield Vote("location", 1.0)
    elif folded.endswith(("tion", "sion", "ment")) and len(folded) > 7:
        yield Vote("concept", 0.5)  # `Calibration`
    else:
        yield Vote("location", 0.2)  # an unknown word is most often a place


def _phrase_votes(parts: Sequence[str], folded: Sequence[str]) -> Iterator[Vote]:
    if folded[0] in words("names"):
        yield Vote("person", 3.0)
    if any(len(part) == 2 and part[1] == "." for part in parts[:-1]) and parts[-1].isalpha():
        yield Vote("person", 3.0)
    if _NUMERAL.fullmatch(parts[-1]) and len(parts) == 2:
        yield Vote("person", 1.5)
    if folded[0].endswith(_endings("organization endings")):
        yield Vote("organization", 2.0)
    plain = all(part.replace("-", "").replace("'", "").replace("’", "").replace(".", "").isalpha() for part in parts)
    lower = sum(part[0].islower() for part in parts)
    if plain and len(parts) <= 4 and lower == 0 and folded[0] != "the":
        yield Vote("person", 1.0)
        if not words("geography").isdisjoint(folded) and folded[0] not in words("names"):
            yield Vote("organization", 1.2)  # `Air Tanzania`
    elif len(parts) == 3 and folded[1] == "of" and plain and folded[0] not in noun_types():
        yield Vote("person", 1.0)  # `Boso of Provence`
    elif lower and folded[0] == "the":
        yield Vote("content", 1.0)


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
        yield Vote(kind, 4.0 if tokens[at].kind == "word" or kind == "person" else 2.0)
    elif word in words("determiners"):
        yield Vote("person", -3.0)
        if word not in ("the", "der", "die", "das", "dem", "den", "des"):
            yield Vote("artifact", 1.5)
            yield Vote("organization", -2.0)
        elif at > 0 and tokens[at - 1].text.casefold() in words("before places"):
            yield Vote("location", 1.0)
        else:
            yield Vote("organization" if " " in mention.name else "location", 0.4)
    elif word in words("before places"):
        yield Vote("location", 2.0)
        yield Vote("person", -0.5)
    elif word in words("before persons"):
        company = word == "by" and at > 0 and tokens[at - 1].text in words("done by companies")
        yield Vote("organization" if company else "person", 2.5)
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
            yield Vote("content", 3.0)
        elif (inside := _INSIDE.match(text, mention.end)) and (kind := noun_types().get(inside[1].casefold())):
            yield Vote(kind, 6.0)
    at = mention.after
    if not 0 < at < len(tokens):
        return
    between, word = gap(text, tokens, at - 1), tokens[at].text.casefold()
    if between == " " and word in words("acts"):
        yield Vote("person", 3.0)
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
