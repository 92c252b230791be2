"""The lines of request files and of the provider's result files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.errors import TransientProviderError
from lightrag_dagster.models.openai_answers import ANY, MALFORMED, Most, chat_response
from lightrag_dagster.models.openai_errors import FailedCallError, Target, explain_told

_REASONS = {"expired": "it was still waiting when the batch expired", "cancelled": "the batch was cancelled"}


class RequestOutcome(NamedTuple):
    """The answer to the request with this key, or the failure."""

    key: str
    outcome: ChatResponse | FailedCallError


def request_line(key: str, endpoint: str, body: dict[str, Any]) -> bytes:
    """Return the line of a request, which is submitted under its response key."""
    return json.dumps({"custom_id": key, "method": "POST", "url": endpoint, "body": body}).encode() + b"\n"


def read_results(path: Path, target: Target, most: Most = ANY) -> Iterator[RequestOutcome]:
    """Yield the outcomes in a result file, with at most `most` tokens; unusable lines are skipped."""
    with path.open("rb") as lines:
        yield from filter(None, (read_line(line, target, most) for line in lines))


def read_line(line: bytes, target: Target, most: Most = ANY) -> RequestOutcome | None:
    """Return the outcome in a line of an output or error file, or None when the line is unusable."""
    try:
        parsed = json.loads(line)
        key = parsed["custom_id"]
        response = parsed.get("response")
        error = parsed.get("error")
    except MALFORMED:
        return None
    # Every key of ours is of hexadecimal digits; a database may refuse others.
    ours = isinstance(key, str) and key.isascii() and key.isalnum()
    return RequestOutcome(key, _outcome(response, error, target, most)) if ours else None


def unanswered(target: Target, status: str | None) -> FailedCallError:
    """Return the failure of a request that a batch with this status left without an answer."""
    why = _REASONS.get(status or "", "no reason is given")
    message = f"a batch at {target.host} left the request unanswered (model {target.model}): {why}; run again"
    return FailedCallError(TransientProviderError(message), retry=True)


def _outcome(response: Any, error: Any, target: Target, most: Most) -> ChatResponse | FailedCallError:
    body = response.get("body") if isinstance(response, dict) else None
    status = response.get("status_code") if isinstance(response, dict) else None
    if status == 200 and isinstance(body, dict):
        try:
            return chat_response(body, target, most)
        except FailedCallError as failed:
            return failed
    if isinstance(status, int) and 400 <= status < 600:
        return explain_told(status, body.get("error") if isinstance(body, dict) else None, target)
    expired = isinstance(error, dict) and error.get("code") == "batch_expired"
    return unanswered(target, "expired" if expired else None)
