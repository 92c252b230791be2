"""Rejected rows: parts of an answer that are meant as a record and yield none, with their reasons.

These are counted, in the answers of all rounds:
- a row with too few or too many fields, without a usable name, type, description or end, with a name that is too long,
  or of an entity with itself;
- a line with two field delimiters or more that does not begin with `entity` or `relation`, and one that does and has
  other marks (`|`, tabs) in place of the delimiters;
- an item of a JSON answer with the same faults, with lists for both ends, that is not an object, or cannot be repaired;
- the end of a JSON answer that breaks off, unless its status says that it was cut off;
- a record that repeats an example or a definition of the prompt in place of what the passage says, or one of its
  placeholders as a name;
- all records beyond four times as many as the prompt allows, as one, and the rest of an answer that is far too long.

Not counted, since nothing is lost: blank lines, prose, fences, the completion marker and all after it, templates of
the prompt that a model repeats, a record that repeats another, and the last row of an answer that was cut off, which
its status `truncated` shows.
"""

from typing import NamedTuple

from lightrag_dagster.stages.extraction.tuple_rows import Kind


class Rejected(NamedTuple):
    """A rejected row. The reason is one of few texts, and has no word of the answer."""

    reason: str


NO_RECORD_WORD = Rejected("row without entity or relation")
NO_DELIMITERS = Rejected("row without field delimiters")
NO_ENTITY_NAME = Rejected("entity without a name")
LONG_NAME = Rejected("name of more than 256 characters")
NO_TYPE = Rejected("entity without a type")
NO_ENTITY_DESCRIPTION = Rejected("entity without a description")
NO_END = Rejected("relation without an end")
SEVERAL_ENDS = Rejected("relation with several ends on both sides")
NO_RELATION_DESCRIPTION = Rejected("relation without a description")
SELF_LOOP = Rejected("relation of an entity with itself")
NO_OBJECT = Rejected("JSON item that is no object")
TOO_MANY = Rejected("row beyond the most that an answer may have")
TOO_LONG = Rejected("rest of an answer of more than four million characters")
PLACEHOLDER = Rejected("name that is a placeholder of the prompt")
OF_EXAMPLE = Rejected("row that repeats an example of the prompt")
OF_DEFINITION = Rejected("row that repeats the definition of a type")
BROKEN_ITEM = Rejected("JSON item that cannot be repaired")
BROKEN_OFF = Rejected("JSON that breaks off")


def wrong_fields(kind: Kind, found: int, wanted: int) -> Rejected:
    """Return a row with another number of fields than it should have, the record word counted as one."""
    return Rejected(
        f"{kind} with {found} of {wanted} fields" if found < wanted else f"{kind} with more than {wanted} fields"
    )
