import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightrag_dagster.core.attempts import bill
from lightrag_dagster.core.identity import embedding_key
from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse, Message, Usage, Vectors
from lightrag_dagster.errors import PermanentProviderError, StoreError, TransientProviderError
from lightrag_dagster.models.cached import StoredChatModel, StoredEmbedder
from lightrag_dagster.spending.prices import Price
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from tests.models.models import HashEmbedder, ScriptedChatModel


def request(text: str = "Hi", **more: Any) -> ChatRequest:
    return ChatRequest("extract", (Message("user", text),), **more)


@pytest.fixture
def responses(tmp_path: Path) -> Iterator[ResponseStore]:
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        yield store


@pytest.fixture
def vectors(tmp_path: Path) -> Iterator[VectorStore]:
    with VectorStore(tmp_path / "vectors.sqlite") as store:
        yield store


def test_an_answer_is_bought_once_and_the_same_from_the_store(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda asked: ChatResponse("Hello", "length", 7, 5, 3, 0.5))
    answers, usages = [], []
    for _ in range(2):
        with ResponseStore(tmp_path / "responses.sqlite") as store:
            stored = StoredChatModel(model, store, Usage())
            answers.append(asyncio.run(stored.complete(request())))
            usages.append(stored.usage)
    assert answers == [ChatResponse("Hello", "length", 7, 5, 3, 0.5)] * 2
    assert len(model.requests) == 1
    assert usages == [Usage(1, 0, 7, 3, 5, 0.5), Usage(0, 1)]


def test_an_answer_is_durable_before_it_is_used(tmp_path: Path) -> None:
    """A second connection, as after a kill, sees it as soon as `complete` has returned."""
    path = tmp_path / "responses.sqlite"
    with ResponseStore(path) as store, ResponseStore(path) as other:
        first = StoredChatModel(ScriptedChatModel(lambda asked: "Hello"), store, Usage())
        asyncio.run(first.complete(request()))
        never = ScriptedChatModel(lambda asked: pytest.fail("asked again"))
        assert asyncio.run(StoredChatModel(never, other, Usage()).complete(request())).text == "Hello"


@pytest.mark.parametrize(
    ("identity", "asked"),
    [
        ("other", request()),
        ("one", request("Hi ")),
        ("one", request(max_output_tokens=5)),
        ("one", request(attempt=1)),
        ("one", request(language="de")),
        ("one", ChatRequest("answer", (Message("user", "Hi"),))),
        ("one", ChatRequest("extract", (Message("system", "Hi"),))),
        ("one", ChatRequest("extract", (Message("user", "Hi"), Message("user", "")))),
    ],
)
def test_all_that_shapes_an_answer_is_in_its_key(responses: ResponseStore, identity: str, asked: ChatRequest) -> None:
    first = StoredChatModel(ScriptedChatModel(lambda asked: "first", identity="one"), responses, Usage())
    second = StoredChatModel(ScriptedChatModel(lambda asked: "second", identity=identity), responses, Usage())
    asyncio.run(first.complete(request()))
    assert asyncio.run(second.complete(asked)).text == "second"


def test_identical_calls_in_flight_are_made_once(responses: ResponseStore) -> None:
    model = ScriptedChatModel(lambda asked: asked.messages[0].content.upper(), delay=0.02)
    stored = StoredChatModel(model, responses, Usage())

    async def run() -> list[ChatResponse]:
        return await asyncio.gather(*(stored.complete(request(text)) for text in "aabbba"))

    assert [answer.text for answer in asyncio.run(run())] == list("AABBBA")
    assert sorted(asked.messages[0].content for asked in model.requests) == ["a", "b"]
    assert (stored.usage.calls, stored.usage.stored) == (2, 4)


def test_who_waited_for_a_call_that_was_cancelled_makes_it(responses: ResponseStore) -> None:
    stored = StoredChatModel(ScriptedChatModel(lambda asked: "Hello", delay=0.02), responses, Usage())

    async def run() -> str:
        first = asyncio.create_task(stored.complete(request()))
        second = asyncio.create_task(stored.complete(request()))
        await asyncio.sleep(0.005)
        first.cancel()
        return (await second).text

    assert asyncio.run(run()) == "Hello"


@pytest.mark.parametrize(("sent", "cost"), [(1, 0.5), (0, 0.0)])
def test_a_call_given_up_costs_the_most_that_it_can_if_it_was_sent(
    responses: ResponseStore, sent: int, cost: float
) -> None:
    def give_up(asked: ChatRequest) -> str:
        for _ in range(sent):
            bill(None)
        raise asyncio.CancelledError

    price = Price(input=0.0, cached_input=0.0, output=50_000.0)  # for a million tokens
    stored = StoredChatModel(ScriptedChatModel(give_up), responses, Usage(), price=price, max_output_tokens=10)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stored.complete(request()))
    assert stored.usage.calls == sent
    assert stored.usage.cost_usd == pytest.approx(cost)


@pytest.mark.parametrize("answered", [True, False])
def test_attempts_without_an_answer_are_paid_for(responses: ResponseStore, answered: bool) -> None:
    def answer(asked: ChatRequest) -> str:
        bill(ChatResponse("", "", input_tokens=100, output_tokens=20))
        bill(None)
        if not answered:
            raise TransientProviderError("later")
        return "Hello"

    price = Price(input=0.0, cached_input=0.0, output=50_000.0)
    stored = StoredChatModel(ScriptedChatModel(answer), responses, Usage(), price=price, max_output_tokens=10)
    if answered:
        assert asyncio.run(stored.complete(request())).text == "Hello"
    else:
        with pytest.raises(TransientProviderError):
            asyncio.run(stored.complete(request()))
    assert stored.usage.calls == 2 + answered
    assert stored.usage.output_tokens == 20 + 3 * answered
    assert stored.usage.cost_usd == pytest.approx(1.0 + 0.5 + 0.25 * answered)


def test_vectors_that_were_given_up_are_paid_for(vectors: VectorStore) -> None:
    class Slow(HashEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Vectors:
            bill(None)
            raise TransientProviderError("later")

    stored = StoredEmbedder(Slow(), vectors, Usage(), price=Price(input=1e6, cached_input=1e6, output=0.0))
    with pytest.raises(TransientProviderError):
        asyncio.run(stored.embed_documents(["text"]))
    assert stored.usage.calls == 1
    assert stored.usage.cost_usd == pytest.approx(4.0)


def test_failures_are_not_stored(responses: ResponseStore) -> None:
    outcomes: list[str | Exception] = [PermanentProviderError("no"), TransientProviderError("later"), " \n", "Hello"]

    def answer(asked: ChatRequest) -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    stored = StoredChatModel(ScriptedChatModel(answer), responses, Usage())
    for kind in (PermanentProviderError, TransientProviderError, TransientProviderError):
        with pytest.raises(kind):
            asyncio.run(stored.complete(request()))
    assert asyncio.run(stored.complete(request())).text == "Hello"
    assert stored.usage.calls == 1


def test_only_texts_without_a_vector_are_embedded(vectors: VectorStore) -> None:
    embedder = HashEmbedder()
    stored = StoredEmbedder(embedder, vectors, Usage())
    expected = asyncio.run(HashEmbedder().embed_documents(["b", "a", "b", "c"]))
    asyncio.run(stored.embed_documents(["a"]))
    np.testing.assert_array_equal(asyncio.run(stored.embed_documents(["b", "a", "b", "c"])), expected)
    assert sorted(chain(*embedder.batches)) == ["a", "b", "c"]
    assert (stored.usage.calls, stored.usage.stored) == (2, 1)
    assert asyncio.run(stored.embed_documents([])).shape == (0, 4)


def test_vectors_are_kept_under_the_embedding_key(vectors: VectorStore) -> None:
    stored = StoredEmbedder(HashEmbedder(), vectors, Usage())
    made = asyncio.run(stored.embed_documents(["text"]))
    key = embedding_key(stored.identity, "text")
    np.testing.assert_array_equal(vectors.get_many([key])[key], made[0])


def test_batches_in_flight_share_what_they_have_in_common(vectors: VectorStore) -> None:
    embedder = HashEmbedder()
    stored = StoredEmbedder(embedder, vectors, Usage())

    async def run() -> None:
        await asyncio.gather(*(stored.embed_documents(list(texts)) for texts in ("abc", "cba", "cde", "ea", "ae")))

    asyncio.run(asyncio.wait_for(run(), 5))
    assert sorted(chain(*embedder.batches)) == list("abcde")


def test_questions_are_stored_by_corpus_state_and_apart_from_documents(vectors: VectorStore) -> None:
    embedder = HashEmbedder()
    stored = StoredEmbedder(embedder, vectors, Usage())
    one, two = stored.corpus_state(["x"]), stored.corpus_state(["x", "y"])
    for _ in range(2):
        for state in (None, one, two):
            expected = asyncio.run(HashEmbedder().embed_queries(["q"], state))
            np.testing.assert_array_equal(asyncio.run(stored.embed_queries(["q"], state)), expected)
    asyncio.run(stored.embed_documents(["q"]))
    assert len(embedder.batches) == 4


def test_a_stored_vector_of_another_length_is_not_used(vectors: VectorStore) -> None:
    stored = StoredEmbedder(HashEmbedder(4), vectors, Usage())
    vectors.put_many({embedding_key(stored.identity, "a"): np.ones(3, dtype=np.float32)})
    with pytest.raises(StoreError, match="move it away"):
        asyncio.run(stored.embed_documents(["a"]))


def test_the_wrapper_is_a_model_itself(responses: ResponseStore) -> None:
    model: ChatModel = StoredChatModel(ScriptedChatModel(lambda asked: "Hello", identity="one"), responses, Usage())
    assert model.identity == "one"


def test_the_zero_vector_of_a_refused_text_is_not_stored(vectors: VectorStore) -> None:
    class Refusing(HashEmbedder):
        def _vector(self, text: str) -> Vectors:
            return super()._vector(text) * (text != "refused")

    behind = Refusing()
    for _ in range(2):
        found = asyncio.run(StoredEmbedder(behind, vectors, Usage()).embed_documents(["a", "refused"]))
        assert found.any(axis=1).tolist() == [True, False]
    assert behind.batches[1:] == [["refused"]]


def test_what_a_vector_leaves_out_is_stored_with_it_and_counted_of_others(vectors: VectorStore) -> None:
    asked = list[str]()

    class Short(HashEmbedder):
        async def unread(self, texts: Sequence[str]) -> list[int]:
            asked.extend(texts)
            return [max(0, len(text) - 3) for text in texts]

    stored = StoredEmbedder(Short(), vectors, Usage())
    asyncio.run(stored.embed_documents(["short", "abc"]))
    asked.clear()
    vectors.put_many({embedding_key(stored.identity, "of another program"): np.ones(4, dtype=np.float32)})
    assert asyncio.run(stored.unread(["abc", "of another program", "short", "short"])) == [0, 15, 2, 2]
    assert asked == ["of another program"]
