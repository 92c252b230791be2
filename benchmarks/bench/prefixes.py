"""The prefixes of prompts that a provider has seen, which it bills as cached input, by three rules of OpenAI's.

- `prefix`, of 2024: a prompt of 1,024 tokens or more is looked up by its longest prefix, in steps of 128 tokens.
- `implicit`, of models since GPT-5.6: a prefix is kept up to the end of the newest message, and found only where a
  message ends. What is written to the cache has a price.
- `explicit`, of the same models: a request that says so has no breakpoint but those in its messages. A request that
  does not is treated as by `implicit`.

A prefix counts as seen from the moment that its first prompt arrives, and for as long as the trial lasts; a provider
forgets earlier.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

RULES = ("prefix", "implicit", "explicit")
_LEAST, _STEP = 1024, 128

Tokens = Callable[[str], Sequence[int]]


class Part(NamedTuple):
    """The tokens of a part of a prompt; a breakpoint may follow it."""

    tokens: Sequence[int]
    breakpoint: bool = False


class Counted(NamedTuple):
    """Tokens of a prompt that were read from the cache, and that were written to it."""

    read: int = 0
    written: int = 0


class Prefixes:
    """The prefixes seen so far, by each rule."""

    def __init__(self) -> None:
        self._steps = set[int]()
        self._kept: dict[str, set[int]] = {"implicit": set(), "explicit": set()}

    def add(self, parts: Sequence[Part], *, explicit: bool = False) -> dict[str, Counted]:
        """Return what was read and written by each rule; `explicit` is whether the request asks for it."""
        marks = [part.breakpoint for part in parts]
        newest = [False] * (len(parts) - 1) + [True]
        return {
            "prefix": Counted(self._longest([token for part in parts for token in part.tokens])),
            "implicit": _add(self._kept["implicit"], parts, newest),
            "explicit": _add(self._kept["explicit"], parts, marks if explicit else newest),
        }

    def _longest(self, prompt: Sequence[int]) -> int:
        cached, key = 0, 0
        for end in range(_STEP, len(prompt) + 1, _STEP):
            key = hash((key, *prompt[end - _STEP : end]))
            if end >= _LEAST and key in self._steps:
                cached = end
            self._steps.add(key)
        return cached


def parts_of(messages: Sequence[Mapping[str, Any]], tokens: Tokens) -> Iterator[Part]:
    """Yield the parts of a prompt: a message, or the texts in one."""
    for message in messages:
        content = message["content"]
        for part in [{"text": content}] if isinstance(content, str) else content:
            yield Part(tokens(part["text"]), "prompt_cache_breakpoint" in part)


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, given in one or in parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _add(kept: set[int], parts: Sequence[Part], marks: Sequence[bool]) -> Counted:
    """Return what a prompt reads and writes with these breakpoints, and keep what it writes."""
    read = end = last = key = 0
    new = set[int]()
    for part, marked in zip(parts, marks, strict=True):
        end, key = end + len(part.tokens), hash((key, *part.tokens))
        if end < _LEAST:
            continue
        if key in kept:
            read = end
        if marked:
            last = end
            new.add(key)
    kept |= new
    return Counted(read, max(0, last - read))
