"""Names, dates, amounts and titles in a sentence, by capital letters and shape alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lightrag_dagster.models.offline.tokens import Kind, Token, bare, gap, opens, scan
from lightrag_dagster.models.offline.words import words

_LONGEST_NAME = 12
"""Tokens; a longer run of capitals is cut."""


class Mention(NamedTuple):
    """A name where it stands in a sentence: characters `start` to `end`, tokens `first` to before `after`."""

    name: str
    kind: Kind
    start: int
    end: int
    first: int
    after: int


@dataclass(frozen=True)
class Vocabulary:
    """What a whole text says about its words.

    `lower` and `upper` are the case-folded words written small, and written with a capital where no rule asks for one.
    `german` is whether every noun has a capital.
    """

    lower: frozenset[str]
    upper: frozenset[str]
    german: bool


def join_phrases(tokens: list[Token], phrases: Sequence[str]) -> list[Token]:
    """Make each occurrence of a phrase one token of kind `name`, in whatever case it is written."""
    for phrase in phrases:
        wanted = [token.text.casefold() for token in scan(phrase)]
        folded = [bare(token.text).casefold() for token in tokens]
        if not 0 < len(wanted) <= _LONGEST_NAME or wanted[0] not in folded:
            continue
        joined: list[Token] = []
        at = 0
        while at < len(tokens):
            after = at + len(wanted)
            if folded[at:after] == wanted and not _inside_longer_name(tokens, at, after):
                joined.append(Token(phrase, tokens[at].start, tokens[after - 1].end, "name"))
                at = after
            else:
                joined.append(tokens[at])
                at += 1
        tokens = joined
    return tokens


def find(text: str, tokens: Sequence[Token], vocabulary: Vocabulary) -> list[Mention]:
    """Return the mentions in a sentence, in order."""
    found = []
    at = 0
    while at < len(tokens):
        token, after = tokens[at], at + 1
        if token.kind == "upper":
            after = _run_end(text, tokens, at, vocabulary)
            if name := _name(text, tokens, at, after, vocabulary):
                found.append(name)
        elif token.kind == "date" and len(token.text) == 4 and gap(text, tokens, at) == " ":
            after, year = _year(text, tokens, at, vocabulary)
            found += [year] if year else []
        elif token.kind not in ("word", "digits"):
            found.append(Mention(token.text, token.kind, token.start, token.end, at, after))
        at = after
    return found


def find_in_question(text: str) -> tuple[list[Token], list[Mention]]:
    """Return the tokens and mentions of a question, of which nothing is known but itself."""
    tokens = scan(text)
    return tokens, find(text, tokens, Vocabulary(frozenset(), frozenset(), german=False))


def _inside_longer_name(tokens: Sequence[Token], at: int, after: int) -> bool:
    before, following = tokens[max(at - 1, 0)], tokens[min(after, len(tokens) - 1)]
    led = before.kind == "upper" and before.end + 1 == tokens[at].start and before.text.casefold() not in words("stop")
    return led or (following.kind == "upper" and tokens[after - 1].end + 1 == following.start)


def _year(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> tuple[int, Mention | None]:
    """Tell `1952 Summer Olympics`, the year in `a 1930 American film`, and the quantity in `up to 2000 connections`."""
    year, following = tokens[at], tokens[at + 1]
    end = _run_end(text, tokens, at + 1, vocabulary) if following.kind == "upper" else at + 1
    if end > at + 2:
        name = bare(text[year.start : tokens[end - 1].end])
        return end, Mention(name, "name", year.start, year.start + len(name), at, end)
    before = tokens[at - 1].text.casefold() if at else ""
    counts = following.kind == "word" and following.text not in words("stop") and before not in words("before years")
    return at + 1, None if counts else Mention(year.text, "date", year.start, year.end, at, at + 1)


def _run_end(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> int:
    """Return the end of the run of name words that starts at `at`."""
    end = at + 1
    while end < min(len(tokens), at + _LONGEST_NAME):
        last = tokens[end - 1].text
        if last != bare(last) and bare(last).casefold() in vocabulary.upper:
            break  # `Priya's Kestrel` is two names, `Men's Studies Press` one
        after = end
        while after < min(len(tokens), end + 3) and _connects(tokens, at, end, after, vocabulary.german):
            if gap(text, tokens, after - 1) != " ":
                break
            after += 1
        between = gap(text, tokens, after - 1)
        if between == "\0" or (tokens[after].text == "I" and last.casefold() in words("months")):
            break
        following = tokens[after]
        if between == ", " and following.text.casefold().rstrip(".") in words("legal"):
            return after + 1
        initial = between == ". " and (len(last) == 1 or last.casefold() in words("abbreviations"))
        numbered = following.kind == "digits" and after == end and following.text.isalnum()
        if not (between == " " or initial) or not (following.kind == "upper" or numbered):
            break
        end = after + 1
    return end


def _connects(tokens: Sequence[Token], at: int, end: int, index: int, german: bool) -> bool:
    """Whether a lower-case word may stand inside the name that begins at `at` and so far ends at `end`."""
    word, last = tokens[index].text, tokens[end - 1].text.casefold()
    heads = words("organizations") | words("events")
    if word == "of" and end - at > 1 and last not in heads and last not in words("roles") and last != "states":
        return False  # `Nookat District of Osh Province` is two names, `District of Columbia` one
    if word in ("and", "und"):
        return index == end and _is_collective(tokens[at:end])
    if word == "the":
        return index > end
    if word in ("on", "for", "für") or (german and word in ("der", "des")):
        return last in heads
    if german and word == "von":
        return last in words("names")
    return word in words("connectors")


def _is_collective(tokens: Sequence[Token]) -> bool:
    """Whether tokens begin as `Ministry of Food`, so that an `and` after them belongs to the name."""
    head = next((index for index, token in enumerate(tokens) if token.text in ("of", "for", "on", "für", "der")), 0)
    heads = {token.text.casefold() for token in tokens[:head]}
    return 0 < head >= len(tokens) - 3 and not heads.isdisjoint(words("organizations"))


def _name(text: str, tokens: Sequence[Token], at: int, after: int, vocabulary: Vocabulary) -> Mention | None:
    """Return the name in a run of capitals; None when only stop words or a sentence's first word are left."""
    opening = opens(text, tokens, at)
    first = at
    while first < after and (tokens[first].kind != "upper" or _is_prefix(tokens[first], opening, first == after - 1)):
        first += 1
    for index in range(first, after - 2):
        if tokens[index].text.casefold() in words("roles") and tokens[index + 1].kind == "upper":
            first = index + 1  # `Chief Engineer Marcus Lindqvist`
    if first == after:
        return None
    name = bare(text[tokens[first].start : tokens[after - 1].end])
    folded = name.casefold()
    if after - first == 1 and (
        len(name) < 2
        or folded in words("nameless")
        or folded in words("months")
        or (opening and first == at and not _opens_as_name(text, tokens, first, vocabulary))
        or (vocabulary.german and _is_common_noun(tokens, first))
    ):
        return None
    start = tokens[first].start
    return Mention(name, "name", start, start + len(name), first, after)


def _is_prefix(token: Token, opening: bool, last: bool) -> bool:
    word = token.text.casefold()
    if word in words("honorifics") or (opening and word in words("imperatives")):
        return True
    if opening and len(word) > 5 and word.endswith("ing") and not last:
        return True  # `Restarting Envoy`
    acronym = len(word) > 1 and token.text.isupper()  # `IT`, `US`
    return word in words("stop") and not acronym and (opening or last or word != "the")


def _opens_as_name(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> bool:
    """Whether the first word of a sentence, which has a capital anyway, is a name."""
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
    """Whether a single German word with a capital is more likely a noun than a name."""
    word = tokens[at].text
    placed = at > 0 and tokens[at - 1].text.casefold() in words("before names")
    return word.istitle() and (not placed or word.endswith(tuple(words("noun endings"))))
