"""What a sentence says that a name is: `X is a village in`, `X, the engineer`, `Y, a novel by`."""

from collections.abc import Sequence

from lightrag_dagster.models.offline.tokens import Token, gap
from lightrag_dagster.models.offline.words import noun_types, words

_LONGEST_DEFINITION = 16
_LONGEST_ASIDE = 14


def begins(text: str, tokens: Sequence[Token], at: int) -> int:
    """Return where the definition of the name before `at` begins: after `is a`, `, the` and the like; else 0."""
    between = gap(text, tokens, at - 1)
    if between.startswith(", ") and not between.strip(", "):
        listed = tokens[at].kind == "word" and tokens[at].text in words("determiners")
        return at + 1 if listed else at if noun_types().get(tokens[at].text) else 0
    for index in range(at, min(at + _LONGEST_ASIDE, len(tokens) - 1)):
        if tokens[index].text in ("is", "was", "are", "were", "ist", "war", "sind", "waren"):
            inside = text[tokens[at - 1].end : tokens[index].start]
            if index > at and not inside.strip().startswith(("(", ",")):
                return 0
            return index + 1 if tokens[index + 1].text in words("determiners") | {"one"} else 0
        if index == at and not between.strip().startswith(("(", ",")):
            return 0
    return 0


def type_of(text: str, tokens: Sequence[Token], at: int) -> str | None:
    """Return the type of the noun that a definition from `at` ends in."""
    kind: str | None = None
    last = ""
    for index in range(at, min(at + _LONGEST_DEFINITION, len(tokens))):
        word = tokens[index].text.casefold()
        if word in words("determiners") or word == "one":
            continue
        if word == "of" and last in ("one", "member", "part", ""):
            continue
        if kind and (word in words("stop") or tokens[index].kind == "date"):
            break
        if not kind and word in ("in", "by", "from", "for", "that", "which", "who", "with", "where"):
            break
        found = noun_types().get(word) if tokens[index].kind == "word" else None
        kind = found or (None if tokens[index].kind == "word" and kind and not _may_follow(word) else kind)
        last = word
        if kind and (gap(text, tokens, index) != " "):
            break
    if kind is None and last.endswith(tuple(sorted(words("person endings")))):
        return "person"
    return kind


def _may_follow(word: str) -> bool:
    """Tell whether a word after the noun of a definition is no noun itself, as in `a film directed by`."""
    return word.endswith(("ed", "ing", "ly", "t")) or word in words("acts")
