"""Requests that the SDK signs for AWS and Google, as they arrive at a server on the loopback interface."""

import asyncio
import hashlib
import hmac
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import ValidationError

from lightrag_dagster.core.protocols import ChatRequest, Message, Usage
from lightrag_dagster.core.roles import Role
from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.access import without_model
from lightrag_dagster.models.clouds import signing
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.models.places import Place, place_of
from lightrag_dagster.models.providers import (
    chat_identity,
    embedder_identity,
    open_plain_chat_model,
    open_plain_embedder,
    settings_of,
)
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from lightrag_dagster.settings.models import RoleSettings
from lightrag_dagster.storage.manifests import EmbedderRecord
from tests.loopback import Loopback, Received, Reply

REQUEST = ChatRequest("answer", (Message("user", "Grüße"),))
SECRET = "SECRET/of+the+identity"
AWS = {"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": SECRET}
GOOGLE = {"GOOGLE_CLOUD_PROJECT": "example.com:p-1", "GOOGLE_CLOUD_LOCATION": "global"}


def bedrock(server: Loopback, **values: object) -> LLMSettings:
    given = {"provider": "bedrock", "model": "openai.m1", "max_retries": 3, "base_url": server.url} | values
    return LLMSettings.model_validate(given)


def vertex(server: Loopback, **values: object) -> EmbeddingSettings:
    given = {"provider": "vertex", "model": "e5", "dimensions": 8, "base_url": server.url} | values
    return EmbeddingSettings.model_validate(given)


def ask(settings: LLMSettings, role: Role = "answer") -> str:
    """Ask once, then in a stream, and return what streamed."""

    async def both() -> str:
        async with open_plain_chat_model(settings.of(role)) as model:
            await model.complete(REQUEST)
            assert isinstance(model, OpenAIChatModel)
            return "".join([piece async for piece in model.stream(REQUEST)])

    return asyncio.run(both())


def embed(settings: EmbeddingSettings) -> None:
    async def one() -> None:
        async with open_plain_embedder(settings, Usage()) as model:
            await model.embed_documents(["text"])

    asyncio.run(one())


def set_all(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def signature(request: Received, region: str, service: str) -> str:
    """Compute the signature as AWS does from what arrived: Signature Version 4, and the hash of the body."""
    signed = request.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    body = json.dumps(request.body, ensure_ascii=False, separators=(",", ":")).encode()
    fields = [f"{name}:{' '.join(request.headers[name].split())}" for name in signed.split(";")]
    asked = "\n".join(["POST", request.path, "", *fields, "", signed, hashlib.sha256(body).hexdigest()])
    moment = request.headers["x-amz-date"]
    scope = (moment[:8], region, service, "aws4_request")
    text = f"AWS4-HMAC-SHA256\n{moment}\n{'/'.join(scope)}\n{hashlib.sha256(asked.encode()).hexdigest()}"
    key = f"AWS4{SECRET}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


@pytest.mark.parametrize("by_profile", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_request_for_bedrock_is_signed(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by_profile: bool
) -> None:
    set_all(monkeypatch, AWS)
    if by_profile:
        lines = ["[work]", "aws_access_key_id=AKIDEXAMPLE", f"aws_secret_access_key={SECRET}"]
        (tmp_path / "credentials").write_text("\n".join(lines))
        set_all(monkeypatch, {"AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"), "AWS_PROFILE": "work"})
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    loopback.chat = lambda body: "So it is."
    assert ask(bedrock(loopback, headers={"x-team": "a  b"})).strip() == "So it is."
    assert [request.path for request in loopback.requests] == ["/v1/chat/completions"] * 2
    for request in loopback.requests:
        told = dict(re.findall(r"(\w+)=([^, ]+)", request.headers["authorization"]))
        assert re.fullmatch(r"AKIDEXAMPLE/\d{8}/eu-central-1/bedrock/aws4_request", told["Credential"])
        assert {"host", "content-type", "x-amz-content-sha256", "x-team"} <= set(told["SignedHeaders"].split(";"))
        assert told["Signature"] == signature(request, "eu-central-1", "bedrock")


def test_a_bearer_token_of_bedrock_goes_before_a_signature(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, AWS | {"AWS_BEARER_TOKEN_BEDROCK": "token", "AWS_BEDROCK_BASE_URL": loopback.url})
    ask(bedrock(loopback, base_url=""))
    assert [request.headers["authorization"] for request in loopback.requests] == ["Bearer token"] * 2


def test_a_request_for_vertex_has_the_token_of_the_account_fetched_once(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    coding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    account = {
        "type": "service_account",
        "client_email": "tests@p-1.iam.gserviceaccount.com",
        "private_key": key.private_bytes(*coding).decode(),
        "token_uri": f"{loopback.url}/embeddings",
    }
    (tmp_path / "account.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    token = Reply(body={"access_token": "of-the-account", "expires_in": 3600, "token_type": "Bearer"})
    loopback.fault = lambda received: None if received.body else token  # what Google is sent is a form
    ask(bedrock(loopback, provider="vertex", model="google/m1"))
    embed(vertex(loopback))
    fetched = [request for request in loopback.requests if not request.body]
    assert (len(fetched), loopback.requests[0], loopback.requests[3]) == (2, *fetched)  # once by each client
    sent = [(request.path, request.headers["authorization"]) for request in loopback.requests if request.body]
    of_the_account = "Bearer of-the-account"
    assert sent == [("/v1/chat/completions", of_the_account)] * 2 + [("/v1/embeddings", of_the_account)]


@pytest.mark.parametrize(
    ("provider", "variables", "url"),
    [
        ("bedrock", {"AWS_REGION": "us-east-1"}, "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1"),
        ("bedrock", {"AWS_DEFAULT_REGION": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1"),
        (
            "vertex",
            GOOGLE,
            "https://aiplatform.googleapis.com/v1/projects/example.com:p-1/locations/global/endpoints/openapi",
        ),
        (
            "vertex",
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us-east4"},
            "https://us-east4-aiplatform.googleapis.com/v1/projects/p/locations/us-east4/endpoints/openapi",
        ),
    ],
)
def test_the_usual_variables_say_where(
    monkeypatch: pytest.MonkeyPatch, provider: str, variables: dict[str, str], url: str
) -> None:
    set_all(monkeypatch, variables)
    place = place_of(LLMSettings.model_validate({"provider": provider, "model": "m"}))
    assert place is not None
    assert place.url == url
    assert set(signing(provider, place)) == {"provider"}


@pytest.mark.parametrize(
    ("variables", "values", "says"),
    [
        ({}, {"base_url": ""}, "AWS_REGION is not set"),
        ({"AWS_REGION": "a/b"}, {"base_url": ""}, "AWS_REGION is not set to a usable name"),
        (
            GOOGLE | {"GOOGLE_CLOUD_LOCATION": ""},
            {"provider": "vertex", "base_url": ""},
            "GOOGLE_CLOUD_LOCATION is not",
        ),
        (AWS, {"api_key_env": "OTHER"}, "api_key_env names a key, but provider bedrock signs requests"),
        ({"AWS_REGION": "here"}, {}, r"cannot be used by provider bedrock: .*`region` is invalid"),
        ({"AWS_REGION": "eu-west-1"}, {}, r"no request to 127\S+ can be signed \(model openai.m1\); check the cred"),
        (GOOGLE, {"provider": "vertex"}, "can be signed .*; check Google's credentials .*gcloud auth"),
        (AWS, {"headers": {"Authorization": "mine"}}, "can be signed"),
    ],
)
def test_what_is_missing_is_named_and_nothing_is_sent(
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    values: dict[str, object],
    says: str,
) -> None:
    nowhere = dict.fromkeys(("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "GOOGLE_APPLICATION_CREDENTIALS"), "/no")
    set_all(monkeypatch, nowhere | {"AWS_EC2_METADATA_DISABLED": "true"} | variables)
    with pytest.raises(ProviderAccessError, match=says) as raised:
        ask(bedrock(loopback, **values))
    assert (raised.value.__cause__, loopback.requests) == (None, [])


@pytest.mark.parametrize(("provider", "module"), [("bedrock", "botocore.auth"), ("vertex", "google.auth")])
def test_a_library_that_is_missing_is_an_extra(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, provider: str, module: str
) -> None:
    set_all(monkeypatch, AWS)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ProviderAccessError, match="install lightrag-dagster with the extra of its provider"):
        ask(bedrock(loopback, provider=provider))


def test_credentials_that_are_refused_are_named(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, AWS)
    loopback.script.append(Reply(403, {"message": "no"}))
    with pytest.raises(ProviderAccessError, match="check the credentials of AWS"):
        ask(bedrock(loopback))


def test_a_role_with_an_address_of_its_own_is_not_signed(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, AWS)
    ask(bedrock(loopback, roles={"answer": RoleSettings(base_url=loopback.url)}))
    assert [request.headers["authorization"] for request in loopback.requests] == ["Bearer none"] * 2


def test_mantle_is_signed_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK refuses the address of one service with the signature of the other."""
    set_all(monkeypatch, AWS)
    signing("bedrock", Place("https://bedrock-mantle.eu-central-1.api.aws/v1", "its base_url", "", {}))


def test_who_signs_is_no_part_of_a_model(loopback: Loopback) -> None:
    moved = bedrock(loopback)
    assert chat_identity(moved) == chat_identity(moved.model_copy(update={"provider": "openai"}))
    now = vertex(loopback)
    identity = embedder_identity(now)
    assert identity == embedder_identity(now.model_copy(update={"provider": "openai"}))
    built = EmbedderRecord(provider="openai", model="e5", dimensions=8, identity=identity)
    assert settings_of(built, now) == now
    assert settings_of(built, now.model_copy(update={"provider": "local"})).provider == "openai"


def test_a_model_is_named(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, AWS)
    assert "LIGHTRAG_LLM__MODEL (llm.model) is not set" in str(without_model(bedrock(loopback, model="")))


def test_a_model_is_asked_at_once(loopback: Loopback) -> None:
    with pytest.raises(ValidationError, match="mode is batch, which needs provider openai"):
        bedrock(loopback, mode="batch")


def test_a_reasoning_model_of_bedrock_is_known_by_its_name(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, AWS)
    ask(bedrock(loopback, model="us.openai.gpt-6-luna"))
    assert "max_completion_tokens" in loopback.requests[0].body
    assert "temperature" not in loopback.requests[0].body
