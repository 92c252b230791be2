"""Prices of models, in US dollars per million tokens.

They come from the package `genai-prices`, as of the installed version and without the network. Prices change: the
settings `llm.prices` and `embedding.prices` win. A price is not a part of any key; it only decides the recorded cost of
a call.
"""

import re
from typing import NamedTuple

from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

BATCH_SHARE = 0.5
"""Cost of a call by the provider's Batch API, as a share of the same call in real time."""

_MILLION = 1_000_000
_VENDORS = {"bedrock": "aws", "vertex": "google"}
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class Price(NamedTuple):
    """Price of one model; the cost of a model whose price is not `known` counts as 0."""

    input: float
    cached_input: float
    output: float
    known: bool = True

    def of(self, input_tokens: float, output_tokens: float, cached_input_tokens: float = 0) -> float:
        """Return the cost of a call, or of many. US dollars; cached tokens are among the input tokens."""
        uncached = input_tokens - cached_input_tokens
        dollars = uncached * self.input + cached_input_tokens * self.cached_input + output_tokens * self.output
        return dollars / _MILLION


FREE = Price(0.0, 0.0, 0.0)
UNKNOWN = Price(0.0, 0.0, 0.0, known=False)


def price_of(settings: LLMSettings | EmbeddingSettings) -> Price:
    """Return the price of the model of some settings: the user's own, else the published one; local models are free.

    A dated name (`gpt-4o-2024-08-06`) without a price of its own counts as its family (`gpt-4o`), and the name of a
    vendor before a slash does not count.
    """
    model, own = settings.model, settings.prices
    if settings.provider in ("offline", "local"):
        return FREE
    bare = model.rpartition("/")[2]
    for name in (model, _DATED.sub("", model), bare, family(model)):
        if name in own:
            price = own[name]
            if isinstance(price, float):
                return Price(price, price, 0.0)
            cached = price.input if price.cached_input is None else price.cached_input
            return Price(price.input, cached, price.output)
    vendor = _VENDORS.get(settings.provider, "openai")
    return _published(bare, vendor) or _published(family(model), vendor) or UNKNOWN


def family(model: str) -> str:
    """Return the name of a model without its vendor and its day: `gpt-4o` of `openai/gpt-4o-2024-08-06`."""
    return _DATED.sub("", model.rpartition("/")[2])


def _published(model: str, vendor: str) -> Price | None:
    """Return a vendor's price of a model; the first tier's if it depends on the length of the prompt."""
    from genai_prices import Usage, calc_price
    from genai_prices.types import TieredPrices

    try:
        listed = calc_price(Usage(), model, provider_id=vendor).model_price
    except LookupError:
        return None
    tiers = (listed.input_mtok, listed.cache_read_mtok, listed.output_mtok)
    uncached, cached, output = (each.base if isinstance(each, TieredPrices) else each for each in tiers)
    return Price(float(uncached or 0), float((uncached if cached is None else cached) or 0), float(output or 0))
