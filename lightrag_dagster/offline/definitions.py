"""Definitions of names in sentences: `X is a village in`, `X, the engineer`, `Y, a novel by`."""

from collections.abc import Sequence

from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.offline.tokens import Token, gap
from lightrag_dagster.offline.words import noun_types, words

_LONGEST_DEFINITION = 16
_LONGEST_ASIDE = 14
_VERBS = ("is", "was", "are", "were", "ist", "war", "sind", "waren")


def begins(text: str, tokens: Sequence[Token], at: int) -> int:
    """Return the start of the definition of the name before `at`: after `is a`, `, the` and the like; else 0."""
    between = gap(text, tokens, at - 1)
    if between == ", ":
        if tokens[at].kind == "word" and tokens[at].text in words("determiners"):
            return at + 1
        if tokens[at].text in noun_types():
            return at
    aside = between.strip().startswith(("(", ","))
    for index in range(at, min(at + _LONGEST_ASIDE if aside else at + 1, len(tokens) - 1)):
        if tokens[index].text in _VERBS:
            inside = text[tokens[at - 1].end : tokens[index].start]
            if inside.count("(") != inside.count(")"):
                return 0  # the name is inside parentheses, and the verb belongs to the text outside
            return index + 1 if tokens[index + 1].text in words("determiners") | {"one"} else 0
    return 0


def type_of(text: str, tokens: Sequence[Token], at: int) -> str | None:
    """Return the type of a definition's main noun: the last one that has a type before a preposition (`in`, `by`)."""
    kind: str | None = None
    last = ""
    for index in range(at, min(at + _LONGEST_DEFINITION, len(tokens))):
        word = tokens[index].text.casefold()
        if word in words("determiners") or (last in ("", "one") and word in ("one", "of")):
            last = word
            continue
        if word in stop_words() or word in words("connectors") or (kind and word.endswith("ed")):
            break
        kind = noun_types().get(word) or noun_types().get(word.removesuffix("s")) or kind
        last = word
        if kind and gap(text, tokens, index) != " ":
            break
    if kind is None and last.endswith(tuple(sorted(words("person endings")))):
        return "person"
    return kind
