import socket
import threading

import pytest

from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.settings.models import PriceSettings
from lightrag_dagster.spending.prices import FREE, UNKNOWN, Price, price_of


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("gpt-4o-mini", Price(0.15, 0.075, 0.6)),
        ("gpt-4o-mini-2024-07-18", Price(0.15, 0.075, 0.6)),
        ("openai/gpt-4o-mini", Price(0.15, 0.075, 0.6)),
        ("gpt-4o-2024-05-13", Price(5.0, 5.0, 15.0)),  # dearer than its family
        ("gpt-4o-mini-2099-12-31", Price(0.15, 0.075, 0.6)),
        ("gpt-5.4", Price(2.5, 0.25, 15.0)),  # dearer for very long prompts, which are not asked
        ("text-embedding-3-small", Price(0.02, 0.02, 0.0)),
        ("gpt-4o", Price(2.5, 1.25, 10.0)),
        ("llama3.3", Price(0, 0, 0, known=False)),
        ("gpt-6-luna", Price(0.1, 0.01, 0.5, cache_write=0.125)),
        ("mine", Price(1.0, 1.0, 2.0)),
        ("vendor/mine-2025-01-02", Price(1.0, 1.0, 2.0)),
    ],
)
def test_a_model_has_its_own_price_or_that_of_its_family(model: str, wanted: Price) -> None:
    own = {"mine": PriceSettings(input=1.0, output=2.0)}
    assert price_of(LLMSettings(provider="openai", model=model, prices=own)) == wanted


@pytest.mark.parametrize(
    ("provider", "model", "wanted"),
    [
        ("bedrock", "us.openai.gpt-6-luna", Price(0.11, 0.011, 0.55, cache_write=0.1375)),
        ("bedrock", "openai.gpt-oss-120b-1:0", Price(0.15, 0.15, 0.6)),
        ("openai", "us.openai.gpt-6-luna", UNKNOWN),
        ("openai", "openai/gpt-oss-120b", UNKNOWN),  # of which each host has a price of its own
        ("vertex", "google/gemini-2.5-flash", Price(0.3, 0.03, 2.5)),
    ],
)
def test_a_cloud_has_prices_of_its_own(provider: str, model: str, wanted: Price) -> None:
    assert price_of(LLMSettings.model_validate({"provider": provider, "model": model})) == wanted


def test_the_users_price_wins_and_offline_is_free() -> None:
    own = {"gpt-4o": PriceSettings(input=1.0, cached_input=0.1, output=2.0)}
    assert price_of(LLMSettings(provider="openai", model="gpt-4o", prices=own)) == Price(1.0, 0.1, 2.0)
    assert price_of(LLMSettings(provider="offline", model="gpt-4o", prices=own)) == FREE


@pytest.mark.parametrize(
    ("model", "tier", "batch", "wanted"),
    [
        ("gpt-6-luna", "flex", False, Price(0.05, 0.005, 0.25, cache_write=0.0625)),
        ("gpt-6-luna", "priority", False, Price(0.2, 0.02, 1.0, cache_write=0.25)),
        ("gpt-6-luna", None, True, Price(0.05, 0.005, 0.25, cache_write=0.0625)),
        ("gpt-6-luna", "priority", True, Price(0.05, 0.005, 0.25, cache_write=0.0625)),
        ("gpt-4o-mini", None, True, Price(0.075, 0.075, 0.3)),  # batches of which get no discount for the cache
        ("o1-mini", None, True, Price(0.55, 0.275, 2.2)),  # of which no price by batch is published
        ("gpt-6-luna", "default", False, Price(0.1, 0.01, 0.5, cache_write=0.125)),
        ("o1-mini", "flex", False, Price(1.1, 0.55, 4.4)),  # of which none is published; this one is no lower
        ("o1-mini", "priority", False, UNKNOWN),
        ("mine", "flex", False, Price(1.0, 0.5, 2.0, cache_write=1.5)),
        ("mine", None, True, Price(0.5, 0.25, 1.0, cache_write=0.75)),
    ],
)
def test_a_service_tier_and_a_batch_have_their_own_price(
    model: str, tier: str | None, batch: bool, wanted: Price
) -> None:
    own = {"mine": PriceSettings(input=1.0, cached_input=0.5, cache_write=1.5, output=2.0)}
    body = {"service_tier": tier} if tier else {}
    settings = LLMSettings(provider="openai", model=model, prices=own, extra_body=body)
    assert price_of(settings, batch=batch) == wanted


@pytest.mark.parametrize(
    ("provider", "model"), [("bedrock", "us.openai.gpt-6-luna"), ("vertex", "google/gemini-2.5-flash")]
)
def test_a_tier_without_a_published_price_is_not_counted_at_a_lower_one(provider: str, model: str) -> None:
    asked = {"provider": provider, "model": model, "extra_body": {"service_tier": "priority"}}
    assert price_of(LLMSettings.model_validate(asked)) == UNKNOWN


def test_no_price_is_looked_up_in_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that fetches newer prices would open a socket."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    threads = threading.active_count()
    assert price_of(LLMSettings(provider="openai", model="o3-mini")) == Price(1.1, 0.55, 4.4)
    assert threading.active_count() == threads


def test_cached_and_written_tokens_are_among_the_input_tokens() -> None:
    with_writes = Price(2.0, 0.5, 8.0, cache_write=2.5)
    assert with_writes.most(1_000_000, 1_000_000) == 10.5
    assert with_writes._replace(cache_write=0.0).most(1_000_000, 1_000_000) == 10.0
    assert with_writes.of(1_000_000, 500_000, 400_000, 200_000) == pytest.approx(0.8 + 0.2 + 0.5 + 4.0)
    assert Price(2.0, 0.5, 8.0).of(1_000_000, 500_000, 400_000) == pytest.approx(1.2 + 0.2 + 4.0)
