"""Prices of models, in US dollars per million tokens.

The defaults are OpenAI's list prices for its standard tier as published by third parties in March 2026. Prices change:
what `llm.prices` and `embedding.prices` say wins. A price is no part of any key; it only says what a call cost when it
was made.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lightrag_dagster.settings import PriceSettings

BATCH_SHARE = 0.5
"""What a call by the provider's Batch API costs, as a share of the same call in real time."""

_MILLION = 1_000_000
_LISTED: Mapping[str, tuple[float, float, float]] = {
    # input, cached input, output
    "gpt-4o": (2.5, 1.25, 10.0),
    "gpt-4o-mini": (0.15, 0.075, 0.6),
    "gpt-4.1": (2.0, 0.5, 8.0),
    "gpt-4.1-mini": (0.4, 0.1, 1.6),
    "gpt-4.1-nano": (0.1, 0.025, 0.4),
    "gpt-5": (1.25, 0.125, 10.0),
    "gpt-5-mini": (0.25, 0.025, 2.0),
    "gpt-5-nano": (0.05, 0.005, 0.4),
    "gpt-5.1": (1.25, 0.125, 10.0),
    "gpt-5.4": (2.5, 0.25, 15.0),
    "o3": (2.0, 0.5, 8.0),
    "o3-mini": (1.1, 0.55, 4.4),
    "o4-mini": (1.1, 0.275, 4.4),
    "text-embedding-3-small": (0.02, 0.02, 0.0),
    "text-embedding-3-large": (0.13, 0.13, 0.0),
    "text-embedding-ada-002": (0.1, 0.1, 0.0),
}
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class Price(NamedTuple):
    """Of one model; `known` is whether anybody said so, or nothing is counted for lack of a price."""

    input: float
    cached_input: float
    output: float
    known: bool = True

    def of(self, input_tokens: float, output_tokens: float, cached_input_tokens: float = 0) -> float:
        """Return the cost of a call, or of many. US dollars; cached tokens are among the input tokens."""
        fresh = input_tokens - cached_input_tokens
        dollars = fresh * self.input + cached_input_tokens * self.cached_input + output_tokens * self.output
        return dollars / _MILLION


FREE = Price(0.0, 0.0, 0.0)


def price_of(provider: str, model: str, own: Mapping[str, PriceSettings]) -> Price:
    """Return the price of a model: the user's own, else the listed one.

    A dated name (`gpt-4o-2024-08-06`) counts as its family; the offline provider is free.
    """
    if provider == "offline":
        return FREE
    for name in (model, _DATED.sub("", model), _DATED.sub("", model.rpartition("/")[2])):
        if name in own:
            price = own[name]
            cached = price.input if price.cached_input is None else price.cached_input
            return Price(price.input, cached, price.output)
        if name in _LISTED:
            return Price(*_LISTED[name])
    return Price(0.0, 0.0, 0.0, known=False)
