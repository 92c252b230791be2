"""Models that OpenAI withdraws, by the table in `withdrawals.toml`."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.prices import family


def withdrawal_warnings(settings: LLMSettings) -> list[str]:
    """Return a line for each model of some settings, roles included, that OpenAI withdraws or has withdrawn."""
    if settings.provider != "openai":
        return []
    models = {settings.model, *(role.model for role in settings.roles.values() if role.model)}
    days = {model: day for model in sorted(models) if (day := _days().get(family(model)))}
    return [f"OpenAI withdraws model {model} on {day}; docs/models.md names others" for model, day in days.items()]


@cache
def _days() -> Mapping[str, str]:
    """Return the day of each withdrawn model, as ISO 8601."""
    table = tomllib.loads((files(__package__) / "withdrawals.toml").read_text("utf-8"))
    return {model: day for day, models in table.items() for model in models}
