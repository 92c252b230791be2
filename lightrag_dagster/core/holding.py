"""Values that hold for a block, in its thread and its asyncio tasks, and results that hold for a process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Generic, TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Value = TypeVar("Value")


@contextmanager
def holding(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give a variable a value for the block, and then the one back that it had."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class Once(Generic[*Arguments, Value]):
    """A function that makes one result of equal arguments, also for threads that come first together."""

    def __init__(self, function: Callable[[*Arguments], Value]) -> None:
        self._made, self._making = cache(function), Lock()
        self.cache_clear = self._made.cache_clear

    def __call__(self, *arguments: *Arguments) -> Value:
        """Return the result of the arguments."""
        with self._making:
            return self._made(*arguments)
