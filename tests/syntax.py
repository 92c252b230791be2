"""The syntax of Python files, read once for all tests that look at it."""

import ast
from functools import cache


@cache
def nodes_of(text: str) -> tuple[ast.Module, tuple[ast.AST, ...]]:
    """Return the tree of a file, and all of its nodes in the order of `ast.walk`."""
    tree = ast.parse(text)
    return tree, tuple(ast.walk(tree))
