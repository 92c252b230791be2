"""Dollars for what the server counted, by one price table for both systems."""

from collections.abc import Mapping
from dataclasses import dataclass

EMBEDDED = 0.02


@dataclass(frozen=True)
class PriceTable:
    """US dollars for a million tokens, of a model and by a rule of `prefixes`."""

    name: str
    rule: str
    input: float
    cached: float
    written: float
    output: float

    def dollars(self, counts: Mapping[str, int]) -> float:
        """Return the price of calls, of which the server counted tokens."""
        cached, written = counts[f"cached_{self.rule}"], counts[f"written_{self.rule}"]
        plain = counts["input_tokens"] - cached - written
        tokens = plain * self.input + cached * self.cached + written * self.written
        return (tokens + counts["output_tokens"] * self.output + counts["embedded_tokens"] * EMBEDDED) / 1e6

    def __str__(self) -> str:
        return (
            f"**{self.name}**: input ${self.input:g}, cached ${self.cached:g}, written to the cache "
            f"${self.written:g}, output ${self.output:g}"
        )


TABLES = (
    PriceTable("gpt-4o-mini, prefixes", "prefix", 0.15, 0.075, 0.15, 0.60),
    PriceTable("gpt-6-luna, prefixes", "prefix", 0.10, 0.01, 0.10, 0.50),
    PriceTable("gpt-6-luna, implicit breakpoint", "implicit", 0.10, 0.01, 0.125, 0.50),
    PriceTable("gpt-6-luna, explicit breakpoints", "explicit", 0.10, 0.01, 0.125, 0.50),
)
"""The list prices in November 2026, with those of text-embedding-3-small; the last is the rule that is newest."""
