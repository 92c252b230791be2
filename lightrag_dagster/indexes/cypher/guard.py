"""Refusal of Cypher that does more than read the graph, or lacks a parameter, before Kùzu sees it.

A read-only database still reads and writes any file and loads extensions, which else the process alone has no right to
do, and a parameter that is not given is null. A table function that reads a file ends that process.
The text is cut as Kùzu 0.11.3's lexer cuts it; that reads `1LOAD` as a number and a clause.
"""

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from lightrag_dagster.errors import QueryError

READING = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN", "CALL")
"""The clauses that are allowed, `CALL` of a table function alone. A statement begins with one, as well."""

OTHERS = ("LOAD", "CREATE", "MERGE", "SET", "DELETE", "DETACH")
"""The other clauses that Kùzu knows. Anything else it does (`COPY`, `ATTACH`, …) begins a statement."""

# White space, arrow heads and dashes beyond ASCII. Any other character there is part of a name, or Kùzu's parser fails.
_SEPARATORS = (
    "\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
    "\u27e8\u27e9\u3008\u3009\ufe64\ufe65\uff1c\uff1e\u00ad\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
)
_WORD = rf"(?![{_SEPARATORS}])[A-Za-z_\u0080-\U0010ffff](?:(?![{_SEPARATORS}])[A-Za-z0-9_$\u0080-\U0010ffff])*+"
_QUOTED = r"(?:`[^`]*`)++"
_TOKEN = re.compile(
    rf"""
    (?P<space> [\s\x1c-\x1f{_SEPARATORS}] | /\*(?:[^*]|\*[^/])*+\*/ | //[^\n\r]*+\r?(?:\n|\Z) )
    | (?P<text> '(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+" )
    | (?P<parameter> \$(?:{_WORD}|{_QUOTED}|[0-9]+) )
    | (?P<number> [0-9]*\.[0-9]+(?:[eE]-?[0-9]+)? | [0-9]+(?:[eE]-?[0-9]+)? )
    | (?P<word> {_WORD} )
    | (?P<quoted> {_QUOTED} )
    | (?P<symbol> \.\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str


def require_reading(query: str) -> None:
    """Raise QueryError unless a text is one statement with only the clauses allowed here."""
    found = _tokens(query)
    if found and found[-1].text == ";":
        found.pop()
    if any(token.text == ";" for token in found):
        raise QueryError("the Cypher holds several statements; give one")
    words = [token.text.upper() if token.kind == "word" else "" for token in found]
    begin = 1 if words[:1] in (["EXPLAIN"], ["PROFILE"]) else 0
    begin += words[begin : begin + 1] == ["LOGICAL"]
    if begin >= len(found):
        raise QueryError("the Cypher is empty")
    if words[begin] not in READING:
        raise QueryError(
            f"{found[begin].text.upper()} is not allowed here; a query may read the graph and nothing else, and begins "
            f"with {', '.join(READING[:-1])} or {READING[-1]}"
        )
    for place, word in enumerate(words):
        if word in OTHERS and not _is_name(found, place):
            raise QueryError(
                f"{word} is not allowed here; a query may read the graph and nothing else. If it is a name, write "
                f"`{found[place].text}` in backticks"
            )
        called = [token.text for token in found[place + 2 : place + 3]]
        if word == "CALL" and called != ["("] and not _is_name(found, place):
            raise QueryError("CALL is only allowed of a table function, as in CALL show_tables() RETURN *")


def require_parameters(query: str, given: Collection[str]) -> None:
    """Raise QueryError unless the parameters of a query are those given."""
    named = {token.text[1:] for token in _tokens(query) if token.kind == "parameter"}
    for name in sorted(named.difference(given)):
        raise QueryError(f"the parameter ${name} of the Cypher is not given{_nearest(name, given)}")
    for name in sorted(set(given).difference(named)):
        raise QueryError(f"the Cypher has no parameter ${name}{_nearest(name, named)}")


def _tokens(query: str) -> list[_Token]:
    """Return the pieces of a query without white space and comments."""
    pieces = (_Token(found.lastgroup or "", found[0]) for found in _TOKEN.finditer(query))
    return [piece for piece in pieces if piece.kind != "space"]


def _is_name(found: Sequence[_Token], place: int) -> bool:
    """Return True if a word is surely a property, a label or a key: no clause follows `.` or `:`, or precedes `:`."""
    before = found[place - 1].text if place else ""
    after = found[place + 1].text if place + 1 < len(found) else ""
    return before in (".", ":") or after == ":"


def _nearest(name: str, others: Collection[str]) -> str:
    nearest = get_close_matches(name, others, 1, 0)
    return f"; the nearest is ${nearest[0]}" if nearest else ""
