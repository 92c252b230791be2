"""The responses and vectors that both systems get, and the server that counts them."""

import base64
import itertools

import httpx2
import numpy as np
import pytest

from benchmarks.bench.corpus import edited, passage
from benchmarks.bench.embedding import embed
from benchmarks.bench.responses import COMPLETE, Messages, Responses, UnknownRequestError, rows, summary
from benchmarks.bench.server import serving

PASSAGE = passage(0)
RESPONSES = Responses([PASSAGE, edited(0)])


def request(*messages: str) -> Messages:
    return [
        {"role": role, "content": text}
        for role, text in zip(itertools.cycle(("user", "assistant")), messages, strict=False)
    ]


@pytest.mark.parametrize(
    "asked",
    [
        f"Record what the passage says.\n\n```text\n{PASSAGE.text}\n```",
        f"Input\n```\n{PASSAGE.text}\n```\n\nOutput\n",
        f"Example\n```\nentity\n```\nInput\n```\n{' '.join(PASSAGE.text.split())}\n```",
    ],
)
def test_a_passage_in_the_last_fence_is_answered_by_its_extraction(asked: str) -> None:
    assert RESPONSES.answer(request(asked)) == ("extract", rows(PASSAGE))


def test_an_edited_passage_has_an_extraction_of_its_own() -> None:
    _, answer = RESPONSES.answer(request(f"```\n{edited(0).text}\n```"))
    assert answer == rows(edited(0)) != rows(PASSAGE)


def test_nothing_is_missing_from_a_first_answer() -> None:
    first = f"```\n{PASSAGE.text}\n```"
    assert RESPONSES.answer(request(first, rows(PASSAGE), "And what else?")) == ("glean", COMPLETE)


def test_a_summary_is_the_same_whatever_the_order_of_descriptions() -> None:
    lines = '{"Description": "B is old. A is B."}\n{"Description": "A is B."}'
    assert RESPONSES.answer(request(f"Merge:\n```json\n{lines}\n```")) == ("summarise", "A is B.. B is old")
    assert len(summary(f"{number} is a number." for number in range(1000))) < 2000


def test_a_request_about_anything_else_is_an_error() -> None:
    with pytest.raises(UnknownRequestError, match="no response to a request that ends in 'Hello"):
        RESPONSES.answer(request("Hello"))


@pytest.mark.parametrize("number", [0, 47, 300, 592, 600])
def test_rows_have_the_fields_that_prompts_ask_for(number: int) -> None:
    *records, end = rows(passage(number)).splitlines()
    fields = [record.split("<|#|>") for record in records]
    entities = {field[1] for field in fields if field[0] == "entity"}
    assert end == "<|COMPLETE|>"
    assert {(field[0], len(field)) for field in fields} == {("entity", 4), ("relation", 5)}
    assert all(all(field) for field in fields)
    assert all({field[1], field[2]} <= entities for field in fields if field[0] == "relation")


def test_texts_that_share_words_are_more_similar() -> None:
    texts = ("The Danube in Vienna", "Vienna on the Danube", "A Brazilian poem")
    near, other, far = (embed(text, 384) for text in texts)
    assert np.array_equal(near, embed("The Danube in Vienna", 384))
    assert np.linalg.norm(near) == pytest.approx(1)
    assert near @ other > 0.8 > 0.5 > near @ far > 0.2


@pytest.mark.long
def test_the_server_answers_and_counts_since_it_was_asked_last() -> None:
    with serving(1, dimensions=8) as server, httpx2.Client(base_url=server.url, trust_env=False) as client:
        chat = {"model": "any", "messages": [{"role": "user", "content": f"```\n{PASSAGE.text}\n```"}]}
        answered = client.post("/chat/completions", json=chat).json()
        texts = {"model": "any", "input": ["one text", "another text"], "encoding_format": "base64"}
        embedded = client.post("/embeddings", json=texts).json()
        refused = client.post("/chat/completions", json=chat | {"messages": [{"role": "user", "content": "Hello"}]})
        counts, since = server.counts(), server.counts()
    assert answered["choices"][0]["message"]["content"] == rows(PASSAGE)
    vectors = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4") for one in embedded["data"]]
    assert np.array_equal(vectors, [embed("one text", 8), embed("another text", 8)])
    assert refused.status_code == 400
    assert counts["extract"] == counts["embed"] == 1
    assert counts["texts"] == 2
    assert counts["input_tokens"] == answered["usage"]["prompt_tokens"] > 50
    assert counts["embedded_tokens"] == embedded["usage"]["prompt_tokens"] == 4
    assert not any(since.values())
