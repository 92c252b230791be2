"""Names, dates, amounts and titles in a sentence, found by capital letters and shape."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from lightrag_dagster.core.text.full_stops import ABBREVIATIONS, MONTHS
from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.offline.tokens import Kind, Token, bare, gap, opens, scan
from lightrag_dagster.offline.words import noun_types, words

_SERIAL = re.compile(r"[A-Z]{1,4}-\d{2,8}")
_NUMERAL = re.compile(r"[IVX]{1,5}")
_FRACTION = re.compile(r"[:.,]\d")
_LONGEST_NAME = 12
"""Tokens; a longer run of capitals is cut."""


class Mention(NamedTuple):
    """A name at its place in a sentence: characters `start` to `end`, tokens `first` to before `after`."""

    name: str
    kind: Kind
    start: int
    end: int
    first: int
    after: int


class Vocabulary(NamedTuple):
    """The case-folded words that a text writes small, and with a capital where no rule asks for one.

    `german` is set if every noun has a capital.
    """

    lower: frozenset[str]
    upper: frozenset[str]
    german: bool


def join_phrases(text: str, tokens: list[Token], phrases: Sequence[str]) -> list[Token]:
    """Make each occurrence of a phrase one token of kind `name`, in any case, but not inside a longer name."""

    def is_part(at: int, beside: int) -> bool:
        """Return True if the token next to a phrase, right before or after the gap `at`, belongs to the same name."""
        adjoins = 0 <= beside < len(tokens) and gap(text, tokens, at) == " " and tokens[beside].kind == "upper"
        return adjoins and (beside > at or tokens[beside].text.casefold() not in stop_words())

    for phrase in phrases:
        wanted = [token.text.casefold() for token in scan(phrase)]
        folded = [bare(token.text).casefold() for token in tokens]
        starts = range(len(tokens) - len(wanted) + 1) if 0 < len(wanted) <= _LONGEST_NAME else range(0)
        for at in reversed(starts):
            after = at + len(wanted)
            if folded[at:after] == wanted and not is_part(at - 1, at - 1) and not is_part(after - 1, after):
                tokens[at:after] = [Token(phrase, tokens[at].start, tokens[after - 1].end, "name")]
                folded[at:after] = [""]
    return tokens


def find(text: str, tokens: Sequence[Token], vocabulary: Vocabulary) -> list[Mention]:
    """Return the mentions in a sentence, in order."""
    found: list[Mention | None] = []
    at = 0
    while at < len(tokens):
        token, after = tokens[at], at + 1
        if token.kind == "upper":
            after = _run_end(text, tokens, at, vocabulary)
            found.append(_name(text, tokens, at, after, vocabulary))
        elif token.kind == "date" and len(token.text) == 4 and gap(text, tokens, at) == " ":
            after, year = _year(text, tokens, at, vocabulary)
            found.append(year)
        elif token.kind not in ("word", "digits"):
            found.append(Mention(token.text, token.kind, token.start, token.end, at, after))
        at = after
    return [mention for mention in found if mention]


def find_in_question(text: str) -> tuple[list[Token], list[Mention]]:
    """Return the tokens and mentions of a question, which is its own vocabulary."""
    tokens = scan(text)
    return tokens, find(text, tokens, Vocabulary(frozenset(), frozenset(), german=False))


def _year(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> tuple[int, Mention | None]:
    """Find `1952 Summer Olympics`, the year in `a 1930 American film`, and the quantity in `up to 2000 connections`."""
    year, following = tokens[at], tokens[at + 1]
    end = _run_end(text, tokens, at + 1, vocabulary) if following.kind == "upper" else at + 1
    before = tokens[at - 1].text.casefold() if at else ""
    if end > at + 2 and before not in ("a", "an"):
        return end, _mention(text, tokens, at, end)
    counts = following.kind == "word" and following.text not in stop_words() and before not in words("before years")
    return at + 1, None if counts else Mention(year.text, "date", year.start, year.end, at, at + 1)


def _run_end(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> int:
    """Return the end of the run of name words that starts at `at`."""
    end = at + 1
    while end < min(len(tokens), at + _LONGEST_NAME):
        last = tokens[end - 1].text
        if last != bare(last) and bare(last).casefold() in vocabulary.upper:
            break  # `Priya's Kestrel` is two names, `Men's Studies Press` one
        after = end
        while after < min(len(tokens), end + 3) and gap(text, tokens, after - 1) == " ":
            if not _connects(tokens, at, end, after, vocabulary.german):
                break
            after += 1
        between = gap(text, tokens, after - 1)
        if between == "\0" or (tokens[after].text == "I" and last.casefold() in MONTHS):
            break
        following = tokens[after]
        if between == ", " and following.text.casefold().rstrip(".") in words("legal"):
            return after + 1
        initial = between == ". " and (len(last) == 1 or last.casefold() in ABBREVIATIONS)
        numbered = after == end and _is_numbered(text, last, following)
        if not (between == " " or initial) or not (following.kind == "upper" or numbered):
            break
        if _SERIAL.fullmatch(following.text):
            break  # `Heron Logger HL-0640` is a product and a serial number
        end = after + 1
    return end


def _is_numbered(text: str, last: str, number: Token) -> bool:
    """Return True if a number belongs to the name before it: in `Station 9`, not in `Item 4` or `Screen 14:08`."""
    if number.kind != "digits" or not number.text.isalnum():
        return False
    counted = last.casefold() in words("counted") or last.casefold() in words("german nouns")
    return not counted and _FRACTION.match(text, number.end) is None


def _connects(tokens: Sequence[Token], at: int, end: int, index: int, german: bool) -> bool:
    """Return True if a lower-case word may be inside the name that begins at `at` and so far ends at `end`."""
    word, last = tokens[index].text, tokens[end - 1].text.casefold()
    heads = words("organizations") | words("events")
    if word == "of" and end - at > 1 and last not in heads | words("roles") | {"states", "house", "order", "chamber"}:
        # `Nookat District of Osh Province` is two names, `District of Columbia` one
        return _NUMERAL.fullmatch(tokens[end - 1].text) is not None
    if word in ("and", "und"):  # `Ministry of Food and Agriculture`
        collective = any(token.text in ("of", "for", "für") for token in tokens[at:end][-3:])
        named = {token.text.casefold() for token in tokens[at:end]}
        return index == end and collective and not named.isdisjoint(words("organizations"))
    if word == "the":
        return index > end
    if word in ("on", "for", "für") or (german and word in ("der", "des")):
        return last in heads
    return word in words("connectors") and not (german and word == "von" and last not in words("names"))


def _name(text: str, tokens: Sequence[Token], at: int, after: int, vocabulary: Vocabulary) -> Mention | None:
    """Return the name in a run of capitals; None when only stop words or a sentence's first word are left."""
    opening = opens(text, tokens, at)
    first = at
    while first < after and (tokens[first].kind != "upper" or _is_prefix(tokens[first], opening, first == after - 1)):
        first += 1
    for index in range(first, after - 2):
        if tokens[index].text.casefold() in words("roles") and tokens[index + 1].kind == "upper":
            first = index + 1  # `Chief Engineer Marcus Lindqvist`
    while vocabulary.german and first < after and tokens[first].text.casefold() in words("german nouns"):
        first += 1  # `Unterlagen Steinhag Dam`
    if first == after:
        return None
    mention = _mention(text, tokens, first, after)
    folded = mention.name.casefold()
    single = after - first == 1 and (
        len(folded) < 2
        or folded in words("nameless")
        or (opening and folded in vocabulary.lower and folded in noun_types())
        or folded.endswith(("-speaking", "-based", "-born", "-language"))
        or folded in MONTHS
        or (opening and first == at and not _opens_as_name(text, tokens, first, vocabulary))
        or (vocabulary.german and _is_common_noun(tokens, first))
    )
    return None if single else mention


def _mention(text: str, tokens: Sequence[Token], first: int, after: int) -> Mention:
    start = tokens[first].start
    name = bare(text[start : tokens[after - 1].end])
    return Mention(name, "name", start, start + len(name), first, after)


def _is_prefix(token: Token, opening: bool, last: bool) -> bool:
    """Return True if a capitalised word is not part of the next name, as in `Dr. Ikeda`, `Ask Anna`, `Hey John`."""
    word = token.text.casefold()
    if word in words("honorifics") or (opening and word in words("imperatives")):
        return True
    if (opening or last) and word in words("interjections"):
        return True  # `Hey John`, `Wow`
    if opening and not last and len(word) > 5 and word.endswith("ing"):
        return True  # `Restarting Envoy`
    acronym = len(word) > 1 and token.text.isupper()  # `IT`, `US`
    return word in stop_words() and not acronym and (opening or last or word != "the")


def _opens_as_name(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> bool:
    """Return True if the first word of a sentence, which has a capital anyway, is a name."""
    word = bare(tokens[at].text)
    between = gap(text, tokens, at)
    if word.casefold() in vocabulary.upper:
        return True
    if word.casefold() in vocabulary.lower or between.startswith((":", "\0")):
        return False
    following = tokens[at + 1].text
    listed = tokens[at + 1 + (following in ("and", "und")) : at + 3]
    return (
        (word.isupper() and len(word) > 1)
        or (between in (", ", " ") and bool(listed) and listed[0].kind == "upper" and not word.endswith("ly"))
        or (between == " " and following in words("acts"))
        or word.casefold() in words("names")
    )


def _is_common_noun(tokens: Sequence[Token], at: int) -> bool:
    """Return True if a single German word with a capital is more likely a noun than a name."""
    word = tokens[at].text
    folded = word.casefold()
    if folded in noun_types():
        return True
    if folded in words("geography") or (len(folded) > 7 and folded.endswith(tuple(words("organization endings")))):
        return False
    if folded.endswith(tuple(words("location endings"))) and len(folded) > 6:
        return False
    placed = at > 0 and tokens[at - 1].text.casefold() in words("before names")
    return word.istitle() and (not placed or word.endswith(tuple(words("noun endings"))))
