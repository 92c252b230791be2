"""Tags in the language of the answer: `实体`, `сущность`, `Entität` in place of `entity`."""

import re
from collections import Counter

from lightrag_dagster.stages.extraction.delimiters import FIELD
from lightrag_dagster.stages.extraction.tuple_rows import read_rows

_WORD = re.compile(r"[\W\d_]*([^\W\d_]+)[\W\d_]*")
_LIKE_OURS = re.compile("(?!entity|relation)(?:ent[ie]|rela)")
_KINDS = {4: "entity", 5: "relation"}


def with_our_tags(text: str) -> str:
    """Return a marked answer with our tags where its lines agree on other words, each with its number of fields.

    One line by itself agrees with nothing, unless its word is of another alphabet or begins like ours, or the other
    rows are of the other kind. A word that is in all descriptions is rather a name that many lines begin with.
    """
    lines = [line.split(FIELD) for line in text.split("\n")]
    rows = {id(fields): read_rows(FIELD.join(fields)) for fields in lines}
    unread = [fields for fields in lines if len(fields) > min(_KINDS) - 2 and not rows[id(fields)]]
    times = Counter(map(_word, unread))
    tags: dict[str, str] = {}
    for length, kind in _KINDS.items():
        words = {_word(fields) for fields in unread if len(fields) == length}
        if len(words) > 1 or words & tags.keys():
            return text
        tags |= dict.fromkeys(words, kind)
    names = {word for word in tags if all(word in fields[-1].casefold() for fields in unread if _word(fields) == word)}
    if times.keys() != tags.keys() or "" in tags or any(map(str.isascii, names)):
        return text
    read = {row.kind for found in rows.values() for row in found}
    agreed = read and read.isdisjoint(tags.values())
    if not (agreed or any(times[word] > 1 or not word.isascii() or _LIKE_OURS.match(word) for word in tags)):
        return text
    for fields in unread:
        fields[0] = tags[_word(fields)]
    return "\n".join(map(FIELD.join, lines))


def _word(fields: list[str]) -> str:
    found = _WORD.fullmatch(fields[0])
    return found[1].casefold() if found else ""
