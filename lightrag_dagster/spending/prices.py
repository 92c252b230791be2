"""Prices of models, in US dollars per million tokens.

They come from the package `genai-prices`, as of the installed version and without the network. Prices change: the
settings `llm.prices` and `embedding.prices` win. A price is not a part of any key; it only decides the recorded cost of
a call. Some models ask money for writing to their cache too. A service tier (`flex`) and batches have prices of their
own.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

_BATCH_SHARE = 0.5  # of the price in real time, where no other is known

_NOT_DEARER = {"default", "auto", "flex"}  # than the price without a tier
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class Price(NamedTuple):
    """Price of one model; the cost of a model whose price is not `known` counts as 0.

    A `cache_write` is what a token costs that goes into the provider's cache; None is the price of any other.
    """

    input: float
    cached_input: float
    output: float
    known: bool = True
    cache_write: float | None = None

    def of(
        self, input_tokens: float, output_tokens: float, cached_input_tokens: float = 0, cache_write_tokens: float = 0
    ) -> float:
        """Return the cost of a call, or of many. US dollars; cached and written tokens are among the input tokens."""
        write = self.input if self.cache_write is None else self.cache_write
        dollars = (input_tokens - cached_input_tokens - cache_write_tokens) * self.input + output_tokens * self.output
        return (dollars + cached_input_tokens * self.cached_input + cache_write_tokens * write) / 1_000_000

    def most(self, input_tokens: float, output_tokens: float) -> float:
        """Return the most that a call can cost, whether its input is written to a cache or not. US dollars."""
        return max(self.of(input_tokens, output_tokens, 0, written) for written in (0, input_tokens))

    @property
    def by_batch(self) -> "Price":
        """The usual price by a Batch API."""
        each = {name: share and share * _BATCH_SHARE for name, share in self._asdict().items() if name != "known"}
        return self._replace(**each)


FREE = Price(0.0, 0.0, 0.0)
UNKNOWN = Price(0.0, 0.0, 0.0, known=False)


def price_of(settings: LLMSettings | EmbeddingSettings, *, batch: bool = False) -> Price:
    """Return the price of the model of some settings: the user's own, else the published one; local models are free.

    A published price is that of the service tier which `extra_body` asks for, or by the Batch API with `batch`.
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
            mine = Price(price.input, cached, price.output, cache_write=price.cache_write)
            return mine.by_batch if batch else mine
    tier = settings.extra_body.get("service_tier") if isinstance(settings, LLMSettings) else None
    context = {"processing": "batch"} if batch else {"service_tier": str(tier)} if tier else {}
    vendor = {"bedrock": "aws", "vertex": "google"}.get(settings.provider, "openai")
    return _published(bare, vendor, context) or _published(family(model), vendor, context) or UNKNOWN


def unpriced(settings: LLMSettings | EmbeddingSettings) -> str | None:
    """Return a line with the next step if the price of a model is not known, so that no limit bounds its calls."""
    if price_of(settings).known:
        return None
    section = "llm" if isinstance(settings, LLMSettings) else "embedding"
    told = f"the price of model {settings.model} is not known, so that its calls count as nothing"
    return f"{told} and no budget bounds them; set {section}.prices"


def family(model: str) -> str:
    """Return the name of a model without its vendor and its day: `gpt-4o` of `openai/gpt-4o-2024-08-06`."""
    return _DATED.sub("", model.rpartition("/")[2])


def _published(model: str, vendor: str, context: Mapping[str, str]) -> Price | None:
    """Return a vendor's price of a model for such calls; the first tier's if it depends on the length of the prompt.

    A tier that may be dearer has its own or is unknown, and open weights have one at each host.
    """
    from genai_prices import Usage, calc_price
    from genai_prices.types import TieredPrices

    if vendor == "openai" and model.startswith("gpt-oss"):
        return None
    try:
        found = calc_price(Usage(), model, provider_id=vendor, price_context=dict(context))
    except LookupError:
        return None
    listed = found.model_price
    tiers = (listed.input_mtok, listed.cache_read_mtok, listed.output_mtok, listed.cache_write_mtok)
    bases = (each.base if isinstance(each, TieredPrices) else each for each in tiers)
    uncached, cached, output, write = (None if one is None else float(one) for one in bases)
    price = Price(uncached or 0.0, (uncached if cached is None else cached) or 0.0, output or 0.0, cache_write=write)
    if any(one.when == context for one in found.model.price_variants or ()):
        return price
    return price.by_batch if "processing" in context else None if {*context.values()} - _NOT_DEARER else price
