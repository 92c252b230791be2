"""Entities and relations by rule: names are found by shape, relations by standing in one sentence.

A name is related to the subject of its sentence, to its neighbour, and to the topic of its section: the title, or what
the first sentence is about. Pronouns are not resolved; the topic stands in for them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lightrag_dagster.models.offline.entity_types import OTHER, entity_type
from lightrag_dagster.models.offline.mentions import Mention, Vocabulary, find, join_phrases
from lightrag_dagster.models.offline.prose import sentences
from lightrag_dagster.models.offline.tokens import Kind, Token, gap, name_like, opens, scan
from lightrag_dagster.models.offline.words import words

_MOST_SENTENCES = 3
_MOST_CAPITALS = 3
_GERMAN_WORDS = 4
_LONGEST_TOPIC = 12
_MEASURES = ("date", "number")
_NOWHERE = Mention("", "name", 0, 0, 0, 0)
_PARENTHESES = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class Entity:
    """Something the text names; the description is up to three sentences that mention it."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class Relation:
    """Two entities that one sentence holds together; the description is that sentence."""

    source: str
    target: str
    keywords: str
    description: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a text yields, in its order."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


def extract(text: str) -> Extraction:
    """Return the entities and relations of a text; the same text always yields the same."""
    parts = [_Part(sentence.text, sentence.level, scan(sentence.text)) for sentence in sentences(text)]
    _read(parts, text.casefold())
    draft = _Draft(_aliases(parts))
    for part in parts:
        draft.add(part)
    return draft.extraction()


@dataclass
class _Part:
    """A sentence or heading, what it mentions, and the topic it belongs to."""

    text: str
    level: int
    tokens: list[Token]
    mentions: list[tuple[Mention, str]] = field(default_factory=list)
    topic: str | None = None


def _read(parts: Sequence[_Part], folded: str) -> None:
    """Find the mentions and topic of every part.

    A heading that is a name, or that the text repeats, is the topic of what follows it and is found there in any case.
    """
    vocabulary = _vocabulary(parts)
    title: str | None = None
    section: str | None = None
    for part in parts:
        own: list[Mention] = []
        if part.level:
            phrase = _PARENTHESES.sub("", part.text).replace("`", "").strip(" :.")
            phrase = phrase.title() if phrase.isupper() and len(part.tokens) > 1 else phrase
            inside = [token for token in part.tokens if token.start < len(phrase)]
            if _is_topic(phrase, part.level, inside, folded, vocabulary):
                kind: Kind = "name" if name_like(inside) else "title" if part.level == 1 else "term"
                own = [Mention(phrase, kind, 0, len(phrase), 0, len(inside))]
                part.tokens = part.tokens[len(inside) :]
        else:
            part.tokens = join_phrases(part.tokens, [topic for topic in (title, section) if topic])
        shouted = part.text.isupper() and len(part.tokens) > _MOST_CAPITALS
        if not shouted and not (part.level and _is_listed(part.tokens)):
            own += find(part.text, part.tokens, vocabulary)
        part.mentions = [(mention, entity_type(part.text, part.tokens, mention)) for mention in own]
        first = next((mention.name for mention in own if mention.kind not in _MEASURES), None)
        if part.level == 1:
            title, section = first, None
        elif part.level:
            section = first
        elif not title and not section:
            title = first
        part.topic = section or title


def _vocabulary(parts: Sequence[_Part]) -> Vocabulary:
    lower: set[str] = set()
    upper: set[str] = set()
    for part in parts:
        several = part.level == 1 or (part.level > 1 and len(part.tokens) > 1)
        named_heading = several and name_like(part.tokens) and not _is_listed(part.tokens)
        for at, token in enumerate(part.tokens):
            if token.kind == "word":
                lower.add(token.text.casefold())
            elif token.kind == "upper" and (named_heading or not opens(part.text, part.tokens, at)):
                # `Time` alone is no name because `Central European Time` is one.
                beside = [near for near in (at - 1, at) if near >= 0 and gap(part.text, part.tokens, near) == " "]
                if not any(part.tokens[near if near < at else at + 1].kind == "upper" for near in beside):
                    upper.add(token.text.casefold())
    return Vocabulary(frozenset(lower), frozenset(upper), german=len(words("german") & lower) >= _GERMAN_WORDS)


def _is_listed(tokens: Sequence[Token]) -> bool:
    return {token.text.casefold() for token in tokens} <= words("headings") | words("stop")


def _is_topic(phrase: str, level: int, tokens: Sequence[Token], folded: str, vocabulary: Vocabulary) -> bool:
    if _is_listed(tokens) or ", " in phrase or len(tokens) > _LONGEST_TOPIC:
        return False
    nameless = not any(token.kind in ("upper", "title", "term") for token in tokens[1:])
    if level == 1 and (nameless or name_like(tokens)):
        return True
    if tokens[0].text.casefold() in words("stop") or (len(tokens) == 1 and phrase.casefold() not in vocabulary.upper):
        return False
    return folded.count(phrase.casefold()) > 1


def _aliases(parts: Sequence[_Part]) -> dict[str, str | None]:
    """Return the longer name a word stands for: its last word or a person's first; None when two share it."""
    aliases: dict[str, str | None] = {}
    for part in parts:
        for mention, kind in part.mentions:
            folded = mention.name.casefold().split()
            short = mention.kind == "name" and 2 <= len(folded) <= 4 and not words("connectors").intersection(folded)
            if not short or kind not in ("person", OTHER):
                continue
            for word in (folded[0], folded[-1]) if kind == "person" else (folded[-1],):
                if (aliases.setdefault(word, mention.name) or "").casefold() != mention.name.casefold():
                    aliases[word] = None
    return aliases


class _Draft:
    """Collects entities and relations in the order of the text."""

    def __init__(self, aliases: dict[str, str | None]) -> None:
        self._aliases = aliases
        self._names: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._sentences: dict[str, list[str]] = {}
        self._headings: dict[str, str] = {}
        self._relations: dict[frozenset[str], Relation] = {}

    def add(self, part: _Part) -> None:
        """Take in a part: relate its subject to the others, each name to the next one, and the topic to all."""
        text = part.text.replace("`", "")
        found = [(self._entity(mention, kind, text, part.level), mention) for mention, kind in part.mentions]
        if not part.topic:
            return
        topic = (self._name(part.topic), _NOWHERE)
        subject = next((one for one in found if one[1].kind not in _MEASURES), topic)
        for before, one in zip([subject, *found], found, strict=False):
            for other in (subject, before, topic):
                self._relate(text, part.tokens, other, one)

    def extraction(self) -> Extraction:
        """Return what was added."""
        entities = (
            Entity(name, self._types[key], " ".join(self._sentences[key]) or self._headings[key])
            for key, name in self._names.items()
        )
        return Extraction(tuple(entities), tuple(self._relations.values()))

    def _name(self, name: str) -> str:
        """Return the name an entity goes by: a longer one it is short for, and the first spelling of that."""
        name = self._aliases.get(name.casefold()) or name
        return self._names.setdefault(name.casefold(), name)

    def _entity(self, mention: Mention, kind: str, text: str, level: int) -> str:
        name = self._name(mention.name)
        key = name.casefold()
        if self._types.get(key, OTHER) == OTHER and (mention.kind == "name" or key not in self._types):
            self._types[key] = kind
        told = self._sentences.setdefault(key, [])
        if level:
            self._headings.setdefault(key, text)
        elif len(told) < _MOST_SENTENCES and text not in told:
            told.append(text)
        return name

    def _relate(self, text: str, tokens: Sequence[Token], one: tuple[str, Mention], other: tuple[str, Mention]) -> None:
        pair = frozenset((one[0], other[0]))
        measured = one[1].kind in _MEASURES and other[1].kind in _MEASURES
        if len(pair) < 2 or measured or pair in self._relations:
            return
        first, second = sorted((one, other), key=lambda found: found[1].start)
        keywords = _keywords(tokens[max(first[1].after, second[1].first - 12) : second[1].first]) or _keywords(
            tokens[second[1].after : second[1].after + 6]
        )
        self._relations[pair] = Relation(first[0], second[0], keywords or "related", text)


def _keywords(tokens: Sequence[Token]) -> str:
    """Return up to three phrases of up to three content words, the last ones before the name they lead to."""
    phrases: list[list[str]] = [[]]
    for token in tokens:
        if token.kind != "word" or token.text in words("stop") or token.text in words("connectors"):
            phrases.append([])
        else:
            phrases[-1].append(token.text)
    return ", ".join(dict.fromkeys(" ".join(phrase[-3:]) for phrase in [p for p in phrases if p][-3:]))
