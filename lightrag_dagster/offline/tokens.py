"""Tokens of a sentence: words, and dates, amounts, quotations and code as one token each."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from lightrag_dagster.core.text.full_stops import MONTHS
from lightrag_dagster.core.text.terms import MARKS
from lightrag_dagster.offline import east_asian
from lightrag_dagster.offline.words import words

Kind = Literal["name", "given", "date", "number", "title", "term", "upper", "digits", "word"]

_KINDS: dict[str, Kind] = {
    "date": "date",
    "number": "number",
    "title": "title",
    "quote": "title",
    "term": "term",
    "east_asian": "name",
}
_CONTRACTION = re.compile(
    r"\w+n['’]t|(?:I|you|he|she|it|we|they|that|there|who|what)['’](?:m|ve|d|ll|re)", re.IGNORECASE
)
_OPENERS = frozenset((":", ";", "–", "—", "-", "•", '"', "“", "„", ',"', ', "'))


class Token(NamedTuple):
    """A word (`upper` when written as a name, `digits`, else `word`), or something that is a mention by its shape."""

    text: str
    start: int
    end: int
    kind: Kind


@cache
def _pattern(*, east_asian_names: bool) -> re.Pattern[str]:
    """Return the pattern of all tokens; its repetitions are bounded or cannot overlap, so it takes linear time."""
    month = "|".join(sorted((month.capitalize() for month in MONTHS), key=lambda name: (-len(name), name)))
    year = r"(?:1\d|20)\d\d"
    letter = r"[^\W_\u3040-\u30ff\u3400-\u9fff]" if east_asian_names else r"[^\W_]"
    run = rf"{letter}+(?:[{MARKS}]+{letter}*)*"
    names = rf"| {east_asian.words_apart()} | (?P<east_asian>{east_asian.pattern()})" if east_asian_names else ""
    return re.compile(
        rf"""
        (?P<date>(?=[\dA-Z])(?<![\w.,£$€/-])(?:
            \d{{4}}-\d\d-\d\d
          | \d{{1,2}}/\d{{1,2}}/\d{{2,4}} | \d{{1,2}}\.\d{{1,2}}\.\d{{4}}
          | \d{{1,2}}(?:st|nd|rd|th|\.)?[ ](?:of[ ])?(?:{month})(?:,?[ ]{year})?
          | (?:{month})[ ]\d{{1,2}}(?:st|nd|rd|th)?(?:,[ ]{year})?(?![\d:])
          | (?:{month})(?:[ ]of|,)?[ ]{year}
          | \d{{1,2}}(?:st|nd|rd|th)[ ]century
          | \d{{1,4}}[ ](?:BCE?|AD)
          | (?<![(–])(?<![–-][ ]){year}s?(?![ ]?[–)]|[ ]-[ ])
        )(?![\w%]|[.,/]\d|:\d))
      | (?P<number>(?=[\d£$€])(?<![\w.,:/-])(?:
            [£$€]\d[\d.,]{{0,20}}(?<![.,])(?:[ ](?:thousand|million|billion|trillion))?
          | \d[\d.,]{{0,20}}[ ](?:(?:million|billion|trillion)[ ](?:dollars|euros|pounds)|€|Euro)
          | \d[\d.,]{{0,20}}[ ](?:[KMGT]B|[kMG]Hz|[kMGT]Wh?|FM)
        )(?!\w))
      | ["“„](?P<title>[^\W_a-zß-öø-ÿ][^"“”„\n]{{0,70}}?)[,.;:!]?[ ]?["”“]
      | [「『《](?P<quote>[^「」『』《》\n]{{1,40}})[」』》]
      | `(?P<term>[^\W\d_][\w.-]{{1,38}}[^\W_])`
      {names}
      | (?P<word>(?:{letter}\.){{2,12}} | {run}(?:[-'’.&+/_@]{run})* | & )
        """,
        re.VERBOSE,
    )


def scan(text: str) -> list[Token]:
    """Split a sentence into tokens, in order."""
    tokens = []
    for found in _pattern(east_asian_names=east_asian.is_used_in(text)).finditer(text):
        if (group := found.lastgroup) is None:
            continue  # a word that no name goes across
        word = found[group]
        if group == "title" and word.isupper() and " " in word:
            continue  # `NOT FOR SALE`
        if group == "title" and not _is_titled(word):
            start = found.start(group)
            tokens += [Token(token.text, token.start + start, token.end + start, token.kind) for token in scan(word)]
            continue
        kind = _KINDS.get(group, "word")
        if kind == "name" and east_asian.is_common(word):
            continue
        if kind == "word" and word[0].isdigit():
            kind = "digits"
        elif kind == "word" and "@" not in word:
            mixed = word.isalnum() and word not in (word.lower(), word.upper())  # `iPhone`
            kind = "upper" if (mixed or word[0].isupper()) and not _CONTRACTION.fullmatch(word) else "word"
        tokens.append(Token(word, found.start(group), found.end(group), kind))
    return tokens


def _is_titled(quotation: str) -> bool:
    """Return True if a quotation is a title, not speech: short, or most of its longer words have a capital."""
    if (date := _pattern(east_asian_names=False).match(quotation)) and date["date"] == quotation:
        return False
    long = [word for word in quotation.split() if len(word) > 3]
    return len(long) < 2 or sum(not word.islower() for word in long) * 2 > len(long)


def bare(word: str) -> str:
    """Return a word without its possessive ending."""
    if "'" not in word and "’" not in word:
        return word
    return word.removesuffix("'s").removesuffix("’s").rstrip("'’")


def gap(text: str, tokens: Sequence[Token], at: int) -> str:
    """Return the text between a token and the next one; a null character after the last."""
    return text[tokens[at].end : tokens[at + 1].start] if at + 1 < len(tokens) else "\0"


def opens(text: str, tokens: Sequence[Token], at: int) -> bool:
    """Return True if a token begins a sentence, a table cell or text after a colon, where any word has a capital."""
    return at == 0 or gap(text, tokens, at - 1).strip() in _OPENERS


def name_like(tokens: Sequence[Token]) -> bool:
    """Return True if a heading is written as a name: every word except the connectors has a capital."""
    return bool(tokens) and all(token.kind != "word" or token.text in words("connectors") for token in tokens)
