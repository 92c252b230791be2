"""Values that hold for a block, in its thread and its asyncio tasks."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Value = TypeVar("Value")


@contextmanager
def holding(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give a variable a value for the block, and then the one back that it had."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
