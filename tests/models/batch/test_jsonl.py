import json
from typing import Any

import pytest

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.errors import (
    OutputLimitError,
    PermanentProviderError,
    ProviderAccessError,
    ProviderError,
    TransientProviderError,
)
from lightrag_dagster.models.batch.jsonl import RequestOutcome, read_line, request_line
from lightrag_dagster.models.openai_errors import FailedCallError, Target

TARGET = Target("LIGHTRAG_LLM__", "m", "host", 1.0)


def line(response: Any = None, error: Any = None, key: Any = "k") -> bytes:
    return json.dumps({"id": "1", "custom_id": key, "response": response, "error": error}).encode()


def completion(text: str | None, finish_reason: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}
    return {"choices": [{"index": 0, "finish_reason": finish_reason, "message": message}], "usage": usage}


def reply(status: int, body: Any) -> dict[str, Any]:
    return {"status_code": status, "request_id": "r", "body": body}


def refusal(status: int, code: str | None) -> bytes:
    return line(reply(status, {"error": {"code": code, "type": code, "message": "sk-SECRET", "param": None}}))


def test_an_answer_is_read_with_its_tokens() -> None:
    expected = RequestOutcome("k", ChatResponse("Hello", "length", 7, 3, 2))
    assert read_line(line(reply(200, completion("Hello", "length"))), TARGET) == expected


@pytest.mark.parametrize(
    ("given", "kind", "again"),
    [
        (refusal(429, None), TransientProviderError, True),
        (refusal(500, "server_error"), TransientProviderError, True),
        (refusal(400, "content_filter"), PermanentProviderError, False),
        (refusal(400, "context_length_exceeded"), PermanentProviderError, False),
        (refusal(429, "insufficient_quota"), ProviderAccessError, False),
        (refusal(404, "model_not_found"), ProviderAccessError, False),
        (line(reply(500, "<html>")), TransientProviderError, True),
        (line(reply(200, completion(""))), TransientProviderError, True),
        (line(reply(200, completion(None, "length"))), OutputLimitError, False),
        (line(reply(200, completion(None, "content_filter"))), PermanentProviderError, False),
        (line(reply(200, {"choices": []})), TransientProviderError, True),
        (line(reply(200, "Hello")), TransientProviderError, True),
        (line(None, {"code": "batch_expired", "message": "sk-SECRET"}), TransientProviderError, True),
        (line(None, "sk-SECRET"), TransientProviderError, True),
        (line("Hello"), TransientProviderError, True),
        (line(), TransientProviderError, True),
    ],
)
def test_a_failure_is_one_of_ours_in_our_words(given: bytes, kind: type[ProviderError], again: bool) -> None:
    result = read_line(given, TARGET)
    assert result is not None
    assert isinstance(result.outcome, FailedCallError)
    assert type(result.outcome.error) is kind
    assert result.outcome.retry is again
    assert "SECRET" not in str(result.outcome.error)


@pytest.mark.parametrize(
    "given", [b"", b"\n", b"garbage", b"\xff\xfe", b"[1]", b"{}", b"null", line(key=None), line(key=["k"])]
)
def test_what_says_nothing_is_left_out(given: bytes) -> None:
    assert read_line(given, TARGET) is None


def test_a_request_is_what_the_provider_expects() -> None:
    written = request_line("k1", "/v1/chat/completions", {"model": 'a "b"'})
    assert json.loads(written) == {
        "custom_id": "k1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": 'a "b"'},
    }
