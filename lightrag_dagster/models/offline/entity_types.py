"""The type of an entity, by cues in its name and in the words beside it."""

import re
from collections.abc import Sequence

from lightrag_dagster.models.offline.mentions import Mention
from lightrag_dagster.models.offline.tokens import Token
from lightrag_dagster.models.offline.words import words

OTHER = "other"

_TYPES = (("events", "event"), ("organizations", "organization"), ("places", "location"))
_INITIALED = re.compile(r"[^\W\d_]+ (?:[^\W\d_]\. ?)+[^\W\d_]+$|(?:[^\W\d_]\. ?)+ ?[^\W\d_]{2,}$")
_LIFE = re.compile(r",? \((?:born|geb\.|\*|\d{1,2} \w+ \d{4} ?[–-]|\d{4} ?[–-] ?\d{4}\))")
_CJK = (
    (re.compile(r".*(?:公司|大学|大學|研究所|银行|銀行|医院|病院|委员会|協会|协会)$"), "organization"),
    (re.compile(r".*[\u3400-\u9fff][省市县県区山川江河湖島岛]$"), "location"),
)
_CJK_PERSON = re.compile("さん|氏|様|先生|女士")
_STREET = re.compile(r"\w+(?:stra(?:ß|ss)e|platz|allee)$")


def entity_type(text: str, tokens: Sequence[Token], mention: Mention) -> str:
    """Return the type a mention suggests: person, organization, location, event, date, number, title, term or other."""
    if mention.kind != "name":
        return mention.kind
    parts = [part.strip(".,").casefold() for part in mention.name.split()]
    head = parts[parts.index("of") - 1] if "of" in parts[1:] else parts[-1]
    for kind, type_name in _TYPES:
        if head in words(kind):
            return type_name
    if not words("organizations").isdisjoint(parts):
        return "organization"
    if parts[0] in words("place prefixes") or mention.name.casefold() in words("geography"):
        return "location"
    for pattern, type_name in _CJK:
        if pattern.match(mention.name):
            return type_name
    if _CJK_PERSON.match(text, mention.end):
        return "person"
    if len(parts) <= 4 and not any(map(str.isdigit, mention.name)) and _is_person(text, tokens, mention, parts):
        return "person"
    placed = _word(tokens, mention.first - 1) in ("in", "near")
    if (placed and _word(tokens, mention.first - 2) in words("localities")) or _STREET.match(parts[-1]):
        return "location"
    return OTHER


def _is_person(text: str, tokens: Sequence[Token], mention: Mention, parts: Sequence[str]) -> bool:
    if parts[0] in words("names") or _INITIALED.match(mention.name) or _LIFE.match(text, mention.end):
        return True
    several = len(parts) > 1
    before, after = _word(tokens, mention.first - 1), _word(tokens, mention.after)
    if text[mention.start - 1 : mention.start] == " ":
        if before in words("honorifics") or before in words("roles"):
            return True
        if several and before in ("by", "von") and _word(tokens, mention.first - 2) in words("made"):
            return True
    if before in words("determiners") or mention.name.isupper():
        return False
    if text[mention.end : mention.end + 1] == " " and (after in words("acts") or (several and after in words("deeds"))):
        return True
    # `Anna Keller, the head of`, `Anna Keller is our senior technician`
    described = text[mention.end : mention.end + 2] in (", ", " (") or after in ("is", "was", "ist", "war")
    apposition = {token.text for token in tokens[mention.after : mention.after + 5]}
    return described and ((several and after == "who") or not apposition.isdisjoint(words("roles")))


def _word(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text.casefold() if 0 <= at < len(tokens) else ""
