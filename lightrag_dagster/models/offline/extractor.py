"""Entities and relations by rule: names are found by shape, relations between names of one sentence.

A name is related to the subject of its sentence, to its neighbour, and to the topic of its section: the title, or the
first name of the text. Pronouns are not resolved; the topic takes their place.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lightrag_dagster.models.offline.mentions import Mention, Vocabulary, find, join_phrases
from lightrag_dagster.models.offline.prose import sentences
from lightrag_dagster.models.offline.tokens import Token, gap, name_like, opens, scan
from lightrag_dagster.models.offline.words import words
from lightrag_dagster.stages.extraction.records import Entity, Records, Relation

_OTHER = "other"
_MOST_SENTENCES = 3
_MOST_CAPITALS = 3
_GERMAN_WORDS = 4
_LONGEST_TOPIC = 12
_MEASURES = ("date", "number")
_NOWHERE = Mention("", "name", 0, 0, 0, 0)
_PARENTHESES = re.compile(r"\s*\([^()]*\)\s*$")
_HEADS = {"events": "event", "organizations": "organization", "places": "location"}
_CJK_HEADS = {"organization": re.compile(r".*(?:公司|大[学學]|研究所|[银銀]行|[医病]院|委员会|[協协]会)$")}
_CJK_HEADS["location"] = re.compile(r".*[\u3400-\u9fff][省市县県区山川江河湖島岛]$")
_CJK_PERSON = re.compile("さん|氏|様|先生|女士")


@dataclass
class _Part:
    """A sentence or heading with its mentions and the topic it belongs to."""

    text: str
    level: int
    tokens: list[Token]
    mentions: list[Mention] = field(default_factory=list)
    topic: str | None = None


def extract(text: str) -> Records:
    """Return the entities and relations of a text; the same text always yields the same."""
    parts = [_Part(sentence.text, sentence.level, scan(sentence.text)) for sentence in sentences(text)]
    _find_mentions(parts, text.casefold())
    graph = _Graph(_aliases(parts))
    for part in parts:
        graph.add(part)
    return graph.records()


def entity_type(text: str, tokens: Sequence[Token], mention: Mention) -> str:
    """Return the type a mention suggests: person, organization, location, event, date, number, title, term or other."""
    if mention.kind != "name":
        return mention.kind
    parts = [part.strip(".,").casefold() for part in mention.name.split()]
    head = parts[parts.index("of") - 1] if "of" in parts[1:] else parts[-1]
    for kind, pattern in _CJK_HEADS.items():
        if pattern.match(mention.name):
            return kind
    if found := next((kind for section, kind in _HEADS.items() if head in words(section)), None):
        return found
    if not words("organizations").isdisjoint(parts):
        return "organization"
    if parts[0] in words("place prefixes") or mention.name.casefold() in words("geography"):
        return "location"
    before = tokens[mention.first - 1].text.casefold() if mention.first else ""
    titled = before in words("honorifics") or before in words("roles")
    return "person" if titled or parts[0] in words("names") or _CJK_PERSON.match(text, mention.end) else _OTHER


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
            part.tokens = part.tokens[topic.after :]
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
    return part.text.isupper() and len(part.tokens) > _MOST_CAPITALS


def _is_listed(tokens: Sequence[Token]) -> bool:
    return {token.text.casefold() for token in tokens} <= words("headings") | words("stop")


def _topic(part: _Part, folded: str, vocabulary: Vocabulary) -> Mention | None:
    """Return the topic that a heading names, without the parentheses at its end."""
    phrase = _PARENTHESES.sub("", part.text).replace("`", "").strip(" :.")
    phrase = phrase.title() if phrase.isupper() and len(part.tokens) > 1 else phrase
    inside = [token for token in part.tokens if token.start < len(phrase)]
    if _is_listed(inside) or ", " in phrase or len(inside) > _LONGEST_TOPIC:
        return None
    mention = Mention(phrase, "name" if name_like(inside) else "title", 0, len(phrase), 0, len(inside))
    nameless = not any(token.kind in ("upper", "title", "term") for token in inside[1:])
    titled = part.level == 1 and (nameless or mention.kind == "name")
    first = inside[0].text.casefold()
    named = first not in words("stop") and (len(inside) > 1 or first in vocabulary.upper)
    return mention if titled or (named and folded.count(phrase.casefold()) > 1) else None


def _aliases(parts: Sequence[_Part]) -> dict[str, str | None]:
    """Return the longer name that its last word, or a person's first, is short for; None where two share the word."""
    aliases: dict[str, str | None] = {}
    for part in parts:
        for mention in part.mentions:
            folded = mention.name.casefold().split()
            kind = entity_type(part.text, part.tokens, mention)
            if kind in ("person", _OTHER) and 2 <= len(folded) <= 4 and not words("connectors").intersection(folded):
                for word in folded[:: len(folded) - 1] if kind == "person" else folded[-1:]:
                    if (aliases.setdefault(word, mention.name) or "").casefold() != mention.name.casefold():
                        aliases[word] = None
    return aliases


class _Graph:
    """Collects entities and relations in the order of the text."""

    def __init__(self, aliases: dict[str, str | None]) -> None:
        self._aliases = aliases
        self._names: dict[str, str] = {}
        self._types: dict[str, str] = {}
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

    def records(self) -> Records:
        """Return the collected records; an entity's description is up to three sentences, or else a heading."""
        entities = []
        for key, name in self._names.items():
            told = list(dict.fromkeys(text for level, text in self._texts[key] if not level))
            description = " ".join(told[:_MOST_SENTENCES]) or self._texts[key][0][1]
            entities.append(Entity(name, self._types[key], description))
        return Records(tuple(entities), tuple(self._relations.values()), complete=True)

    def _name(self, name: str) -> str:
        """Return the name an entity goes by: a longer one it is short for, and the first spelling of that."""
        name = self._aliases.get(name.casefold()) or name
        return self._names.setdefault(name.casefold(), name)

    def _entity(self, mention: Mention, part: _Part) -> str:
        name = self._name(mention.name)
        key = name.casefold()
        if self._types.get(key, _OTHER) == _OTHER and (mention.kind == "name" or key not in self._types):
            self._types[key] = entity_type(part.text, part.tokens, mention)
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
