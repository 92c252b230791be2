"""A text read by the offline rules: its sentences and headings, the names in them, and their types."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.offline.entity_types import Vote, decide, votes_of_part
from lightrag_dagster.offline.mentions import Mention, Vocabulary, find, join_phrases
from lightrag_dagster.offline.prose import sentences
from lightrag_dagster.offline.recognised import Recogniser, join
from lightrag_dagster.offline.spellings import canonical, counted, divide
from lightrag_dagster.offline.tokens import Token, gap, name_like, opens, scan
from lightrag_dagster.offline.words import words

MEASURES = ("date", "number")
"""Kinds of mentions that are dates and amounts."""

_MOST_CAPITALS = 3
_GERMAN_WORDS = 4
_LONGEST_TOPIC = 12
_QUESTIONS = ("how", "what", "when", "where", "which", "who", "why", "was", "wann", "warum", "wer", "wie", "wo")
_PARENTHESES = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass
class Part:
    """A sentence, heading or table row with its mentions, a model's votes for their types, and its topic."""

    text: str
    level: int
    row: bool
    tokens: list[Token]
    mentions: list[Mention] = field(default_factory=list)
    votes: Mapping[tuple[int, int], Vote] = field(default_factory=dict)
    topic: str | None = None


class ParsedText(NamedTuple):
    """The parts of a text in order, and the type of each name in them, by the case-folded name."""

    parts: Sequence[Part]
    types: Mapping[str, str]


def read(text: str, *, dates: bool, recognise: Recogniser | None = None, language: str | None = None) -> ParsedText:
    """Find the names of a text and their types; dates and amounts only with `dates`.

    Names that `recognise` finds in addition to the rules are added, and its types count as further votes.
    A text is German if its words are, or if `language`, that of its document, is `de`: a short one has few such words.
    """
    parts = [Part(sentence.text, sentence.level, sentence.row, scan(sentence.text)) for sentence in sentences(text)]
    _find_mentions(parts, text.casefold(), language)
    if recognise:
        _add_recognised(parts, recognise)
    _divide(parts, dates=dates)
    votes = _votes(parts)
    types = {name: decide(found) for name, found in votes.items()}
    _respell(parts, votes, types)
    return ParsedText(parts, types)


def _add_recognised(parts: Sequence[Part], recognise: Recogniser) -> None:
    """Add names that a model finds, but of lines in capitals only those that are given."""
    for part, spans in zip(parts, recognise([part.text for part in parts]), strict=True):
        kept = [span for span in spans if span.given] if _is_shouted(part) else spans
        part.mentions, part.votes = join(part.text, part.tokens, part.mentions, kept)


def _divide(parts: Sequence[Part], *, dates: bool) -> None:
    """Divide names that run together, and leave out dates and amounts unless they are wanted."""
    known = counted(mention for part in parts for mention in part.mentions)
    names: dict[str, str] = {}
    for part in parts:
        kept = [mention for mention in part.mentions if dates or mention.kind not in MEASURES]
        part.mentions = divide(part.text, part.tokens, kept, known)
        starts = {mention.start: mention.name for mention in reversed(kept)}
        names |= {starts[one.start].casefold(): one.name for one in part.mentions if one.start in starts}
    for part in parts:
        part.topic = names.get(part.topic.casefold()) if part.topic else None


def _votes(parts: Sequence[Part]) -> dict[str, list[Vote]]:
    """Return the votes for the type of each name, of all its mentions in the text.

    Those of the rules are not asked in a heading, where each word has a capital whether it is a name's or not.
    """
    votes: dict[str, list[Vote]] = {}
    for part in parts:
        cast = [[] for _ in part.mentions] if part.level else votes_of_part(part.text, part.tokens, part.mentions)
        for mention, found in zip(part.mentions, cast, strict=True):
            further = part.votes.get((mention.start, mention.end))
            votes.setdefault(mention.name.casefold(), []).extend([*found, further] if further else found)
    return votes


def _respell(parts: Sequence[Part], votes: Mapping[str, list[Vote]], types: dict[str, str]) -> None:
    """Write each name that is not given in its best spelling; the votes for all its spellings decide its type."""
    names: dict[str, str] = {}
    for mention in (one for part in parts for one in part.mentions if one.kind != "given"):
        names.setdefault(mention.name.casefold(), mention.name)
    better = canonical(names, types)
    if not better:
        return
    joined: dict[str, list[Vote]] = {}
    for folded in names:
        joined.setdefault(better.get(folded, folded).casefold(), []).extend(votes[folded])
    types.update((name, decide(found)) for name, found in joined.items())
    for part in parts:
        part.mentions = [
            one if one.kind == "given" else one._replace(name=better.get(one.name.casefold(), one.name))
            for one in part.mentions
        ]
        part.topic = better.get(part.topic.casefold(), part.topic) if part.topic else None


def _find_mentions(parts: Sequence[Part], folded: str, language: str | None) -> None:
    """Find the mentions and topic of every part.

    A heading that is a name, or that the text repeats, is the topic of the text after it and found there in any case.
    A row of a table is about itself, not about the first one.
    """
    vocabulary = _vocabulary(parts, language)
    title: str | None = None
    section: str | None = None
    for part in parts:
        if part.level and (topic := _topic(part, folded, vocabulary)):
            part.mentions = [topic]
            part.tokens = [token for token in part.tokens if token.start >= topic.end]
        elif not part.level:
            part.tokens = join_phrases(part.text, part.tokens, [name for name in (title, section) if name])
        if not _is_shouted(part) and not (part.level and _is_listed(part.tokens)):
            part.mentions += find(part.text, part.tokens, vocabulary)
        first = next((mention.name for mention in part.mentions if mention.kind not in MEASURES), None)
        if part.level > 1:
            section = first
        elif part.level:
            title, section = first, None
        elif not title and not section and not part.row:
            title = first
        part.topic = section or title


def _vocabulary(parts: Sequence[Part], language: str | None) -> Vocabulary:
    """Collect the lower-case words, and the single words that have a capital where grammar requires none."""
    lower: set[str] = set()
    upper: set[str] = set()
    for part in parts:
        tokens = part.tokens
        named = (part.level == 1 or (part.level and len(tokens) > 1)) and name_like(tokens) and not _is_listed(tokens)
        for at, token in enumerate(tokens):
            if token.kind == "word":
                lower.add(token.text.casefold())
            elif token.kind == "upper" and (named or not opens(part.text, tokens, at)):
                # `Time` alone is not a name because `Central European Time` is one.
                led = at > 0 and tokens[at - 1].kind == "upper" and gap(part.text, tokens, at - 1) == " "
                if not led and not (gap(part.text, tokens, at) == " " and tokens[at + 1].kind == "upper"):
                    upper.add(token.text.casefold())
    german = language == "de" or len(words("german") & lower) >= _GERMAN_WORDS
    return Vocabulary(frozenset(lower), frozenset(upper), german)


def _is_shouted(part: Part) -> bool:
    return part.text.isupper() and len(part.tokens) > (1 if part.level else _MOST_CAPITALS)


def _is_listed(tokens: Sequence[Token]) -> bool:
    return {token.text.casefold() for token in tokens} <= words("headings") | stop_words()


def _topic(part: Part, folded: str, vocabulary: Vocabulary) -> Mention | None:
    """Return the topic that a heading names, without the parentheses at its end."""
    phrase = _PARENTHESES.sub("", part.text).replace("`", "").strip(" :.")
    if _is_shouted(part):
        return None
    inside = [token for token in part.tokens if token.start < len(phrase)]
    if _is_listed(inside) or ", " in phrase or len(inside) > _LONGEST_TOPIC:
        return None
    first = inside[0].text.casefold()
    named = name_like(inside) and not (len(inside) == 1 and first in vocabulary.lower)
    mention = Mention(phrase, "name" if named else "title", 0, len(phrase), 0, 0)
    nameless = not any(token.kind in ("upper", "title", "term") for token in inside[1:])
    work = part.text != phrase and _PARENTHESES.search(part.text)  # `Dancing in the Rain (film)`
    titled = part.level == 1 and (nameless or named or work) and first not in _QUESTIONS
    alone = first in vocabulary.upper and not vocabulary.german
    repeated = first not in stop_words() and (len(inside) > 1 or alone)
    return mention if titled or (repeated and folded.count(phrase.casefold()) > 1) else None
