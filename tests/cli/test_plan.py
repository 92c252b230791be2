import pytest

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
