"""Division of names that run together, and choice among spellings of one name, by the other names of the text."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lightrag_dagster.offline.mentions import Mention
from lightrag_dagster.offline.tokens import Token, opens
from lightrag_dagster.offline.words import noun_types, words

_HOLDERS = ("person", "method", "content")
"""Types of nouns that end a name where `of` follows, as in `Officer of Tollgate Telemetry`."""


def divide(text: str, tokens: Sequence[Token], mentions: Iterable[Mention], known: Mapping[str, int]) -> list[Mention]:
    """Divide names such as `Tannery Lucian Farrow`, whose second part is in `known`, the names of the text.

    A single word before it is dropped where it begins a sentence, or is a noun as in `Officer of Tollgate Telemetry`.
    """
    divided: list[Mention] = []
    for mention in mentions:
        at = _second(text, tokens, mention, known)
        if not at:
            divided.append(mention)
            continue
        after = at - 1 if tokens[at - 1].text == "of" else at
        end, single = tokens[after - 1].end, after - mention.first == 1
        known_noun = tokens[mention.first].text.casefold() in noun_types()
        if not single or not (known_noun or opens(text, tokens, mention.first)):  # `Dip Station 31` names no Dip
            divided.append(Mention(text[mention.start : end], "name", mention.start, end, mention.first, after))
        start = tokens[at].start
        divided.append(Mention(text[start : mention.end], "name", start, mention.end, at, mention.after))
    return divided


def _second(text: str, tokens: Sequence[Token], mention: Mention, known: Mapping[str, int]) -> int:
    """Return the token with which a second name begins in a mention; 0 if there is none."""
    if mention.kind != "name" or mention.after - mention.first < 3:
        return 0
    times = known[mention.name.casefold()] - opens(text, tokens, mention.first)
    after_the = mention.first > 0 and tokens[mention.first - 1].text.casefold() == "the"
    for at in range(mention.first + 1, mention.after - 1):
        offset, last = tokens[at].start - mention.start, tokens[at - 1].text.casefold()
        held = last == "of" and noun_types().get(tokens[at - 2].text.casefold()) in _HOLDERS
        if mention.name[offset - 1] != " " or (last in words("connectors") and not held):
            continue
        person = after_the and at == mention.after - 2 and tokens[at].text.casefold() in words("names")
        if person or known.get(mention.name[offset:].casefold(), 0) > times:
            return at
    return 0


def counted(mentions: Iterable[Mention]) -> Counter[str]:
    """Return the number of occurrences of each case-folded name in a text."""
    return Counter(mention.name.casefold() for mention in mentions if mention.kind == "name")


def canonical(names: Mapping[str, str], types: Mapping[str, str]) -> dict[str, str]:
    """Return the better spelling, without `The` or in the singular, of each case-folded name that has one in the text.

    Args:
        names: The spelling of each case-folded name.
        types: Its type; works keep their article.
    """
    better: dict[str, str] = {}
    for folded, name in names.items():
        bare = folded.removeprefix("the ")
        if bare != folded and (bare in names or (" " in bare and types[folded] != "content")):
            better[folded] = names.get(bare, name[4:])
            continue
        first, _, rest = folded.partition(" ")
        for other in (folded.removesuffix("s"), f"{first.removesuffix('s')} {rest}"):
            if rest and other != folded and other in names:
                better[folded] = names[other]
    return better
