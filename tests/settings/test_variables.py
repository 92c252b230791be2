import pytest

from lightrag_dagster.assets import alerts
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import load_settings


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("LIGHTRAG_LLM_MAX_COST_USD", "did you mean LIGHTRAG_LLM__MAX_COST_USD?"),
        ("LIGHTRAG_LLM_PROVIDER", "did you mean LIGHTRAG_LLM__PROVIDER?"),
        ("LIGHTRAG_SOURCE", "did you mean LIGHTRAG_SOURCES?"),
        ("LIGHTRAG_HOMES", "did you mean LIGHTRAG_HOME?"),
        ("lightrag_source", "did you mean LIGHTRAG_SOURCES?"),
        ("LIGHTRAG_MAX_COST_USD", "did you mean LIGHTRAG_LLM__MAX_COST_USD?"),
        ("LIGHTRAG_EXTRACTON__METHOD", "'extracton', which does not exist; did you mean 'extraction'?"),
        ("LIGHTRAG_EMBEDING__X", "'embeding', which does not exist; did you mean 'embedding'?"),
    ],
)
def test_a_variable_that_is_no_setting_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str, said: str) -> None:
    monkeypatch.setenv(variable, "hush-word")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert str(refused.value).startswith(f"{variable} ")
    assert said in str(refused.value)
    assert "hush-word" not in str(refused.value)


@pytest.mark.parametrize(
    "variable",
    [
        alerts.WEBHOOK_VARIABLE,
        alerts.UI_VARIABLE,
        alerts.ENVIRONMENT_VARIABLE,
        "LIGHTRAG_IMAGE",  # of deploy/compose.yaml
        "LIGHTRAG_KV_STORAGE",  # of LightRAG itself
        "LIGHTRAG_API_KEY",
        "LIGHTRAG_GRAPH_STORAGE",
        "LIGHTRAG_DAGSTER_WEBSERVER_SERVICE_HOST",  # of Kubernetes
        "LIGHTRAG_DAGSTER_WEBSERVER_SERVICE_PORT_HTTP",
        "LIGHTRAG_DAGSTER_WEBSERVER_PORT",
        "LIGHTRAG_DAGSTER_WEBSERVER_PORT_80_TCP_ADDR",
        "LIGHTRAG_PORT_80_TCP",
        "LIGHTRAG_EMBEDDING_PORT",
        "LIGHTRAG_DATABASE_PORT",
        "LIGHTRAGS",
        "OTHER_LIGHTRAG_SOURCE",
    ],
)
def test_variables_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    before = load_settings()
    monkeypatch.setenv(variable, "x")
    assert load_settings() == before
