"""Dollars for what the server counted, by one price table for both systems."""

from collections.abc import Mapping

PRICES = {"input": 0.15, "cached input": 0.075, "output": 0.60, "embedded": 0.02}
"""Dollars for a million tokens: the list prices of gpt-4o-mini and text-embedding-3-small, assumed to be still so."""


def dollars(counts: Mapping[str, int]) -> float:
    """Return the price of calls, of which the server counted tokens."""
    cached = counts["cached_tokens"]
    tokens = {
        "input": counts["input_tokens"] - cached,
        "cached input": cached,
        "output": counts["output_tokens"],
        "embedded": counts["embedded_tokens"],
    }
    return sum(PRICES[name] * number for name, number in tokens.items()) / 1e6
