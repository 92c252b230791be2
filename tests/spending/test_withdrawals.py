import pytest

from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.withdrawals import withdrawal_warnings


@pytest.mark.parametrize(
    ("model", "days"),
    [
        ("gpt-4o-mini", ["gpt-4o-mini on 2027-01-14"]),
        ("openai/gpt-4o-2024-08-06", ["openai/gpt-4o-2024-08-06 on 2027-01-14"]),
        ("gpt-5", ["gpt-5 on 2026-12-11"]),
        ("ft:gpt-4o-mini-2024-07-18:acme::x", ["ft:gpt-4o-mini-2024-07-18:acme::x on 2027-01-14"]),
        ("gpt-5.2", []),
        ("gpt-6-luna", []),
        ("qwen3:8b", []),
    ],
)
def test_a_withdrawn_model_is_named_with_its_day(model: str, days: list[str]) -> None:
    said = [f"OpenAI withdraws model {one}; docs/models.md names others" for one in days]
    assert withdrawal_warnings(LLMSettings(provider="openai", model=model)) == said


@pytest.mark.parametrize(
    ("url", "variable", "warned"),
    [
        ("", "", True),
        ("https://eu.api.openai.com/v1", "", True),
        ("", "http://127.0.0.1:8000/v1", False),
        ("http://gpu.example.org/v1", "", False),
        ("https://mine.openai.azure.com/openai/v1", "", False),
        ("https://api.openai.com/v1", "http://127.0.0.1:8000/v1", True),
    ],
)
def test_others_serve_a_model_as_long_as_they_like(
    monkeypatch: pytest.MonkeyPatch, url: str, variable: str, warned: bool
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", variable)
    assert bool(withdrawal_warnings(LLMSettings(provider="openai", model="gpt-4o", base_url=url))) == warned


def test_a_role_at_an_address_of_its_own_has_no_warning() -> None:
    roles = {"answer": {"model": "o3", "base_url": "http://gpu.example.org/v1"}}
    settings = LLMSettings.model_validate({"provider": "openai", "model": "gpt-6-luna", "roles": roles})
    assert withdrawal_warnings(settings) == []


def test_models_of_roles_count_and_none_offline() -> None:
    roles = {"answer": {"model": "o3"}, "judge": {"model": "o3"}, "extract": {"temperature": 1.0}}
    settings = LLMSettings.model_validate({"provider": "openai", "model": "gpt-6-luna", "roles": roles})
    assert withdrawal_warnings(settings) == ["OpenAI withdraws model o3 on 2026-12-11; docs/models.md names others"]
    assert withdrawal_warnings(settings.model_copy(update={"provider": "offline"})) == []
