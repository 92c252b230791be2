"""The clients against what each provider is known to take and to answer: `tests/recorded/README.md`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tenacity import RetryCallState

from lightrag_dagster.core.protocols import ChatRequest, Message, Usage
from lightrag_dagster.errors import EmbeddingError, ProviderError
from lightrag_dagster.models import openai_chat, openai_client, openai_embeddings
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.models.openai_embeddings import OpenAIEmbedder
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings
from tests.conftest import API_KEY
from tests.loopback import Loopback, Reply

FILES = sorted((Path(__file__).parents[1] / "recorded").glob("*.json"))
RECORDED = [json.loads(file.read_text("utf-8")) for file in FILES]
EXCHANGES = [
    pytest.param(recorded, exchange, id=f"{file.stem}: {exchange['name']}")
    for file, recorded in zip(FILES, RECORDED, strict=True)
    for exchange in recorded["exchanges"]
]
STREAM = {"content-type": "text/event-stream"}
ABOUT_ERRORS = {"error", "says", "again", "asked", "wait"}
QUOTED = 4
"""Words of a server in a row that no message repeats."""


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the client would wait before it tries again; it does not."""
    usual, asked = openai_client._wait, []

    def wait(state: RetryCallState) -> float:
        asked.append(usual(state))
        return 0.0

    monkeypatch.setattr(openai_client, "_wait", wait)
    monkeypatch.setattr(openai_embeddings, "_encodings", {})
    monkeypatch.setattr(openai_chat._marks, "known", {})
    monkeypatch.setattr(openai_chat._schemas, "known", {})
    monkeypatch.setattr(openai_chat, "_probed", set())
    monkeypatch.setattr(EmbeddingSettings, "max_retries", 1)
    return asked


@pytest.mark.parametrize(("recorded", "exchange"), EXCHANGES)
def test_a_provider_is_asked_and_understood(
    loopback: Loopback,
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
    recorded: dict[str, Any],
    exchange: dict[str, Any],
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", loopback.url.replace("/v1", recorded["base"]))
    body, means = request_of(recorded, exchange["request"]), exchange["means"]
    for reply in replies(exchange["reply"]):
        loopback.requests.clear()
        loopback.fault = lambda received, reply=reply: reply  # type: ignore[misc]
        others = exchange.get("then", [])
        loopback.script.extend([reply] * bool(others) + [one for other in others for one in replies(other["reply"])])
        heard: dict[str, Any] = {}
        error = asyncio.run(ask(body, heard))
        assert loopback.requests[0].path == recorded["base"] + (
            "/embeddings" if "input" in body else "/chat/completions"
        )
        asked = [body, *(request_of(recorded, other["request"]) for other in others)]
        assert [received.body for received in loopback.requests[: len(asked)]] == asked
        assert set(body) <= set(recorded["takes"])
        understood = {name: means[name] for name in means if name not in ABOUT_ERRORS}
        assert {name: heard.get(name) for name in understood} == understood
        assert type(error).__name__ == means.get("error", "NoneType"), error
        assert len(loopback.requests) == means.get("asked", 2 if means.get("again") else 1)
        if error:
            check_message(str(error), means["says"], loopback.host, body["model"], exchange["reply"])
    if means.get("again"):
        assert means.get("wait", 0.5) <= waits[0] <= means.get("wait", 0.5) + 0.5


def request_of(recorded: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the body that is sent: all but those for vectors add to the plain one."""
    requests = recorded["requests"]
    body: dict[str, Any] = requests[name] if "input" in requests[name] else requests["plain"] | requests[name]
    return body


def replies(reply: dict[str, Any]) -> list[Reply]:
    """Return the reply; a stream once in its pieces, and once as a network may cut them."""
    if "stream" not in reply:
        return [Reply(reply["status"], reply["body"], reply.get("headers", {}))]
    pieces = [piece if isinstance(piece, str) else f"data: {json.dumps(piece)}" for piece in reply["stream"]]
    sent = tuple(f"{piece}\n\n".encode() for piece in pieces)
    whole = b"".join(sent)
    cut = tuple(whole[at : at + 61] for at in range(0, len(whole), 61))
    return [Reply(reply["status"], parts, STREAM) for parts in (sent, cut)]


async def ask(body: dict[str, Any], heard: dict[str, Any]) -> Exception | None:
    """Ask for what the body of a request asks; put what was understood into `heard`, and return the error."""
    if "input" in body:
        return await embed(body, heard)
    limit = body.get("max_tokens") or body["max_completion_tokens"]
    model = OpenAIChatModel(LLMSettings(provider="openai", model=body["model"], max_output_tokens=limit, max_retries=1))
    answers = body.get("response_format", {})
    request = ChatRequest(
        "extract",
        tuple(Message(**message) for message in body["messages"]),
        json_answer=bool(answers),
        answer_schema=answers.get("json_schema", {}).get("schema"),
    )
    try:
        if body.get("stream"):
            heard["pieces"] = []
            async for piece in model.stream(request):
                heard["pieces"].append(piece)
        else:
            heard |= {name: value for name, value in vars(await model.complete(request)).items() if name != "cost_usd"}
    except ProviderError as error:
        return error
    finally:
        await model.close()
    return None


async def embed(body: dict[str, Any], heard: dict[str, Any]) -> Exception | None:
    usage = Usage()
    embedder = OpenAIEmbedder(EmbeddingSettings(provider="openai", model=body["model"], dimensions=2), usage)
    try:
        vectors = await embedder.embed_queries(body["input"])
    except (ProviderError, EmbeddingError) as error:
        return error
    finally:
        await embedder.close()
    heard |= {"vectors": vectors.astype(float).round(6).tolist(), "input_tokens": usage.input_tokens}
    return None


def check_message(message: str, says: str, host: str, model: str, reply: dict[str, Any]) -> None:
    """A message names host, model and the next step, and neither the key nor words of the server."""
    assert says in message
    assert host in message
    assert model in message
    assert API_KEY not in message
    words = json.dumps(reply).split()
    assert not [at for at in range(len(words) - QUOTED + 1) if " ".join(words[at : at + QUOTED]) in message]


def test_every_provider_has_the_exchanges_that_matter() -> None:
    assert len(RECORDED) == 10
    for recorded in RECORDED:
        asked = [exchange["request"] for exchange in recorded["exchanges"]]
        assert {"plain", "structured", "stream", "vectors"} <= set(asked)
        assert all(exchange["source"] for exchange in recorded["exchanges"])
        assert {exchange["reply"]["status"] for exchange in recorded["exchanges"]} >= {200, 400}
