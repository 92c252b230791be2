"""Messages between the process that answers Cypher and the one that asks it: a letter, and JSON or a reason.

JSON, because reading it runs no code of its author. It has no dates, decimals or bytes, and only texts as keys: each of
these is an object with one empty key, which holds a kind and a text or list.
"""

import json
from base64 import b64decode, b64encode
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

COLUMNS, ROWS, END = b"c", b"r", b"."
"""The names of the columns, some rows, and a flag for more rows than asked for."""

WRONG, FULL = b"!", b"m"
"""In their place: the reason why the query cannot be run, or that memory is not enough."""

MEMORY_GB = 2
"""Most memory of the process, half of it Kùzu's pool of pages, half all else."""

_PLAIN = (str, int, float, bool, type(None))


def dumps(value: object) -> bytes:
    """Return a value as JSON.

    Raises:
        TypeError: there is no such value in Kùzu.
        ValueError: a text is not Unicode, a number has thousands of digits, or the value holds itself.
    """
    return json.dumps(_written(value), ensure_ascii=False, separators=(",", ":")).encode()


def loads(data: bytes) -> Any:
    """Return the value that `dumps` wrote; raises ValueError for other data."""
    try:
        return json.loads(data, object_hook=_read)
    except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"not a value: {error}") from error


def _written(value: object) -> object:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and key for key in value):
            return {key: _written(item) for key, item in value.items()}
        return {"": ["map", [[_written(key), _written(item)] for key, item in value.items()]]}
    for kind, (type_, write, _) in _KINDS.items():
        if isinstance(value, type_):
            return {"": [kind, write(value)]}
    raise TypeError(f"{type(value).__name__} is not a type of Cypher")


def _read(found: dict[str, Any]) -> Any:
    if "" not in found:
        return found
    kind, content = found[""]
    return dict(content) if kind == "map" else _KINDS[kind][2](content)


_KINDS: dict[str, tuple[type, Any, Any]] = {
    "bytes": (bytes, lambda value: b64encode(value).decode(), b64decode),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),  # is a date as well
    "date": (date, date.isoformat, date.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "duration": (
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: timedelta(*parts),
    ),
    "uuid": (UUID, str, UUID),
}
