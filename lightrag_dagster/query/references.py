"""The section of an answer that lists its references."""

import re

HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]*|\*\*)?References:?(?:\*\*)?:?[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""The heading of the section, in Markdown."""


def without_references(text: str) -> str:
    """Return an answer without its last section headed References."""
    headings = list(HEADING.finditer(text))
    return text[: headings[-1].start()].strip() if headings else text.strip()
