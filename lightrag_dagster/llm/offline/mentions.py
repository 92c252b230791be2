"""Names, dates, amounts and quoted titles in a sentence, by capital letters and shape alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from lightrag_dagster.llm.offline.words import words

Kind = Literal["name", "date", "number", "title", "term"]

_OPENERS = frozenset((":", ";", "–", "—", "-", "•"))
_GERMAN_CONNECTORS = frozenset(("von", "van", "zu", "de", "of"))
_GERMAN_ENDINGS = ("e", "en", "er", "es", "em")
_GERMAN_NOUNS = (
    *("ung", "ungen", "heit", "heiten", "keit", "keiten", "schaft", "schaften", "tion", "tionen", "tät", "täten"),
    *("ismus", "ment", "nis", "nisse", "chen", "lein", "ling", "linge", "tag", "tage", "tagen", "zeit", "zeiten"),
)
_CJK_KINDS = {"cjk": "name", "cjk_title": "title"}
_LONGEST_NAME = 12
"""Tokens; a longer run of capitals is cut."""


class Token(NamedTuple):
    """A word, or a whole date, amount or quotation; `kind` is a `Kind`, or `upper`, `digits` or `word`."""

    text: str
    start: int
    end: int
    kind: str


class Mention(NamedTuple):
    """A name where it stands in a sentence; its first and last token are `tokens[first]` and `tokens[after - 1]`."""

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


@cache
def _token_pattern() -> re.Pattern[str]:
    month = (
        "(?:" + "|".join(sorted((month.capitalize() for month in words("months")), key=lambda m: (-len(m), m))) + ")"
    )
    year = r"(?:1\d|20)\d\d"
    kanji, kana = r"\u3400-\u9fff", r"\u3040-\u30ff"
    letter = rf"(?:[^\W_{kanji}{kana}])"
    return re.compile(
        rf"""
        (?P<date>(?<![\w.,£$€/-])(?:
            \d{{4}}-\d\d-\d\d
          | \d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}
          | \d{{1,2}}(?:st|nd|rd|th|\.)?[ ](?:of[ ])?{month}(?:,?[ ]{year})?
          | {month}[ ]\d{{1,2}}(?:st|nd|rd|th)?(?:,[ ]{year})?(?![\d:])
          | {month}(?:[ ]of|,)?[ ]{year}
          | \d{{1,2}}(?:st|nd|rd|th)[ ]century
          | \d{{1,4}}[ ](?:BCE?|AD)
          | {year}s?
        )(?![\w%]|[.,/]\d|:\d))
      | (?P<number>(?<![\w.,:/-])(?:
            [£$€]\d[\d.,]{{0,20}}(?<![.,])(?:[ ](?:thousand|million|billion|trillion))?
          | \d[\d.,]{{0,20}}[ ](?:€|(?:million|billion|trillion)[ ](?:dollars|euros|pounds)|[A-Z]{{2,3}}|[kMG]Hz|Euro)
        )(?!\w))
      | ["“„](?P<title>[^\W_a-zß-öø-ÿ][^"“”„\n]{{0,70}}?)[,.;:!]?[ ]?["”“]
      | [「『《](?P<cjk_title>[^「」『』《》\n]{{1,40}})[」』》]
      | `(?P<term>[^\W\d_][\w.-]{{1,38}}[^\W_])`
      | (?P<cjk>[ァ-ヺー・]{{3,40}}
          | [{kanji}]{{1,4}}(?=さん|氏|様|先生|女士)
          | (?:(?![的了在是和与及由从對对为於于被把向到有個个这那他她它我你將将并也又或但而其等以之])[{kanji}]){{1,8}}?
            (?:公司|大学|大學|研究所|银行|銀行|医院|病院|委员会|協会|协会|省|市|县|県|区|山|川|江|河|湖|島|岛))
      | (?P<word>(?:[^\W\d_]\.){{2,12}} | {letter}+(?:[-'’.&+/_]{letter}+)* | & )
        """,
        re.VERBOSE,
    )


def scan(text: str) -> list[Token]:
    """Split a sentence into tokens, in order."""
    tokens = []
    for found in _token_pattern().finditer(text):
        group = found.lastgroup or ""
        word = found[group]
        kind = _CJK_KINDS.get(group, group)
        if group == "word" and word[0].isdigit():
            kind = "digits"
        elif group == "word" and (word[0].isupper() or ("-" not in word and word not in (word.lower(), word.upper()))):
            kind = "upper"
        tokens.append(Token(word, found.start(group), found.end(group), kind))
    return tokens


def bare(word: str) -> str:
    """Return a word without its possessive ending."""
    return word.removesuffix("'s").removesuffix("’s").rstrip("'’")


def opens(text: str, tokens: Sequence[Token], at: int) -> bool:
    """Whether a token begins a sentence, a table cell or what follows a colon, where any word may have a capital."""
    return at == 0 or text[tokens[at - 1].end : tokens[at].start].strip() in _OPENERS


def name_like(tokens: Sequence[Token]) -> bool:
    """Whether a heading is written as a name: every word but the connectors has a capital."""
    return bool(tokens) and all(token.kind != "word" or token.text in words("connectors") for token in tokens)


def join_phrases(tokens: list[Token], phrases: Sequence[str]) -> list[Token]:
    """Make each occurrence of a phrase one token of kind `name`, in whatever case it is written."""
    for phrase in phrases:
        wanted = [token.text.casefold() for token in scan(phrase)]
        folded = [bare(token.text).casefold() for token in tokens]
        if not wanted or len(wanted) > _LONGEST_NAME or wanted[0] not in folded:
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
        token = tokens[at]
        after = at + 1
        if token.kind == "upper":
            after = _run_end(text, tokens, at, vocabulary)
            if name := _name(text, tokens, at, after, vocabulary):
                found.append(name)
        elif token.kind not in ("word", "digits"):
            if token.kind == "date" and len(token.text) == 4 and _adjacent(text, tokens, at) == " ":
                after = _run_end(text, tokens, after, vocabulary)  # `1952 Summer Olympics`, but not `1930 American`
                after = after if tokens[at + 1].kind == "upper" and after > at + 2 else at + 1
            kind = token.kind if after == at + 1 else "name"
            name = token.text if after == at + 1 else bare(text[token.start : tokens[after - 1].end])
            found.append(Mention(name, kind, token.start, tokens[after - 1].end, at, after))
        at = after
    return found


def _adjacent(text: str, tokens: Sequence[Token], at: int) -> str:
    """Return what stands between a token and the next one; a null character after the last."""
    return text[tokens[at].end : tokens[at + 1].start] if at + 1 < len(tokens) else "\0"


def _inside_longer_name(tokens: Sequence[Token], at: int, after: int) -> bool:
    before = tokens[at - 1] if at else None
    following = tokens[after] if after < len(tokens) else None
    return bool(
        (
            before
            and before.kind == "upper"
            and before.end + 1 == tokens[at].start
            and before.text.casefold() not in words("stop")
        )
        or (following and following.kind == "upper" and tokens[after - 1].end + 1 == following.start)
    )


def _run_end(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> int:
    """Return the end of the run of name words that starts at `at`."""
    end = at + 1
    while end < min(len(tokens), at + _LONGEST_NAME):
        last = tokens[end - 1].text
        if last != bare(last) and bare(last).casefold() in vocabulary.upper:
            break  # `Priya's Kestrel` is two names, `Men's Studies Press` one
        after = end
        while after < min(len(tokens), end + 3) and _connects(tokens, at, end, after, vocabulary.german):
            if _adjacent(text, tokens, after - 1) != " ":
                break
            after += 1
        gap = _adjacent(text, tokens, after - 1)
        if gap == "\0":
            break
        following = tokens[after]
        if gap == ", " and following.text.casefold().rstrip(".") in words("legal"):
            return after + 1
        if gap != " " and not (gap == ". " and (len(last) == 1 or last.casefold() in words("abbreviations"))):
            break
        if following.kind != "upper" and not (following.kind == "digits" and after == end and following.text.isalnum()):
            break
        end = after + 1
    return end


def _connects(tokens: Sequence[Token], at: int, end: int, index: int, german: bool) -> bool:
    """Whether a lower-case word may stand inside the name that begins at `at` and so far ends at `end`."""
    word, last = tokens[index].text, tokens[end - 1].text.casefold()
    if word == "of" and end - at > 1 and last in words("places") and last != "states":
        return False  # `Nookat District of Osh Province` is two names, `District of Columbia` one
    if word in ("and", "und"):
        return index == end and _is_collective(tokens[at:end])
    if word == "the":
        return index > end
    if word == "on":
        return last in words("organizations") or last in words("events")
    return word in (_GERMAN_CONNECTORS if german else words("connectors"))


def _is_collective(tokens: Sequence[Token]) -> bool:
    """Whether tokens begin as `Ministry of Food`, so that an `and` after them belongs to the name."""
    head = next((index for index, token in enumerate(tokens) if token.text in ("of", "for", "on", "für", "der")), 0)
    return 0 < head >= len(tokens) - 3 and any(
        token.text.casefold() in words("organizations") for token in tokens[:head]
    )


def _name(text: str, tokens: Sequence[Token], at: int, after: int, vocabulary: Vocabulary) -> Mention | None:
    """Return the name in a run of capitals, or None when nothing but the sentence's first word or a stop word is left."""
    opening = opens(text, tokens, at)
    first = at
    while first < after and _is_prefix(tokens[first], opening or first == after - 1):
        first += 1
        while first < after and tokens[first].kind != "upper":
            first += 1
    if first == after:
        return None
    start = tokens[first].start
    name = bare(text[start : tokens[after - 1].end])
    kind: Kind = "date" if name.casefold() in words("months") else "name"
    if after - first == 1:
        if len(name) < 2 or name.casefold() in words("nameless"):
            return None
        if opening and first == at and not _opens_as_name(text, tokens, first, vocabulary):
            return None
        if vocabulary.german and _is_common_noun(tokens, first):
            return None
    return Mention(name, kind, start, start + len(name), first, after)


def _is_prefix(token: Token, opens: bool) -> bool:
    word = token.text.casefold()
    if word in words("honorifics") or (opens and word in words("imperatives")):
        return True
    acronym = len(word) > 1 and token.text.isupper()  # `IT`, `US`
    return word in words("stop") and not acronym and (opens or word != "the")


def _opens_as_name(text: str, tokens: Sequence[Token], at: int, vocabulary: Vocabulary) -> bool:
    """Whether the first word of a sentence, which has a capital anyway, is a name."""
    word = bare(tokens[at].text)
    gap = _adjacent(text, tokens, at)
    if word.casefold() in vocabulary.upper:
        return True
    if word.casefold() in vocabulary.lower or gap[0] in ":\0":
        return False
    following = tokens[at + 1]
    return (
        (word.isupper() and len(word) > 1)
        or (gap == ", " and following.kind == "upper" and not word.endswith("ly"))
        or (gap == " " and following.text in ("and", "und") and at + 2 < len(tokens) and tokens[at + 2].kind == "upper")
        or (gap == " " and following.text in words("acts"))
        or word.casefold() in words("names")
    )


def _is_common_noun(tokens: Sequence[Token], at: int) -> bool:
    """Whether a single German word with a capital is more likely a noun than a name."""
    before = tokens[at - 1].text.casefold() if at else ""
    described = before in words("determiners") or (before not in words("stop") and before.endswith(_GERMAN_ENDINGS))
    return described or tokens[at].text.endswith(_GERMAN_NOUNS)
