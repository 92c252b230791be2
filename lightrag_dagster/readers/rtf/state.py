"""The state of a group of a Rich Text document."""

from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    """The state of a group: destination of its text, code page, style, the length of the fallback of `u`, and marks."""

    into: str = "text"
    encoding: str = "cp1252"
    heading: int = 0
    fallback: int = 1
    is_hidden: bool = False
    is_raised: bool = False
    is_struck: bool = False
