import asyncio
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from lightrag_dagster.core.protocols import ChatRequest, Message, Usage
from lightrag_dagster.core.roles import Role
from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.access import access_warnings
from lightrag_dagster.models.identities import openai_chat_identity
from lightrag_dagster.models.providers import open_plain_chat_model, open_plain_embedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings, Settings
from lightrag_dagster.settings.models import RoleSettings
from tests.conftest import API_KEY
from tests.loopback import Loopback, Reply, serving

LLM = LLMSettings(provider="openai", model="m1", max_retries=0)
MARK = "mark-of-the-gateway"


@pytest.fixture(scope="module")
def _other() -> Iterator[Loopback]:
    with serving() as server:
        yield server


@pytest.fixture
def other(_other: Loopback, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """A server that the environment does not point to; the variable OTHER_KEY is for it."""
    _other.reset()
    monkeypatch.setenv("OTHER_KEY", "key-of-the-other")
    return _other


def ask(settings: LLMSettings, role: Role = "answer") -> None:
    async def one() -> None:
        async with open_plain_chat_model(settings.of(role)) as model:
            await model.complete(ChatRequest(role, (Message("user", "Hi"),)))

    asyncio.run(one())


def embed(settings: EmbeddingSettings) -> None:
    async def one() -> None:
        async with open_plain_embedder(settings, Usage()) as model:
            await model.embed_documents(["text"])

    asyncio.run(one())


def sent(server: Loopback, header: str = "authorization") -> list[str | None]:
    return [request.headers.get(header) for request in server.requests]


def with_role(**values: object) -> LLMSettings:
    return LLM.model_copy(
        update={"roles": {"answer": RoleSettings.model_validate(values)}, "headers": {"x-mark": MARK}}
    )


def test_a_role_has_a_place_and_a_key_of_its_own(loopback: Loopback, other: Loopback) -> None:
    settings = with_role(base_url=other.url, api_key_env="OTHER_KEY")
    ask(settings)
    ask(settings, "extract")
    assert (sent(other), sent(other, "x-mark")) == (["Bearer key-of-the-other"], [None])
    assert (sent(loopback), sent(loopback, "x-mark")) == ([f"Bearer {API_KEY}"], [MARK])


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_key_of_the_environment_goes_to_no_address_of_the_settings(other: Loopback, everywhere: bool) -> None:
    ask(LLM.model_copy(update={"base_url": other.url}) if everywhere else with_role(base_url=other.url))
    assert sent(other) == ["Bearer none"]


def test_an_empty_address_of_a_role_is_that_of_all(loopback: Loopback, other: Loopback) -> None:
    ask(with_role(base_url="").model_copy(update={"base_url": other.url, "api_key_env": "OTHER_KEY"}))
    assert (sent(other), loopback.requests) == (["Bearer key-of-the-other"], [])


def test_the_organization_goes_where_its_key_goes(
    loopback: Loopback, other: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    ask(with_role(base_url=other.url))
    ask(LLM)
    assert (sent(other, "openai-organization"), sent(loopback, "openai-organization")) == ([None], ["org-1"])


def test_a_role_without_an_address_shares_key_and_headers(loopback: Loopback, other: Loopback) -> None:
    ask(with_role(model="m2"))
    ask(with_role(api_key_env="OTHER_KEY", headers={"x-mark": "own"}))
    assert sent(loopback) == [f"Bearer {API_KEY}", "Bearer key-of-the-other"]
    assert sent(loopback, "x-mark") == [MARK, "own"]


def test_an_embedder_has_a_place_and_a_key_of_its_own(loopback: Loopback, other: Loopback) -> None:
    elsewhere = {"base_url": other.url, "api_key_env": "OTHER_KEY", "headers": {"x-mark": "${OTHER_KEY}/embed"}}
    embed(EmbeddingSettings.model_validate({"provider": "openai", "model": "m2", "dimensions": 8} | elsewhere))
    assert (sent(other), sent(other, "x-mark")) == (["Bearer key-of-the-other"], ["key-of-the-other/embed"])
    assert loopback.requests == []


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"headers": {"x-mark": "$NOT_SET"}}, "NOT_SET is not set, which a header for 127"),
        ({"headers": {"x-mark": "$LINES"}}, "LINES holds characters"),
        ({"headers": {"x-mark": "Zoë"}}, "header 'x-mark' for 127.* has letters that no header has"),
        ({"headers": {"x mark": "a"}}, "header 'x mark' for"),
        ({"base_url": "localhost:8000"}, "base_url of model .* is not a usable URL"),
        ({"api_key_env": "LINES"}, "LINES holds characters"),
    ],
)
def test_what_cannot_be_sent_is_named(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, values: dict[str, object], says: str
) -> None:
    monkeypatch.setenv("LINES", "one\ntwo")
    with pytest.raises(ProviderAccessError, match=says) as raised:
        ask(LLM.model_copy(update=values))
    assert access_warnings(Settings(llm=LLM.model_copy(update=values))) == [str(raised.value)]
    assert "two" not in str(raised.value)
    assert loopback.requests == []


@pytest.mark.parametrize(
    ("key_env", "says"),
    [("OTHER_KEY", "check OTHER_KEY and its permissions"), ("", "check api_key_env, which names no variable, and")],
)
def test_a_key_that_is_refused_is_named_by_its_variable(other: Loopback, key_env: str, says: str) -> None:
    other.script.append(Reply.error(401))
    with pytest.raises(ProviderAccessError, match=says):
        ask(with_role(base_url=other.url, api_key_env=key_env))


def test_effort_is_sent_and_shapes_answers_while_a_place_does_not(loopback: Loopback, other: Loopback) -> None:
    ask(with_role(reasoning_effort="none", base_url=other.url))
    assert other.requests[0].body["reasoning_effort"] == "none"
    usual, moved = LLM.of("answer"), with_role(base_url=other.url, api_key_env="OTHER_KEY").of("answer")
    assert openai_chat_identity(moved) == openai_chat_identity(usual)
    assert openai_chat_identity(with_role(reasoning_effort="low").of("answer")) != openai_chat_identity(usual)


@pytest.mark.parametrize("key", ["sk-secret", "gsk_secret", "secretKEY", "A B"])
def test_a_key_in_place_of_its_variable_is_refused_unseen(key: str) -> None:
    for values in ({"api_key_env": key}, {"roles": {"answer": {"api_key_env": key}}}):
        with pytest.raises(ValidationError, match="name an environment variable in capitals") as raised:
            LLMSettings.model_validate(values)
        assert key not in str(raised.value.errors(include_input=False))


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize("limit", ["max_cost_usd", "max_cost_per_day_usd", "max_cost_per_source_month_usd"])
def test_a_budget_that_does_not_bound_a_model_is_told_before_a_run(limit: str) -> None:
    settings = Settings(llm=LLM.model_copy(update={"model": "mine"}))
    assert access_warnings(settings) == []
    (line,) = access_warnings(settings.changed(llm={limit: 5.0}))
    assert line.startswith("the price of model mine is not known")
    priced = {limit: 5.0, "prices": {"mine": {"input": 0, "output": 0}}}
    assert access_warnings(settings.changed(llm=priced)) == []
