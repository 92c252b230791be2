"""The lines of a batch's output and error files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import openai
from openai.types.chat import ChatCompletion

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.errors import TransientProviderError
from lightrag_dagster.models.openai_chat import read_completion
from lightrag_dagster.models.openai_errors import FailedCallError, Target, explain


class Result(NamedTuple):
    """What a line says of the request with this key: an answer, or why there is none."""

    key: str
    outcome: ChatResponse | FailedCallError


def read_results(path: Path, target: Target) -> Iterator[Result]:
    """Read a file line by line; what cannot be used of it is left out."""
    with path.open("rb") as lines:
        for line in lines:
            if (result := read_line(line, target)) is not None:
                yield result


def read_line(line: bytes, target: Target) -> Result | None:
    """Read one line of either file; None when it says nothing that can be used."""
    try:
        parsed = json.loads(line)
        key, response, error = parsed["custom_id"], parsed.get("response"), parsed.get("error")
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    if not isinstance(key, str):
        return None
    return Result(key, _outcome(response, error, target))


def _outcome(response: Any, error: Any, target: Target) -> ChatResponse | FailedCallError:
    body = response.get("body") if isinstance(response, dict) else None
    status = response.get("status_code") if isinstance(response, dict) else None
    if status == 200 and isinstance(body, dict):
        try:
            return read_completion(ChatCompletion.model_construct(**body), target)
        except FailedCallError as failed:
            return failed
    if isinstance(status, int) and 400 <= status < 600:
        details = body.get("error") if isinstance(body, dict) else None
        request = httpx2.Request("POST", "http://batch")
        reply = httpx2.Response(status, request=request)
        message = str(details.get("message") or "") if isinstance(details, dict) else ""
        return explain(openai.APIStatusError(message, response=reply, body=details), target)
    expired = isinstance(error, dict) and error.get("code") == "batch_expired"
    return not_answered(target, "it was still waiting when the batch expired" if expired else "no reason is given")


def not_answered(target: Target, why: str) -> FailedCallError:
    """Return the failure of a request that a batch of the model left without an answer."""
    message = f"a batch at {target.host} left the request unanswered (model {target.model}): {why}; run again"
    return FailedCallError(TransientProviderError(message), retry=True)
