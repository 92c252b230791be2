"""Messages between the process that answers Cypher and the one that asks it: a letter, and JSON or a reason.

JSON, because reading it runs no code of its author. The columns of the graph are texts and numbers; what else Cypher
computes, such as a date, is a text.
"""

import json
from decimal import Decimal

COLUMNS, ROWS, END = b"c", b"r", b"."
"""The names of the columns, some rows, and a flag for more rows than asked for."""

WRONG, FULL = b"!", b"m"
"""In their place: the reason why the query cannot be run, or that memory is not enough."""

MEMORY_GB = 2
"""Most memory of the process, half of it Kùzu's pool of pages, half all else."""


def dumps(value: object) -> bytes:
    """Return a value of an answer as JSON; raises TypeError for a map whose keys are neither texts nor numbers."""
    return json.dumps(value, ensure_ascii=False, default=_in_json).encode()


def _in_json(value: object) -> object:
    """Return a decimal, as sums are, as a number, and other values that JSON does not have as texts."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
