"""The prefixes of prompts that a provider has seen, which it bills as cached input.

OpenAI's rule: a prompt of 1,024 tokens or more is looked up by its longest prefix, in steps of 128 tokens. A prefix
counts as seen from the moment that its first prompt arrives, and for as long as the trial lasts; a provider forgets
earlier.
"""

from collections.abc import Sequence

_LEAST, _STEP = 1024, 128


class Prefixes:
    """The prefixes seen so far."""

    def __init__(self) -> None:
        self._seen = set[int]()

    def add(self, prompt: Sequence[int]) -> int:
        """Return how many of the prompt's tokens were seen as a prefix before, and see all of them."""
        cached, key = 0, 0
        for end in range(_STEP, len(prompt) + 1, _STEP):
            key = hash((key, *prompt[end - _STEP : end]))
            if end >= _LEAST and key in self._seen:
                cached = end
            self._seen.add(key)
        return cached
