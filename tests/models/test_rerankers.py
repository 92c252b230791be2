import asyncio
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError, SettingsError, TransientProviderError
from lightrag_dagster.evaluation.evaluation import evaluate
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.retrieving import reranks
from lightrag_dagster.models import rerankers
from lightrag_dagster.models.rerankers import open_reranker
from lightrag_dagster.settings import RerankSettings, load_settings
from tests.loopback import Loopback, unused_port

TEXTS = ("a gauge", "Station 14 in the flood", "an office")


class Endpoint:
    """Scores a text by the words it shares with the question."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[tuple[dict[str, Any], str | None]] = []
        self.replies: list[Response] = []

    async def rerank(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.received.append((body, request.headers.get("authorization")))
        if self.replies:
            return self.replies.pop(0)
        asked = set(body["query"].split())
        scores = [len(asked & set(text.split())) / 10 for text in body["documents"]]
        best = sorted(range(len(scores)), key=lambda index: -scores[index])[: body["top_n"]]
        return JSONResponse({"results": [{"index": index, "relevance_score": scores[index]} for index in best]})


@pytest.fixture
def endpoint(loopback: Loopback) -> Iterator[Endpoint]:
    made = Endpoint(loopback.url)
    route = Route("/v1/rerank", made.rerank, methods=["POST"])
    loopback.application.router.routes.append(route)
    yield made
    loopback.application.router.routes.remove(route)


def rerank(settings: RerankSettings, limit: int = 2) -> list[tuple[int, float]]:
    async def ask() -> list[tuple[int, float]]:
        async with open_reranker(settings) as reranker:
            return await reranker.rerank("Who closed Station 14 in the flood", TEXTS, limit)

    return asyncio.run(ask())


def of(endpoint: Endpoint, provider: str = "http") -> RerankSettings:
    return RerankSettings.model_validate({"provider": provider, "model": "rerank-1", "base_url": endpoint.url})


@pytest.mark.parametrize(
    ("provider", "variable"), [("cohere", "COHERE_API_KEY"), ("jina", "JINA_API_KEY"), ("http", "RERANK_API_KEY")]
)
def test_an_endpoint(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, provider: str, variable: str) -> None:
    monkeypatch.setenv(variable, "secret-key")
    settings = of(endpoint, provider)
    usual = settings if provider == "http" else settings.model_copy(update={"api_key_env": variable})
    assert rerank(usual) == [(1, 0.5), (0, 0.0)]
    body, authorization = endpoint.received[0]
    assert body == {
        "model": "rerank-1",
        "query": "Who closed Station 14 in the flood",
        "documents": list(TEXTS),
        "top_n": 2,
    }
    assert authorization == "Bearer secret-key"


@pytest.mark.parametrize("provider", ["cohere", "jina", "http"])
def test_no_key_no_header(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv("COHERE_API_KEY", "a key for the usual address alone")
    rerank(of(endpoint, provider))
    assert endpoint.received[0][1] is None


def test_what_may_pass_is_tried_again(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerankers, "_ATTEMPTS", 2)
    endpoint.replies = [JSONResponse({}, 503)]
    assert len(rerank(of(endpoint))) == 2
    endpoint.replies = [JSONResponse({}, 503), JSONResponse({}, 429)]
    with pytest.raises(TransientProviderError, match="429"):
        rerank(of(endpoint))


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (JSONResponse({"message": "bad key secret-key"}, 401), ProviderAccessError),
        (JSONResponse({"results": "none"}), PermanentProviderError),
        (JSONResponse({"results": [{"index": 9, "relevance_score": 1.0}]}), PermanentProviderError),
        (JSONResponse({"message": "no"}, 404), PermanentProviderError),
        (JSONResponse({"message": "no"}, 307), PermanentProviderError),
        (JSONResponse({"results": []}), PermanentProviderError),
        (JSONResponse({"results": [{"index": 1, "relevance_score": 1.0}] * 2}), PermanentProviderError),
        (Response(b"[" * 200_000), PermanentProviderError),
        (Response(b'{"results": [{"index": 0, "relevance_score": ' + b"1" * 10_000 + b"}]}"), PermanentProviderError),
        (Response(b'{"results": [{"index": 0, "relevance_score": NaN}]}'), PermanentProviderError),
        (Response(b'{"results": [{"index": -1, "relevance_score": 1}]}'), PermanentProviderError),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_what_will_not_pass(endpoint: Endpoint, reply: Response, error: type[Exception]) -> None:
    endpoint.replies = [reply]
    with pytest.raises(error) as raised:
        rerank(of(endpoint))
    assert "secret" not in str(raised.value)
    assert len(endpoint.received) == 1


def test_where_no_variable_has_the_key_a_refusal_names_the_setting(endpoint: Endpoint) -> None:
    endpoint.replies = [JSONResponse({}, 401)]
    with pytest.raises(ProviderAccessError, match=r"refuses the key; set rerank\.api_key_env$"):
        rerank(RerankSettings(provider="cohere", base_url=endpoint.url, model="m"))


def test_credit_that_is_used_up_is_named(endpoint: Endpoint) -> None:
    endpoint.replies = [JSONResponse({}, 402)]
    with pytest.raises(ProviderAccessError, match=r"^the credit of reranker \S+ at 127\.0\.0\.1 is used up; add some$"):
        rerank(of(endpoint))


def test_an_endpoint_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerankers, "_ATTEMPTS", 1)
    settings = RerankSettings(provider="http", base_url=f"http://127.0.0.1:{unused_port()}")
    with pytest.raises(TransientProviderError, match=r"check rerank\.base_url"):
        rerank(settings)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"rerank\.base_url is not set"):
        rerank(RerankSettings(provider="http"))
    with pytest.raises(ProviderAccessError, match=r"rerank\.base_url is not a usable URL"):
        rerank(RerankSettings(provider="http", base_url="http://localhost:port"))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(SettingsError, match=r"pip install lightrag-dagster\[rerank\]"):
        rerank(RerankSettings(provider="local", model="any"))


class CrossEncoder:
    """Replaces that of sentence-transformers: scores a pair by the words it shares."""

    def __init__(self, model: str) -> None:
        if model == "unknown":
            raise OSError("no such model")
        self.model = model

    def predict(self, pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
        if self.model == "half":  # half precision, which overflows
            return np.full(len(pairs), np.nan)
        if self.model == "labels":  # as of natural language inference
            return np.zeros((len(pairs), 3))
        if self.model == "large":
            raise RuntimeError("CUDA out of memory")
        return np.array([len(set(query.split()) & set(text.split())) for query, text in pairs])


def test_a_cross_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("sentence_transformers")
    package.CrossEncoder = CrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    assert rerank(RerankSettings(provider="local", model="any")) == [(1, 5), (0, 0)]
    for model, error in {"unknown": "no such model", "labels": "TypeError", "large": "out of memory"}.items():
        with pytest.raises(PermanentProviderError, match=rf"rerank\.model cannot be loaded or used .*{error}"):
            rerank(RerankSettings(provider="local", model=model))
    with pytest.raises(PermanentProviderError, match=r"reranker half .* gave no numbers"):
        rerank(RerankSettings(provider="local", model="half"))


@pytest.fixture
def knowledge(published_home: Path, endpoint: Endpoint) -> Iterator[KnowledgeBase]:
    settings = load_settings(home=published_home, rerank=of(endpoint))
    with KnowledgeBase.open(settings=settings) as opened:
        yield opened


def test_chunks_come_in_the_order_of_the_reranker(knowledge: KnowledgeBase, endpoint: Endpoint) -> None:
    question = "What opened in Bergen? The office"
    options: Any = {"mode": "naive", "cosine_threshold": -1}
    found = knowledge.retrieve(question, **options)
    scores = [chunk.rerank_score for chunk in found.chunks if chunk.rerank_score is not None]
    assert len(scores) == len(found.chunks)
    assert scores == sorted(scores, reverse=True)
    assert found.chunks[0].path == "bergen/notes.txt"
    (step,) = [step for step in found.steps if step.name == "rerank"]
    assert step.notes["kept"] == len(found.chunks)
    few = knowledge.retrieve(question, **options, min_rerank_score=0.2)
    assert 0 < len(few.chunks) < len(found.chunks)
    plain = knowledge.retrieve(question, **options, rerank=False)
    assert all(chunk.rerank_score is None for chunk in plain.chunks)
    assert len(endpoint.received) == 2


def test_chunks_stay_whose_scores_are_logits(knowledge: KnowledgeBase, endpoint: Endpoint) -> None:
    options: Any = {"mode": "naive", "cosine_threshold": -1}
    question = "What opened in Bergen?"
    plain = knowledge.retrieve(question, **options, rerank=False)
    scores = [{"index": index, "relevance_score": -0.5 - index} for index in range(len(plain.chunks))]
    endpoint.replies = [JSONResponse({"results": scores}), JSONResponse({"results": scores})]
    found = knowledge.retrieve(question, **options)
    assert [chunk.chunk_id for chunk in found.chunks] == [chunk.chunk_id for chunk in plain.chunks]
    assert found.chunks[0].rerank_score == -0.5
    assert knowledge.retrieve(question, **options, min_rerank_score=0).chunks == ()


@pytest.mark.parametrize("reply", [{}, {"results": []}, {"results": [{"index": 1, "relevance_score": 1.0}]}])
def test_a_failing_reranker_changes_nothing(
    knowledge: KnowledgeBase, endpoint: Endpoint, reply: dict[str, object]
) -> None:
    endpoint.replies = [JSONResponse(reply, 200 if reply else 404)]
    found = knowledge.retrieve("What opened in Bergen?", mode="naive")
    assert found == knowledge.retrieve("What opened in Bergen?", mode="naive", rerank=False)
    assert any("error" in step.notes for step in found.steps)


@pytest.mark.parametrize(
    ("provider", "asked"),
    [("none", True), ("local", True), ("http", True), ("cohere", False), ("jina", False), ("chat", False)],
)
def test_an_evaluation_reranks_by_what_is_not_sold_by_the_call(provider: str, asked: bool) -> None:
    assert reranks(load_settings(rerank={"provider": provider})) is asked


@pytest.mark.parametrize("provider", ["cohere", "jina"])
def test_an_evaluation_asks_no_endpoint_to_rerank(
    published_home: Path, loopback: Loopback, endpoint: Endpoint, provider: str, tmp_path: Path
) -> None:
    """Eight modes of each question were billed at each new snapshot, and no budget counted them."""
    loopback.chat = lambda body: "Marta Lindqvist"
    home, llm = shutil.copytree(published_home, tmp_path / "home"), {"provider": "openai", "model": "gpt-4o-mini"}
    question = FiledQuestion(question="Who leads the office in Bergen?", documents=["office/bergen/notes.txt"])
    settings = load_settings(home=home, llm=llm, rerank=of(endpoint, provider), query={"mode": "naive"})
    with KnowledgeBase.open(settings=settings) as knowledge:
        (row,) = evaluate(knowledge, [question], ["naive"]).to_pylist()
        assert row["answer"] == "Marta Lindqvist"
        assert endpoint.received == []
        assert knowledge.retrieve(question.question).chunks
    assert len(endpoint.received) == 1, "a question is reranked"


def test_a_key_of_another_name_and_a_full_address(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "other-key")
    values = {"base_url": endpoint.url + "/rerank", "api_key_env": "GATEWAY_KEY"}
    rerank(of(endpoint).model_copy(update=values))
    assert endpoint.received[0][1] == "Bearer other-key"
