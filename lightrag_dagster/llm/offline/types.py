"""The type of an entity, by cues in its name and in the words beside it."""

import re
from collections.abc import Sequence

from lightrag_dagster.llm.offline.mentions import Mention
from lightrag_dagster.llm.offline.tokens import Token
from lightrag_dagster.llm.offline.words import words

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
    before = tokens[mention.first - 1].text.casefold() if mention.first else ""
    before_that = tokens[mention.first - 2].text.casefold() if mention.first > 1 else ""
    after = tokens[mention.after].text if mention.after < len(tokens) else ""
    if len(parts) <= 4 and not any(map(str.isdigit, mention.name)):
        if parts[0] in words("names") or _INITIALED.match(mention.name) or _LIFE.match(text, mention.end):
            return "person"
        said = text[mention.end : mention.end + 2] in (", ", " (") and any(
            token.text in words("roles") or token.text == "who" for token in tokens[mention.after : mention.after + 4]
        )
        made = before in ("by", "von") and before_that in words("made") and len(parts) > 1
        beside = text[mention.start - 1 : mention.start] == " " and before in words("roles") | words("honorifics")
        acts = after in words("acts") and before not in words("determiners") and not mention.name.isupper()
        if beside or acts or said or made:
            return "person"
    if (before in ("in", "near") and before_that in words("localities")) or _STREET.match(parts[-1]):
        return "location"
    return OTHER
