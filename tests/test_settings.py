from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import ChunkingSettings, load_settings


def write(text: str) -> None:
    Path("lightrag.yaml").write_text(text, encoding="utf-8")


def test_defaults_need_no_file() -> None:
    settings = load_settings()
    assert settings.home == Path("data")
    assert settings.llm.provider == settings.embedding.provider == "offline"
    assert (settings.chunking.size, settings.chunking.overlap) == (1200, 100)
    assert settings.named_sources == {}


def test_the_environment_wins_over_the_file_over_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    write("home: from-file\nllm:\n  model: from-file\n  max_concurrency: 3\n")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "from-environment")
    settings = load_settings()
    assert settings.home == Path("from-file")
    assert settings.llm.model == "from-environment"
    assert settings.llm.max_concurrency == 3
    assert settings.llm.timeout == 120.0
    assert load_settings(home=Path("given")).home == Path("given")


@pytest.mark.parametrize(
    "name",
    ["CONFIG", "HOME", "NIGHTLY", "LLM__MODEL", "LLM__REQUESTS_PER_MINUTE", "LLM__MAX_RETRIES", "EMBEDDING__PROVIDER"],
)
def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write("home: from-file\nllm: {model: from-file, requests_per_minute: 9}\n")
    expected = load_settings()
    monkeypatch.setenv(f"LIGHTRAG_{name}", "")
    assert load_settings() == expected


def test_another_file_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("sources: elsewhere\n")
    monkeypatch.setenv("LIGHTRAG_CONFIG", str(tmp_path / "other.yaml"))
    assert load_settings().sources == Path("elsewhere")


def test_sources_can_be_named() -> None:
    write("named_sources:\n  wiki:\n    uri: file:///srv/wiki\n    include: ['*.md']\n  notes: {uri: ../notes}\n")
    named = load_settings().named_sources
    assert (named["wiki"].uri, named["wiki"].include) == ("file:///srv/wiki", ("*.md",))
    assert named["notes"].include == ("**/*",)


@pytest.mark.parametrize(
    "uri",
    [
        *("https://host:8443/@team/a:b@c", "sftp://someone@host:22/a@b", "s3://bucket/2024:01@x", "file:///a:b@c"),
        *("a:b@c", "file://C:/Users/a@b", "sftp://host:/a@b", "s3://arn:aws:s3:eu-west-1:1234:accesspoint/x/a@b"),
    ],
)
def test_an_at_sign_in_a_path_is_no_password(uri: str) -> None:
    write(f"named_sources: {{wiki: {{uri: '{uri}'}}}}\n")
    assert load_settings().named_sources["wiki"].uri == uri


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{uri: 'sftp://someone:hush-word@host/x'}", "there is a password in the URI"),
        ("{uri: 'zip://x::ftp://someone:hush-word@host/a.zip'}", "there is a password in the URI"),
        ("{uri: 's3://key:hush-word@bucket/x'}", "there is a password in the URI"),
        ("{uri: 'https://hush-word@host/x'}", "there is a password in the URI"),
        ("{uri: 'HTTPS://hush-word@host/x'}", "there is a password in the URI"),
        ("{uri: 'postgresql://someone:hush/word@host/x'}", "there is a password in the URI"),
        ("{uri: 'sftp://someone:1234@host/x'}", "there is a password in the URI"),
        ("{uri: 'https://host/a.pdf?token=hush-word'}", "there is a query in the URI"),
        ("{uri: 'zip://x::Https://host/a.zip?token=hush-word'}", "there is a query in the URI"),
    ],
)
def test_a_source_with_a_secret_is_refused(source: str, reason: str) -> None:
    write(f"named_sources:\n  wiki: {source}\n")
    with pytest.raises(SettingsError, match=rf"setting named_sources\.wiki.*{reason}") as refused:
        load_settings()
    assert "hush-word" not in str(refused.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().llm.model = "other"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("llm:\n  provider: nobody\n", ["setting llm.provider", "'offline', 'openai', 'bedrock' or 'vertex'"]),
        ("chunking:\n  size: 100\n  overlap: 100\n", ["setting chunking", "overlap 100 must be smaller than size 100"]),
        ("chunking:\n  size: many\n", ["setting chunking.size"]),
        ("documents:\n  max_failed_share: 1.5\n", ["setting documents.max_failed_share"]),
        ("no_such_setting: 1\n", ["setting no_such_setting"]),
        ("llm:\n  api_key: sk-secret\n", ["setting llm.api_key"]),
        ("llm:\n  extra_body: {n: 2, max_tokens: 9, seed: 1}\n", ["setting llm.extra_body", "max_tokens, n cannot be"]),
        (
            "llm:\n  roles: {answer: {extra_body: {model: m}}}\n",
            ["setting llm.roles.answer.extra_body"],
        ),
        ("embedding:\n  dimensions: 0\n", ["setting embedding.dimensions"]),
        ("llm: [1, 2]\n", ["setting llm"]),
        ("language: ''\n", ["setting language", "at least 1 character"]),
        *(
            (f"documents: {{{name}: yes}}\n", [f"setting documents.{name}: it is a number, not true or false"])
            for name in ("max_bytes", "max_deleted_share")
        ),
        ("llm: {max_cost_usd: no}\n", ["setting llm.max_cost_usd: it is a number, not true or false"]),
        ("merging: {types: {map: {company: ' '}}}\n", ["setting merging.types.map.company: ' ' cannot be a type"]),
        ("merging: {types: {map: {Firm: person, firm: place}}}\n", ["setting merging.types.map: Firm is the name of"]),
        (
            "extraction: {methods: {\xd6: mentions, O\u0308: mentions}}\n",
            ["extraction.methods: O\u0308 is the name of another"],
        ),
        ("home: [\n", ["lightrag.yaml is not valid YAML"]),
        ("\tbad", ["lightrag.yaml is not valid YAML"]),
        ("just text", ["lightrag.yaml"]),
        ("- a\n- b\n", ["lightrag.yaml"]),
    ],
)
def test_a_mistake_is_one_line_that_names_the_setting(text: str, names: list[str]) -> None:
    write(text)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    message = str(refused.value)
    assert all(name in message for name in names), message
    assert "\n" not in message
    assert "sk-secret" not in message


def test_bytes_that_are_no_text() -> None:
    Path("lightrag.yaml").write_bytes(b"home: \xff\xfe\n")
    with pytest.raises(SettingsError, match=r"lightrag\.yaml") as refused:
        load_settings()
    assert "\n" not in str(refused.value)


def test_an_empty_file_is_the_defaults() -> None:
    write("")
    assert load_settings().home == Path("data")


def test_an_empty_path_is_an_unset_one_and_not_the_working_folder() -> None:
    names = ("checks", "curation", "prompts", "questions", "readings")
    Path("lightrag.yaml").write_text("".join(f"{name}: ''\n" for name in names) + "gold: {folder: ''}\n", "utf-8")
    settings = load_settings()
    assert [getattr(settings, name) for name in names] == [None] * len(names)
    assert settings.gold.folder is None


def test_a_path_may_begin_with_the_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/mia")
    write("sources: ~/docs\nquestions: ~/q.yaml\ngold: {folder: ~/gold}\n")
    settings = load_settings()
    assert (settings.sources, settings.questions) == (Path("/home/mia/docs"), Path("/home/mia/q.yaml"))
    assert settings.gold.folder == Path("/home/mia/gold")


def test_a_price_without_that_of_output_is_refused() -> None:
    write("llm:\n  prices:\n    mine: {input: 3}\n")
    with pytest.raises(SettingsError, match=r"^setting llm\.prices\.mine\.output: a price is needed, 0 if it cost"):
        load_settings()


@pytest.mark.parametrize("name", ["home", "sources"])
def test_an_empty_home_or_folder_of_sources_is_refused(name: str) -> None:
    """It would be the working folder, all of which would be read."""
    write(f"{name}: ''\n")
    with pytest.raises(SettingsError, match=rf"^setting {name}: it has no value, .*; see lightrag\.yaml"):
        load_settings()
    with pytest.raises(SettingsError, match=rf"^setting {name}: it has no value"):
        load_settings(**{name: ""})
    assert getattr(load_settings(**{name: "."}), name) == Path()


@pytest.mark.parametrize("name", ["max_cost_usd", "max_cost_per_day_usd", "max_cost_per_source_month_usd"])
def test_a_limit_of_money_without_a_value_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be no limit; a template of a `defs.yaml` gives null for a variable that is not set."""
    write(f"llm:\n  {name}:\n")
    with pytest.raises(SettingsError, match=rf"^setting llm\.{name}: it has no value, .*lightrag\.yaml, line 2"):
        load_settings()
    write("llm: {model: some}\n")
    settings = load_settings()
    assert getattr(settings.changed(llm={"model": "other"}).llm, name) is None, "left out is none"
    with pytest.raises(SettingsError, match=rf"^setting llm\.{name}: it has no value"):
        settings.changed(llm={name: None})
    monkeypatch.setenv(f"LIGHTRAG_LLM__{name.upper()}", "")
    with pytest.raises(SettingsError, match=rf"LIGHTRAG_LLM__{name.upper()} has no value"):
        load_settings()


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_LLM__MAX_CONCURRENCY", "lots")
    with pytest.raises(SettingsError, match=r"setting llm\.max_concurrency: .*LIGHTRAG_"):
        load_settings()


def test_a_variable_that_is_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LIGHTRAG_NAMED_SOURCES", "{"), ("LIGHTRAG_EXPORTS", "tables")):
        monkeypatch.setenv(name, value)
        with pytest.raises(SettingsError, match=r"LIGHTRAG_… variable \(lists are JSON\) cannot be used: error"):
            load_settings()
        monkeypatch.delenv(name)


def test_a_named_file_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_CONFIG", "/nowhere/lightrag.yaml")
    with pytest.raises(SettingsError, match=r"LIGHTRAG_CONFIG: /nowhere/lightrag\.yaml is not a file"):
        load_settings()


def test_a_file_with_another_suffix_is_not_ignored() -> None:
    Path("lightrag.yml").write_text("home: elsewhere\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"lightrag\.yml is not read; rename it to lightrag\.yaml"):
        load_settings()
    write("home: here\n")
    assert load_settings().home == Path("here")


def test_one_language_serves_all_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_LANGUAGE", "German")
    assert load_settings(extraction={"gleaning": 0}).language == "German"
    for section in ("extraction", "merging"):
        with pytest.raises(SettingsError, match=rf"^setting {section}\.language does not exist"):
            load_settings(**{section: {"language": "French"}})


@pytest.mark.parametrize("name", ["query.ppr", "rerank.max_retries", "extraction.language", "llm.retry_failed"])
def test_a_setting_that_is_no_longer_there_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LIGHTRAG_" + name.upper().replace(".", "__"), "1")
    with pytest.raises(SettingsError, match=rf"^setting {name} does not exist"):
        load_settings()


@pytest.mark.parametrize("name", ["model", "base_url", "api_key_env"])
def test_a_chat_reranker_has_the_model_and_the_place_of_its_role(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"provider is chat.* set llm\.roles\.rerank\.{name} instead"):
        load_settings(rerank={"provider": "chat", name: "GATEWAY"})
    asked = load_settings(rerank={"provider": "chat"}, llm={"model": "usual", "roles": {"rerank": {name: "GATEWAY"}}})
    assert getattr(asked.llm.of("rerank"), name) == "GATEWAY"


def test_settings_can_be_changed_inside_a_section() -> None:
    before = load_settings()
    after = before.changed(home=Path("elsewhere"), llm={"max_cost_usd": 5})
    assert (after.home, after.llm.max_cost_usd, after.llm.model) == (Path("elsewhere"), 5, before.llm.model)
    assert before.llm.max_cost_usd is None
    assert before.changed(chunking=ChunkingSettings(size=7, overlap=1)).chunking.size == 7
    assert (before.within("board").changed(home="elsewhere").scope, after.model_fields_set) == (
        "board",
        {"home", "llm"},
    )
    assert isinstance(before.changed(home="elsewhere").home, Path)


@pytest.mark.parametrize(
    ("written", "removed"), [("yes", {"wiki", "Büro"}), ("0", set()), ('["Bu\u0308ro"]', {"Büro"}), ("[]", set())]
)
def test_deletions_are_accepted_of_all_or_of_some(
    monkeypatch: pytest.MonkeyPatch, written: str, removed: set[str]
) -> None:
    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__ACCEPT_DELETES", written)
    documents = load_settings().documents
    assert {source for source in ("wiki", "Büro") if documents.accepts_deletes_of(source)} == removed


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"llm": {"max_cost_usd": -1}}, r"setting llm\.max_cost_usd"),
        ({"nothing": 1}, "setting nothing does not exist"),
        ({"within": "board"}, "setting within does not exist"),
        ({"namespace": "Bad Name"}, "setting namespace: "),
        ({"nightly": 3}, "setting nightly: "),
    ],
)
def test_a_change_is_checked(change: dict[str, object], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        load_settings().changed(**change)


@pytest.mark.parametrize("name", ["Finance", "2024", "a-b", "a/b", " "])
def test_a_namespace_is_a_name(name: str) -> None:
    with pytest.raises(SettingsError, match="setting namespace"):
        load_settings(namespace=name)


def test_the_first_rule_of_chunking_that_matches_counts() -> None:
    write("""
chunking:
  size: 800
  rules:
    - {path: "handbook/**/*.md", method: structure, size: 1200}
    - {path: "*/logs/*", method: character, separators: ["\\n"]}
    - {path: "handbook/**", overlap: 0}
""")
    chunking = load_settings().chunking

    def under(path: str) -> tuple[str, int, int]:
        one = chunking.under(chunking.rule_of(path))
        return one.method, one.size, one.overlap

    assert under("handbook/a.md") == under("handbook/b/c.md") == ("structure", 1200, 100)
    assert under("handbook/a.txt") == ("token", 800, 0)
    assert under("notes/logs/a.log") == ("character", 800, 100)
    assert under("notes/a.md") == ("token", 800, 100)
    changed = load_settings().changed(chunking={"size": 900}).chunking
    assert [changed.under(rule).size for rule in (0, 1, 2)] == [1200, 900, 900]


@pytest.mark.parametrize(
    ("chunking", "mistake"),
    [
        ({"method": "custom"}, "method custom needs `function`"),
        ({"rules": [{"path": "a/*", "overlap": 1200}]}, r"overlap 1200 must be smaller than size 1200 \(rule 'a/\*'\)"),
        ({"rules": [{"size": 5}]}, r"rules\.0\.path: Field required"),
        ({"rules": [{"path": "a", "encoding": "x"}]}, r"rules\.0\.encoding does not exist"),
        ({"separators": []}, "at least 1 item"),
        (
            {"rules": [{"path": "a", "method": "character", "separators": [""]}]},
            r"the first of `separators` \(rule 'a'\)",
        ),
        ({"breakpoints": ["mean", 3]}, "breakpoints"),
        ({"breakpoints": ["percentile", 0]}, "greater than 0"),
        ({"method": "semantic", "breakpoints": ["percentile", 0.95]}, "has a percentile of 1 to 100; write 95, not 0"),
        ({"method": "semantic", "breakpoints": ["percentile", True]}, "chunking.breakpoints.*valid number"),
        (
            {"breakpoints": ["gradient", 150], "rules": [{"path": "a", "method": "semantic"}]},
            r"has a percentile of 1 to 100; .* \(rule 'a'\)",
        ),
    ],
)
def test_settings_of_chunking_are_checked(chunking: dict[str, object], mistake: str) -> None:
    with pytest.raises(SettingsError, match=mistake):
        load_settings(chunking=chunking)


@pytest.mark.parametrize("llm", [{}, {"max_cost_usd": 5.0}])
def test_settings_are_read_from_what_they_are_written_as(llm: dict[str, float]) -> None:
    settings = load_settings(home="home", sources="sources", llm=llm)
    assert load_settings(**settings.model_dump()).llm == settings.llm
