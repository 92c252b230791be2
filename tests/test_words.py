"""The words of the package: docstrings, messages and names of classes."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.syntax import nodes_of

ROOT = Path(__file__).parents[1]

EXEMPT: tuple[str, ...] = ()
"""Parts that do not follow the rules yet; remove an entry once they do."""

STORED = {
    "lightrag_dagster/schemas.py",  # descriptions of columns are part of the schema of stored tables
    "lightrag_dagster/readers/decoding.py",  # reasons in stored rows
    "lightrag_dagster/stages/extraction/rejections.py",
}
"""Files whose strings are in stored tables, and stay as they are; their docstrings follow the rules."""

SENTENCE = re.compile(r"(?:^|[.!?]\s+|:\s+|\n\s*\n\s*)(What|How|Of|Where|Whether)\b")
"""A sentence without a subject in front: `What gives the places of …`."""

DENIED = re.compile(
    r"""\b(?:anew|nobody|whoever|for\ ever|of\ whom|so\ many|that\ there\ (?:is|are)\ not
    |stands?\ in\ (?:the|a|its|their|another|several)
    |(?:is|are)\ no\ (?!longer\b|more\ than\b)(?<!there\ is\ no\ )(?<!there\ are\ no\ )\w+
    |all\ but\ (?:the|one|a)|(?:none|nothing|everything)\ but|but\ for\ (?:the|those))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Turns that English has plainer words for."""

VERB = re.compile(r"(?:Adds|Applies|Asks|Collects|Finds|Holds|Keeps|Makes|Opens|Raises|Reads|Runs|Takes|Writes)\b")
"""Third persons that begin a docstring; a class or a module is a thing."""


Nodes = Sequence[ast.AST]
"""All nodes of a file."""


@cache
def sources() -> list[tuple[str, Nodes]]:
    """Return path and nodes of each module of the package."""
    parts = ("lightrag_dagster", "assets", "resources")
    files = (file for part in parts for file in sorted((ROOT / part).rglob("*.py")))
    return [(file.relative_to(ROOT).as_posix(), nodes_of(file.read_text("utf-8"))[1]) for file in files]


def checked() -> list[tuple[str, Nodes]]:
    """Return those of `sources` that follow the rules."""
    return [(path, nodes) for path, nodes in sources() if not path.startswith(EXEMPT)]


def documented(nodes: Nodes) -> Iterator[tuple[ast.AST, int, str]]:
    """Yield each docstring, of values as well, with its owner and its line."""
    for node in nodes:
        body = getattr(node, "body", ())
        for at, one in enumerate(body if isinstance(body, list) else ()):
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                yield one if at else node, one.lineno, one.value.value


def strings(nodes: Nodes) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module, values in formatted ones as `…`."""
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def helps(nodes: Nodes) -> Iterator[tuple[int, str]]:
    """Yield the texts given as `help` or `description`."""
    for node in nodes:
        if (
            isinstance(node, ast.keyword)
            and node.arg in ("help", "description")
            and isinstance(node.value, ast.Constant)
        ):
            yield node.value.lineno, str(node.value.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What gives the places of a name.", True),
        ("Return the rows. Where there are none, return None.", True),
        ("Args:\n    table: Whether it is sorted.", True),
        ("Return True if a name is known, whatever it was called.", False),
        ("Return the place where a name begins.", False),
    ],
)
def test_sentences_are_recognised(text: str, found: bool) -> None:
    assert bool(SENTENCE.search(text)) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it is no setting", True),
        ("so many rows", True),
        ("all but the first", True),
        ("there is no setting", False),
        ("there are no settings", False),
        ("it is no longer used", False),
        ("placeholder that stands for it", False),
    ],
)
def test_denied_turns_are_recognised(text: str, found: bool) -> None:
    assert bool(DENIED.search(text)) is found


def test_no_docstring_or_help_text_has_a_sentence_that_begins_with_a_relative_clause() -> None:
    found = [
        f"{path}:{line}: {match[1]}"
        for path, nodes in checked()
        for line, text in [*((line, text) for _, line, text in documented(nodes)), *helps(nodes)]
        if (match := SENTENCE.search(text))
    ]
    assert not found


def test_docstrings_and_messages_have_no_denied_turn() -> None:
    found = [
        f"{path}:{line}: {match[0]}"
        for path, nodes in checked()
        for line, text in (strings(nodes) if path not in STORED else ((at, said) for _, at, said in documented(nodes)))
        if (match := DENIED.search(text))
    ]
    assert not found


def test_the_docstring_of_a_class_or_module_begins_with_a_noun() -> None:
    found = [
        f"{path}:{line}: {text[:40]}"
        for path, nodes in checked()
        for owner, line, text in documented(nodes)
        if isinstance(owner, ast.ClassDef | ast.Module) and VERB.match(text)
    ]
    assert not found


def test_a_name_of_a_class_is_used_once() -> None:
    places = defaultdict(list)
    for path, nodes in sources():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    shared = {name: found for name, found in places.items() if sum(not one.startswith(EXEMPT) for one in found) > 1}
    assert not shared
