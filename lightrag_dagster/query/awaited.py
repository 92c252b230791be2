"""Methods of a knowledge base for code that runs in an event loop, made from the others."""

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def awaited(
    method: Callable[Concatenate[Any, Given], Result],
) -> Callable[Concatenate[Any, Given], Coroutine[Any, Any, Result]]:
    """Return a method that does the same in an event loop; see `Opened.in_thread`."""

    @wraps(method)
    async def ask(self: Any, /, *args: Given.args, **given: Given.kwargs) -> Result:
        asked = self._opened.asked(given.get("timeout"))
        answer: Result = await self._opened.in_thread(partial(method, self, *args, **given), asked)
        return answer

    name = method.__name__
    ask.__name__, ask.__qualname__ = f"a{name}", method.__qualname__.replace(name, f"a{name}")
    ask.__doc__ = f"Do as `{name}` in an event loop.\n\n{method.__doc__}"
    return ask
