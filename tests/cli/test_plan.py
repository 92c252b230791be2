import pytest

from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.cli.terminal import console
from lightrag_dagster.plan.plan import Plan
from lightrag_dagster.plan.sources import PassPlan, SourcePlan
from lightrag_dagster.settings import Settings
from tests.cli.test_cli import command
from tests.support import RIVER, write_source

NOTHING_PAID = "The offline rules ask no model, so that nothing is paid."


@pytest.mark.parametrize(("provider", "said"), [("offline", True), ("openai", False)])
def test_a_plan_by_rules_says_that_nothing_is_paid(
    settings: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, provider: str, said: bool
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", provider)
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "m")
    code, shown, _ = command(capfd, monkeypatch, "plan")
    assert (code, NOTHING_PAID in shown.splitlines()) == (0, said)
    assert not settings.home.exists(), "a store that was lost would not be missed any more"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "LIGHTRAG_LLM__MODEL (llm.model) is not set; name one that your endpoint serves, such as gpt-6-luna"),
        ({"LIGHTRAG_LLM__MODEL": "m"}, "OPENAI_API_KEY is not set (model m); set it, or LIGHTRAG_LLM__BASE_URL for a"),
        ({"LIGHTRAG_LLM__MODEL": "m", "OPENAI_API_KEY": "k"}, ""),
        (
            {"LIGHTRAG_LLM__MODEL": "m", "LIGHTRAG_LLM__BASE_URL": "http://a/v1", "LIGHTRAG_LLM__API_KEY_ENV": "OTHER"},
            "OTHER is not set (model m); set it, or name another in api_key_env",
        ),
        ({"LIGHTRAG_LLM__MODEL": "m", "LIGHTRAG_LLM__PROVIDER": "bedrock"}, "AWS_REGION is not set to a usable name"),
        ({"LIGHTRAG_LLM__MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, ""),
    ],
)
def test_plan_and_status_say_what_a_run_would_miss(
    settings: Settings,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    said: str,
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    own = {"LIGHTRAG_HOME": str(settings.home), "LIGHTRAG_SOURCES": str(settings.sources), "COLUMNS": "300"}
    for name, value in {**own, "LIGHTRAG_LLM__PROVIDER": "openai", **variables}.items():
        monkeypatch.setenv(name, value)
    for arguments in (["plan"], ["status"], ["status", "--json"]):
        code, shown, _ = command(capfd, monkeypatch, *arguments)
        assert code == 0
        assert (said in shown) if said else ("is not set" not in shown), arguments
        assert "The price of  is" not in shown
    if not variables:
        assert command(capfd, monkeypatch, "run")[0::2] == (2, f"error: {said}; docs/models.md compares them\n")


def test_a_plan_says_how_chunks_that_failed_are_asked_about_again(capfd: pytest.CaptureFixture[str]) -> None:
    for failed, said in ((0, False), (2, True)):
        sources = [SourcePlan("notes", chunks_failed=failed, passes={"works": PassPlan(chunks_failed=failed)})]
        print_plan(console(), Plan(sources, history=False, unknown_prices=[], steps={}))
        shown = "Failed for good, not in the price: 4; `run --retry-failed` asks again, at the price in `plan "
        assert (shown in capfd.readouterr().out) == said
