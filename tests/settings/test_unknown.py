from pathlib import Path

import pytest

from lightrag_dagster.assets import alerts
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import load_settings

SEE = "lightrag.yaml, line 2, and LIGHTRAG_… variables"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("query: {prefers: newest}", f"setting query.prefers does not exist; did you mean query.prefer? See {SEE}"),
        ("quary: {prefer: newest}", f"setting quary does not exist; did you mean query? See {SEE}"),
        ("llm: {modle: gpt}", f"setting llm.modle does not exist; did you mean llm.model? See {SEE}"),
        ("query: {xyz: 1}", f"setting query.xyz does not exist; see {SEE}"),
        (
            "named_sources: {query: {uri: x, includes: [a]}}",
            f"setting named_sources.query.includes does not exist; did you mean named_sources.query.include? See {SEE}",
        ),
        (
            "chunking: {rules: [{path: a, sise: 9}]}",
            f"setting chunking.rules.0.sise does not exist; did you mean chunking.rules.0.size? See {SEE}",
        ),
    ],
)
def test_the_nearest_setting_of_the_section_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lightrag.yaml").write_text(f"home: data\n{written}")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert str(refused.value) == said


def test_a_mistake_in_a_variable_has_no_line_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lightrag.yaml").write_text("llm: {}")
    monkeypatch.setenv("LIGHTRAG_LLM__MODLE", "gpt")
    with pytest.raises(SettingsError, match=r"llm\.model\? See lightrag\.yaml and LIGHTRAG_"):
        load_settings()


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("llm: {roles: {anser: {model: x}}}", "answer"),
        ("llm: {roles: {extrcat: {model: x}}}", "extract"),
        ("llm: {provider: opnai}", "openai"),
        ("engine: proceses", "processes"),
    ],
)
def test_the_nearest_of_the_values_that_a_setting_takes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, near: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lightrag.yaml").write_text(written)
    with pytest.raises(SettingsError, match=rf"Input should be .*; did you mean {near}\? See "):
        load_settings()


@pytest.mark.parametrize("name", ["home", "sources", "prompts", "curation", "questions"])
def test_a_path_with_a_zero_byte_is_refused_by_the_name_of_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lightrag.yaml").write_text(f'{name}: "a\\0b"')
    with pytest.raises(SettingsError, match=f"^setting {name}: it has a zero byte, which no path may have; remove it"):
        load_settings()


def test_a_change_names_the_nearest_too() -> None:
    with pytest.raises(SettingsError, match=r"^setting query\.prefers does not exist; did you mean query\.prefer\?$"):
        load_settings().changed(query={"prefers": "newest"})


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("LIGHTRAG_LLM_MAX_COST_USD", "did you mean LIGHTRAG_LLM__MAX_COST_USD?"),
        ("LIGHTRAG_LLM_PROVIDER", "did you mean LIGHTRAG_LLM__PROVIDER?"),
        ("LIGHTRAG_SOURCE", "did you mean LIGHTRAG_SOURCES?"),
        ("LIGHTRAG_HOMES", "did you mean LIGHTRAG_HOME?"),
        ("lightrag_source", "did you mean LIGHTRAG_SOURCES?"),
        ("LIGHTRAG_MAX_COST_USD", "did you mean LIGHTRAG_LLM__MAX_COST_USD?"),
        ("LIGHTRAG_MAX_COST", "did you mean LIGHTRAG_LLM__MAX_COST_USD?"),
        ("LIGHTRAG_MODEL", "did you mean LIGHTRAG_LLM__MODEL?"),
        ("LIGHTRAG_PROVIDER", "did you mean LIGHTRAG_LLM__PROVIDER?"),
        ("LIGHTRAG_CONFG", "did you mean LIGHTRAG_CONFIG?"),
        ("LIGHTRAG_CONFIGS", "did you mean LIGHTRAG_CONFIG?"),
        ("LIGHTRAG_CONFIG_FILE", "did you mean LIGHTRAG_CONFIG?"),
        ("LIGHTRAG_QUESTIONS_PATH", "did you mean LIGHTRAG_QUESTIONS?"),
        ("LIGHTRAG_FAILURE_WEBHOK", "did you mean LIGHTRAG_FAILURE_WEBHOOK?"),
        ("LIGHTRAG_SOURCES__DOCS__URI", "'sources', which does not exist; did you mean 'named_sources'?"),
        ("LIGHTRAG_CONFIG__X", "'config', which does not exist; did you mean "),
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
        "LIGHTRAG_MODES",  # for which `mode` is too short
        "LIGHTRAG_KV_STORAGE",  # of LightRAG itself
        "LIGHTRAG_API_KEY",
        "LIGHTRAG_SETUP_EMBEDDING_PROVIDER",
        "LIGHTRAG_RUNTIME_TARGET",
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


def test_a_part_of_a_mapping_may_be_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_SCOPES__BOARD", '{"sources": ["handbook"]}')
    monkeypatch.setenv("LIGHTRAG_NAMED_SOURCES__DOCS__URI", "/srv/docs")
    found = load_settings()
    assert found.scopes == {"board": {"sources": ("handbook",)}}
    assert found.named_sources["docs"].uri == "/srv/docs"


def test_an_empty_limit_of_another_program_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER__MAX_COST_USD", "")
    assert load_settings().llm.max_cost_usd is None
