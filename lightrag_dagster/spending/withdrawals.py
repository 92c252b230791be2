"""Models that OpenAI withdraws, by the table in `withdrawals.toml`."""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.prices import family


def withdrawal_warnings(settings: LLMSettings) -> list[str]:
    """Return a line for each model of some settings, roles included, that OpenAI withdraws or has withdrawn.

    Those at addresses of others are left out, since others decide how long they serve a model.
    """
    days = {
        model: day
        for model in sorted({one.model for one in (settings, *map(settings.of, settings.roles)) if _asks_openai(one)})
        if (day := _days().get(family(model.removeprefix("ft:").partition(":")[0])))
    }
    return [f"OpenAI withdraws model {model} on {day}; docs/models.md names others" for model, day in days.items()]


def _asks_openai(settings: LLMSettings) -> bool:
    url = settings.base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com"
    host = url.partition("://")[2].partition("/")[0]
    return settings.provider == "openai" and f".{host}".endswith(".openai.com")


@cache
def _days() -> Mapping[str, str]:
    """Return the day of each withdrawn model, as ISO 8601."""
    table = tomllib.loads((files(__package__) / "withdrawals.toml").read_text("utf-8"))
    return {model: day for day, models in table.items() for model in models}
