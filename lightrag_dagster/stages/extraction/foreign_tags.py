"""Tags in the language of the answer: `实体`, `сущность`, `Entität` in place of `entity`."""

import re
from collections import Counter

from lightrag_dagster.stages.extraction.delimiters import FIELD
from lightrag_dagster.stages.extraction.tuple_rows import Kind, read_rows, strength

_TAG = re.compile(r"[\W\d_]*([^\W\d_]+)[\W\d_]*")
_LIKE_OURS = re.compile("(?!entity|relation)(?:ent[ie]|rela)")
_KINDS: dict[int, Kind] = {4: "entity", 5: "relation"}
_FEWEST_DELIMITERS = 2


def with_our_tags(text: str) -> str:
    """Return a marked answer with our tags where its lines agree on two other words, each with its number of fields.

    One line by itself agrees with nothing, unless its word is of another alphabet or begins like ours, or the other
    rows are of the other kind. A word that is in all descriptions is rather a name that many lines begin with.
    """
    lines = [line.split(FIELD) for line in text.split("\n")]
    found: dict[str, list[list[str]]] = {}
    read = set[Kind]()
    for fields in lines:
        if rows := read_rows(FIELD.join(fields)):
            read |= {row.kind for row in rows}
        elif len(fields) > _FEWEST_DELIMITERS:
            word = _TAG.fullmatch(fields[0])
            found.setdefault(word[1].casefold() if word else "", []).append(fields)
    kinds = {tag: kind for tag, rows in found.items() if (kind := _kind(tag, rows))}
    if not kinds or len(found) > len(_KINDS) or len(set(kinds.values())) < len(found):
        return text
    agreed = bool(read) and read.isdisjoint(kinds.values())
    if not (agreed or any(len(found[tag]) > 1 or not tag.isascii() or _LIKE_OURS.match(tag) for tag in kinds)):
        return text
    for tag, of_tag in found.items():
        for fields in of_tag:
            fields[0] = kinds[tag]
    return "\n".join(map(FIELD.join, lines))


def _kind(tag: str, rows: list[list[str]]) -> Kind | None:
    """Return the kind of row that a word begins in most of its lines."""
    lengths = Counter(len(fields) - (strength(fields[-1]) is not None and len(fields) > min(_KINDS)) for fields in rows)
    is_name = all(tag in fields[-1].casefold() for fields in rows)
    return _KINDS.get(lengths.most_common(1)[0][0]) if tag and not (tag.isascii() and is_name) else None
