"""Entities and relations by rule: names are found by shape, relations between names of one sentence.

A name is related to the subject of its sentence, to its neighbour, and to the topic of its section: the title, or the
first name of the text unless that is in a table. Pronouns are not resolved; the topic takes their place.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.offline.entity_types import OTHER
from lightrag_dagster.offline.mentions import Mention
from lightrag_dagster.offline.reading import MEASURES, ParsedText, Part, read
from lightrag_dagster.offline.recognised import Recogniser
from lightrag_dagster.offline.tokens import Token
from lightrag_dagster.offline.words import words

_MOST_SENTENCES = 3
_MOST_RELATED = 12
_SHORTENED = ("person", "artifact", "event", OTHER)
_NAMED = "Named in the text."
_NAMED_TOGETHER = "Named in one sentence."
_NOWHERE = Mention("", "name", 0, 0, 0, 0)


class NamedEntity(NamedTuple):
    """A name in a text, its type, and the sentences that name it."""

    name: str
    type: str
    description: str


class NamedRelation(NamedTuple):
    """Two names of a sentence, the words between them, and the sentence."""

    src: str
    tgt: str
    keywords: str
    description: str


class Extracted(NamedTuple):
    """The entities and relations of a text."""

    entities: tuple[NamedEntity, ...]
    relations: tuple[NamedRelation, ...]


def extract(text: str, *, dates: bool = False, language: str | None = None) -> Extracted:
    """Return the entities and relations of a text; the same text always yields the same.

    With `dates`, dates and amounts are entities as well. `language` is the code of the document's, if it is known.
    """
    reading = read(text, dates=dates, language=language)
    graph = _Graph(_aliases(reading))
    for part in reading.parts:
        graph.add(part)
    return graph.extracted(reading.types)


def find_names(
    text: str, *, co_mentions: bool = False, recognise: Recogniser | None = None, language: str | None = None
) -> Extracted:
    """Return the names of a text as entities; with `co_mentions`, each pair of those in one sentence as a relation.

    All have one description, so that a merge finds none to summarise. `recognise` finds more names than the rules do.
    `language` is the code of that of the document, if it is known.
    """
    reading = read(text, dates=False, recognise=recognise, language=language)
    graph = _Graph(_aliases(reading))
    for part in reading.parts:
        graph.add_names(part, related=co_mentions)
    found = graph.extracted(reading.types)
    return found._replace(entities=tuple(one._replace(description=_NAMED) for one in found.entities))


def _aliases(reading: ParsedText) -> dict[str, str | None]:
    """Return the longer name that its last word, or a person's first, is short for; None where two share the word."""
    aliases: dict[str, str | None] = {}
    for part in reading.parts:
        for mention in part.mentions:
            folded = mention.name.casefold().split()
            kind = reading.types[mention.name.casefold()]
            if kind in _SHORTENED and 2 <= len(folded) <= 4 and not words("connectors").intersection(folded):
                for word in folded[:: len(folded) - 1] if kind == "person" else folded[-1:]:
                    if (aliases.setdefault(word, mention.name) or "").casefold() != mention.name.casefold():
                        aliases[word] = None
    return aliases


class _Graph:
    """The entities and relations of a text, collected in its order."""

    def __init__(self, aliases: Mapping[str, str | None]) -> None:
        self._aliases = aliases
        self._names: dict[str, str] = {}
        self._texts: dict[str, list[tuple[int, str]]] = {}
        self._relations: dict[frozenset[str], NamedRelation] = {}

    def add(self, part: Part) -> None:
        """Relate the subject of a part to its other names, each name to the next one, and the topic to all."""
        found = [(self._entity(mention, part), mention) for mention in part.mentions]
        topic = (self._name(part.topic), _NOWHERE) if part.topic else None
        subject = next((one for one in found if one[1].kind not in MEASURES), topic)
        if not subject:
            return
        for before, one in zip([subject, *found], found, strict=False):
            for other in filter(None, (subject, before, topic)):
                self._relate(part, *sorted((other, one), key=lambda end: end[1].start))

    def add_names(self, part: Part, *, related: bool) -> None:
        """Add the names of a part; with `related`, relate its first names to each other, pair by pair."""
        found = [(self._entity(mention, part), mention) for mention in part.mentions]
        near = found[:_MOST_RELATED] if related and not part.level else []
        for first, second in combinations(near, 2):
            pair = frozenset((first[0], second[0]))
            if len(pair) == 2 and pair not in self._relations:
                self._relations[pair] = NamedRelation(first[0], second[0], "mentioned together", _NAMED_TOGETHER)

    def extracted(self, types: Mapping[str, str]) -> Extracted:
        """Return the entities and relations; an entity's description is up to three sentences, or else a heading."""
        entities = []
        for key, name in self._names.items():
            told = list(dict.fromkeys(text for level, text in self._texts[key] if not level))
            description = " ".join(told[:_MOST_SENTENCES]) or self._texts[key][0][1]
            entities.append(NamedEntity(name, types[key], description))
        return Extracted(tuple(entities), tuple(self._relations.values()))

    def _name(self, name: str) -> str:
        """Return the name an entity goes by: a longer one it is short for, and the first spelling of that."""
        name = self._aliases.get(name.casefold()) or name
        return self._names.setdefault(name.casefold(), name)

    def _entity(self, mention: Mention, part: Part) -> str:
        name = self._name(mention.name)
        key = name.casefold()
        self._texts.setdefault(key, []).append((part.level, part.text.replace("`", "")))
        return name

    def _relate(self, part: Part, first: tuple[str, Mention], second: tuple[str, Mention]) -> None:
        pair = frozenset((first[0], second[0]))
        measured = first[1].kind in MEASURES and second[1].kind in MEASURES
        if len(pair) == 2 and not measured and pair not in self._relations:
            start, stop = second[1].first, second[1].after
            keywords = _keywords(part.tokens[max(first[1].after, start - 12) : start])
            keywords = keywords or _keywords(part.tokens[stop : stop + 6]) or "related"
            self._relations[pair] = NamedRelation(first[0], second[0], keywords, part.text.replace("`", ""))


def _keywords(tokens: Sequence[Token]) -> str:
    """Return up to three phrases of up to three content words, the last ones before the name they lead to."""
    phrases: list[list[str]] = [[]]
    for token in tokens:
        if token.kind != "word" or not _tells(token.text):
            phrases.append([])
        else:
            phrases[-1].append(token.text)
    return ", ".join(dict.fromkeys(" ".join(phrase[-3:]) for phrase in [p for p in phrases if p][-3:]))


@lru_cache(maxsize=1 << 16)
def _tells(word: str) -> bool:
    """Return True if a word can be a keyword of a relation: no number, address or unit."""
    plain = len(word) > 1 and word.replace("-", "").replace("'", "").replace("’", "").isalpha()
    return plain and word not in stop_words() and not any(word in words(section) for section in ("connectors", "units"))
