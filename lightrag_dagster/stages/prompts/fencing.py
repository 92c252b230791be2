"""Fences that separate quoted text from instructions, even text with fences of its own."""

import re

_FENCED = re.compile(r"^(?P<fence>`{3,})(?:text|json)?\n(?P<body>.*)\n(?P=fence)\s*\Z", re.DOTALL | re.MULTILINE)


def fence(text: str, language: str = "text") -> str:
    """Put `text` between backtick fences one longer than any run of backticks inside it."""
    marks = "`" * max(3, max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    return f"{marks}{language}\n{text}\n{marks}"


def last_fenced(message: str) -> str | None:
    """Return the text of the fence that ends `message`, or None when it does not end in one."""
    found = _FENCED.search(message)
    return found["body"] if found else None
