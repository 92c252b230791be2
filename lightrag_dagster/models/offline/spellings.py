"""Names that run together are divided, and spellings of one name joined, by the other names of the same text."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lightrag_dagster.models.offline.mentions import Mention
from lightrag_dagster.models.offline.tokens import Token, opens
from lightrag_dagster.models.offline.words import words


def divide(text: str, tokens: Sequence[Token], mentions: Iterable[Mention], known: Mapping[str, int]) -> list[Mention]:
    """Divide names such as `Tannery Lucian Farrow`, of which `known`, the names of the text, has the second part.

    A single word before it that begins a sentence is dropped.
    """
    divided: list[Mention] = []
    for mention in mentions:
        at = _second(tokens, mention, known) if mention.kind == "name" and mention.after - mention.first > 2 else 0
        if not at:
            divided.append(mention)
            continue
        end = tokens[at - 1].end
        if at - mention.first > 1 or not opens(text, tokens, mention.first):  # `Dip Station 31` names no Dip
            divided.append(Mention(text[mention.start : end], "name", mention.start, end, mention.first, at))
        start = tokens[at].start
        divided.append(Mention(text[start : mention.end], "name", start, mention.end, at, mention.after))
    return divided


def _second(tokens: Sequence[Token], mention: Mention, known: Mapping[str, int]) -> int:
    """Return the token with which a second name begins in a mention; 0 where there is none."""
    whole = mention.name.casefold()
    for at in range(mention.first + 1, mention.after - 1):
        offset = tokens[at].start - mention.start
        rest = whole[offset:]
        joined = tokens[at - 1].text.casefold() in words("connectors") or whole[offset - 1 : offset] != " "
        if not joined and (known.get(rest, 0) > 0 and known[whole] < known[rest]):
            return at
        before = tokens[mention.first - 1].text.casefold() if mention.first else ""
        if at == mention.after - 2 and before == "the" and tokens[at].text.casefold() in words("names") and not joined:
            return at
    return 0


def counted(mentions: Iterable[Mention]) -> Counter[str]:
    """Return how often each name stands in a text, case-folded."""
    return Counter(mention.name.casefold() for mention in mentions if mention.kind == "name")


def canonical(names: Mapping[str, str], types: Mapping[str, str]) -> dict[str, str]:
    """Return the spelling of those names, case-folded, that have a better one in the text: without `The`, or singular.

    Args:
        names: The spelling of each case-folded name.
        types: Its type; works keep their article.
    """
    better: dict[str, str] = {}
    for folded, name in names.items():
        bare = folded.removeprefix("the ")
        if bare != folded and (bare in names or (" " in bare and types[folded] not in ("content", "other"))):
            better[folded] = names.get(bare, name[4:])
            continue
        first, _, rest = folded.partition(" ")
        for other in (folded.removesuffix("s"), f"{first.removesuffix('s')} {rest}"):
            if rest and other != folded and other in names:
                better[folded] = names[other]
    return better
