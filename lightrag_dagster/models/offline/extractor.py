"""Entities and relations by rule: names are found by shape, relations between names of one sentence.

A name is related to the subject of its sentence, to its neighbour, and to the topic of its section: the title, or the
first name of the text. Pronouns are not resolved; the topic takes their place.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from lightrag_dagster.models.offline.entity_types import OTHER, Vote, decide, votes_of_part
from lightrag_dagster.models.offline.mentions import Mention, Vocabulary, find, join_phrases
from lightrag_dagster.models.offline.prose import sentences
from lightrag_dagster.models.offline.spellings import canonical, counted, divide
from lightrag_dagster.models.offline.tokens import Token, gap, name_like, opens, scan
from lightrag_dagster.models.offline.words import words
from lightrag_dagster.stages.extraction.records import Entity, Records, Relation

_MOST_SENTENCES = 3
_MOST_CAPITALS = 3
_MOST_RELATED = 12
_GERMAN_WORDS = 4
_LONGEST_TOPIC = 12
_MEASURES = ("date", "number")
_SHORTENED = ("person", "artifact", "event", OTHER)
_QUESTIONS = ("how", "what", "when", "where", "which", "who", "why", "was", "wann", "warum", "wer", "wie", "wo")
_NOWHERE = Mention("", "name", 0, 0, 0, 0)
_PARENTHESES = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass
class _Part:
    """A sentence or heading with its mentions and the topic it belongs to."""

    text: str
    level: int
    tokens: list[Token]
    mentions: list[Mention] = field(default_factory=list)
    topic: str | None = None


def extract(text: str, *, dates: bool = False) -> Records:
    """Return the entities and relations of a text; the same text always yields the same.

    With `dates`, dates and amounts are entities as well.
    """
    parts, types, graph = _read(text, dates=dates)
    for part in parts:
        graph.add(part)
    return graph.records(types)


def find_names(text: str, *, co_mentions: bool = False) -> Records:
    """Return the names of a text as entities; with `co_mentions`, each pair of those in one sentence as a relation."""
    parts, types, graph = _read(text, dates=False)
    for part in parts:
        graph.name(part, related=co_mentions)
    return graph.records(types)


def _read(text: str, *, dates: bool) -> tuple[list[_Part], dict[str, str], "_Graph"]:
    """Return the parts of a text with their mentions, the type of each name, and an empty graph."""
    parts = [_Part(sentence.text, sentence.level, scan(sentence.text)) for sentence in sentences(text)]
    _find_mentions(parts, text.casefold())
    known = counted(mention for part in parts for mention in part.mentions)
    names: dict[str, str] = {}
    for part in parts:
        kept = [mention for mention in part.mentions if dates or mention.kind not in _MEASURES]
        part.mentions = divide(part.text, part.tokens, kept, known)
        starts = {mention.start: mention.name for mention in reversed(kept)}
        names |= {starts[one.start].casefold(): one.name for one in part.mentions if one.start in starts}
    for part in parts:
        part.topic = names.get(part.topic.casefold()) if part.topic else None
    votes = _votes(parts)
    types = {name: decide(found) for name, found in votes.items()}
    _respell(parts, votes, types)
    return parts, types, _Graph(_aliases(parts, types))


def _votes(parts: Sequence[_Part]) -> dict[str, list[Vote]]:
    """Return the votes for the type of each name, to which all its mentions in the text add."""
    votes: dict[str, list[Vote]] = {}
    for part in parts:
        for mention, found in zip(part.mentions, votes_of_part(part.text, part.tokens, part.mentions), strict=True):
            votes.setdefault(mention.name.casefold(), []).extend(found)
    return votes


def _respell(parts: Sequence[_Part], votes: Mapping[str, list[Vote]], types: dict[str, str]) -> None:
    """Write each name in its best spelling, whose type the votes for all spellings decide."""
    names: dict[str, str] = {}
    for part in parts:
        for mention in part.mentions:
            names.setdefault(mention.name.casefold(), mention.name)
    better = canonical(names, types)
    if not better:
        return
    joined: dict[str, list[Vote]] = {}
    for folded in names:
        joined.setdefault(better.get(folded, folded).casefold(), []).extend(votes[folded])
    types.update((name, decide(found)) for name, found in joined.items())
    for part in parts:
        part.mentions = [one._replace(name=better.get(one.name.casefold(), one.name)) for one in part.mentions]
        part.topic = better.get(part.topic.casefold(), part.topic) if part.topic else None


def _find_mentions(parts: Sequence[_Part], folded: str) -> None:
    """Find the mentions and topic of every part.

    A heading that is a name, or that the text repeats, is the topic of the text after it and found there in any case.
    """
    vocabulary = _vocabulary(parts)
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
        first = next((mention.name for mention in part.mentions if mention.kind not in _MEASURES), None)
        if part.level > 1:
            section = first
        elif part.level:
            title, section = first, None
        elif not title and not section:
            title = first
        part.topic = section or title


def _vocabulary(parts: Sequence[_Part]) -> Vocabulary:
    """Collect the lower-case words, and the single words with a capital where no rule asks for one."""
    lower: set[str] = set()
    upper: set[str] = set()
    for part in parts:
        tokens = part.tokens
        named = (part.level == 1 or (part.level and len(tokens) > 1)) and name_like(tokens) and not _is_listed(tokens)
        for at, token in enumerate(tokens):
            if token.kind == "word":
                lower.add(token.text.casefold())
            elif token.kind == "upper" and (named or not opens(part.text, tokens, at)):
                # `Time` alone is no name because `Central European Time` is one.
                led = at > 0 and tokens[at - 1].kind == "upper" and gap(part.text, tokens, at - 1) == " "
                if not led and not (gap(part.text, tokens, at) == " " and tokens[at + 1].kind == "upper"):
                    upper.add(token.text.casefold())
    return Vocabulary(frozenset(lower), frozenset(upper), german=len(words("german") & lower) >= _GERMAN_WORDS)


def _is_shouted(part: _Part) -> bool:
    return part.text.isupper() and len(part.tokens) > (1 if part.level else _MOST_CAPITALS)


def _is_listed(tokens: Sequence[Token]) -> bool:
    return {token.text.casefold() for token in tokens} <= words("headings") | words("stop")


def _topic(part: _Part, folded: str, vocabulary: Vocabulary) -> Mention | None:
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
    titled = part.level == 1 and (nameless or named) and first not in _QUESTIONS
    alone = first in vocabulary.upper and not vocabulary.german
    repeated = first not in words("stop") and (len(inside) > 1 or alone)
    return mention if titled or (repeated and folded.count(phrase.casefold()) > 1) else None


def _aliases(parts: Sequence[_Part], types: Mapping[str, str]) -> dict[str, str | None]:
    """Return the longer name that its last word, or a person's first, is short for; None where two share the word."""
    aliases: dict[str, str | None] = {}
    for part in parts:
        for mention in part.mentions:
            folded = mention.name.casefold().split()
            kind = types[mention.name.casefold()]
            if kind in _SHORTENED and 2 <= len(folded) <= 4 and not words("connectors").intersection(folded):
                for word in folded[:: len(folded) - 1] if kind == "person" else folded[-1:]:
                    if (aliases.setdefault(word, mention.name) or "").casefold() != mention.name.casefold():
                        aliases[word] = None
    return aliases


class _Graph:
    """Collects entities and relations in the order of the text."""

    def __init__(self, aliases: Mapping[str, str | None]) -> None:
        self._aliases = aliases
        self._names: dict[str, str] = {}
        self._texts: dict[str, list[tuple[int, str]]] = {}
        self._relations: dict[frozenset[str], Relation] = {}

    def add(self, part: _Part) -> None:
        """Relate the subject of a part to its other names, each name to the next one, and the topic to all."""
        found = [(self._entity(mention, part), mention) for mention in part.mentions]
        if not part.topic:
            return
        topic = (self._name(part.topic), _NOWHERE)
        subject = next((one for one in found if one[1].kind not in _MEASURES), topic)
        for before, one in zip([subject, *found], found, strict=False):
            for other in (subject, before, topic):
                self._relate(part, *sorted((other, one), key=lambda end: end[1].start))

    def name(self, part: _Part, *, related: bool) -> None:
        """Take in the names of a part; `related` relates each of the first ones to every other."""
        found = [(self._entity(mention, part), mention) for mention in part.mentions]
        near = found[:_MOST_RELATED] if related and not part.level else []
        for first, second in combinations(near, 2):
            pair = frozenset((first[0], second[0]))
            if len(pair) == 2 and pair not in self._relations:
                told = part.text.replace("`", "")
                self._relations[pair] = Relation(first[0], second[0], "mentioned together", told)

    def records(self, types: Mapping[str, str]) -> Records:
        """Return the collected records; an entity's description is up to three sentences, or else a heading."""
        entities = []
        for key, name in self._names.items():
            told = list(dict.fromkeys(text for level, text in self._texts[key] if not level))
            description = " ".join(told[:_MOST_SENTENCES]) or self._texts[key][0][1]
            entities.append(Entity(name, types[key], description))
        return Records(tuple(entities), tuple(self._relations.values()), complete=True)

    def _name(self, name: str) -> str:
        """Return the name an entity goes by: a longer one it is short for, and the first spelling of that."""
        name = self._aliases.get(name.casefold()) or name
        return self._names.setdefault(name.casefold(), name)

    def _entity(self, mention: Mention, part: _Part) -> str:
        name = self._name(mention.name)
        key = name.casefold()
        self._texts.setdefault(key, []).append((part.level, part.text.replace("`", "")))
        return name

    def _relate(self, part: _Part, first: tuple[str, Mention], second: tuple[str, Mention]) -> None:
        pair = frozenset((first[0], second[0]))
        measured = first[1].kind in _MEASURES and second[1].kind in _MEASURES
        if len(pair) == 2 and not measured and pair not in self._relations:
            start, stop = second[1].first, second[1].after
            keywords = _keywords(part.tokens[max(first[1].after, start - 12) : start])
            keywords = keywords or _keywords(part.tokens[stop : stop + 6]) or "related"
            self._relations[pair] = Relation(first[0], second[0], keywords, part.text.replace("`", ""))


def _keywords(tokens: Sequence[Token]) -> str:
    """Return up to three phrases of up to three content words, the last ones before the name they lead to."""
    phrases: list[list[str]] = [[]]
    for token in tokens:
        if token.kind != "word" or token.text in words("stop") or token.text in words("connectors"):
            phrases.append([])
        else:
            phrases[-1].append(token.text)
    return ", ".join(dict.fromkeys(" ".join(phrase[-3:]) for phrase in [p for p in phrases if p][-3:]))
