"""Data of a page in which every text tries to run as a script, to be a link, or to end the script that it is in."""

from itertools import count
from typing import Any

CANARIES = (
    "<script>window.hit=1</script>",
    "</script><script>window.hit=1</script>",
    "<!--<script>",
    "--><img src=x onerror=window.hit=1>",
    "javascript:window.hit=1",
    "\"'><svg onload=window.hit=1>",
    "${window.hit=1}{{window.hit=1}}",
    "\u2028window.hit=1//\u2029",
    "]]><![CDATA[",
)
_KEPT = {"kind", "group_kind", "colours", "change", "id"}
"""Fields that the program makes itself."""


def poisoned(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with a canary before every text of documents and models."""
    numbers = count()

    def poison(value: Any) -> Any:
        if isinstance(value, str):
            return CANARIES[next(numbers) % len(CANARIES)] + value
        if isinstance(value, list):
            return [poison(one) for one in value]
        if isinstance(value, dict):
            return {name: one if name in _KEPT else poison(one) for name, one in value.items()}
        return value

    found: dict[str, Any] = poison(data)
    return found
