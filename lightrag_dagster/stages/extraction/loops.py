"""Answers that repeat themselves, as small models do until their tokens are used up."""

import zlib
from collections import Counter

# The last lines, each of which is there so many times; a draft and its answer are there twice.
_LINES, _TIMES = 8, 3
_FEWEST_CHARACTERS, _MOST_CHARACTERS = 2_000, 8_000
# Rows about different things shrink to a third of their bytes, lists in JSON to a sixth.
_LEAST_SHARE = 1 / 16


def repeats_itself(answer: str) -> bool:
    """Return True if an answer ends in lines that it had before, or in one text over and over."""
    lines = list(filter(None, map(str.strip, answer.split("\n"))))
    times = Counter(lines)
    if len(lines) > _LINES and all(times[line] >= _TIMES for line in lines[-_LINES - 1 : -1]):  # the last may be cut
        return True
    end = answer[-_MOST_CHARACTERS:].encode("utf-8", "replace")
    return len(answer) >= _FEWEST_CHARACTERS and len(zlib.compress(end)) < len(end) * _LEAST_SHARE
