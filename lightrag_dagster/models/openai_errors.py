"""Translation of the openai SDK's errors into ours, and the decision to try again.

Messages never quote the server: its text may hold the key or a request id.
"""

import re
import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

import httpx2
import openai

from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError, ProviderError, TransientProviderError

LONGEST_WAIT_SECONDS = 600.0
"""A server that asks to wait longer than this ends the run."""

NOT_JSON = "it is not JSON that can be read"

_PLAIN = re.compile(r"[a-z][a-z_.]{1,60}")


@dataclass(frozen=True)
class Target:
    """The model that a call goes to; `settings` is the prefix of its settings (`LIGHTRAG_LLM__`)."""

    settings: str
    model: str
    host: str
    timeout: float


class FailedCallError(Exception):
    """A failed attempt: the error to raise if it was the last, and the seconds before a retry, if one may help.

    `said` is what a model answered, if that was of no use: when it says the same again, no retry helps.
    """

    def __init__(self, error: ProviderError, *, retry: bool, wait: float | None = None, said: str = "") -> None:
        super().__init__(str(error))
        self.error = error
        self.retry = retry
        self.wait = wait
        self.said = said


FORBIDDEN_TEXT, TOO_MANY_TOKENS = "forbidden_text", "too_many_tokens"
"""Signs of an error about this text alone, and of one about the number of output tokens."""

# What servers say where they have no code for it; the first that is found counts. For a chat model alone, the first.
_SAID = {
    TOO_MANY_TOKENS: r"max_(?:\w+_)?tokens|tokens for the completion|in the (?:completion|output)",
    "context_length_exceeded": r"context (?:length|size|window)|(?:input|prompt) (?:is |length )?(?:too long|exceeds)"
    r"|(?:input|maximum) (?:token count|number of tokens|input length)|reduce the length"
    r"|must have less than \d+ tokens",
    "key_refused": r"api key (?:not valid|invalid|expired)|(?:invalid|incorrect) api key",
    "model_is_gone": r"model (?:has )?(?:crashed|unloaded|is loading)|no models? loaded|failed to load",
}
_WORDS_OF_STATUS = {
    429: "rate.?limit|exhausted|overloaded|too.?many",
    402: "quota|credit|billing|payment|balance",
    401: "auth|api.?key",
}
_LENGTHS = frozenset({400, 413, 422, 500})
"""Statuses of which the words say more."""

# Status, error codes or error types; our error; its message. The first match counts.
_RULES: tuple[tuple[AbstractSet[int | str], type[ProviderError], str], ...] = (
    (
        {402, "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated"},
        ProviderAccessError,
        "the quota at {who} is used up; add credit, then run again: what has arrived is kept",
    ),
    ({FORBIDDEN_TEXT}, PermanentProviderError, "text forbidden by {who}, or by a gateway; change or remove the text"),
    (
        {401, 403, "key_refused"},
        ProviderAccessError,
        "access refused by {who}; check OPENAI_API_KEY and its permissions",
    ),
    (
        {404, "unsupported_parameter", "unsupported_value", "model_not_found", "invalid_api_key"},
        ProviderAccessError,
        "model or parameters unknown to {who}{details}; check {settings}MODEL and OPENAI_BASE_URL",
    ),
    (
        {*range(300, 400)},
        ProviderAccessError,
        "{who} redirects to another address; set OPENAI_BASE_URL to that one, then run again: what has arrived is kept",
    ),
    (
        {429},
        TransientProviderError,
        "too many requests for {who}; run again later, or lower {settings}MAX_CONCURRENCY",
    ),
    (
        {TOO_MANY_TOKENS},
        PermanentProviderError,
        "more output tokens asked for than {who} has room for; lower {settings}MAX_OUTPUT_TOKENS",
    ),
    (
        {413, "context_length_exceeded"},
        PermanentProviderError,
        "text too long for {who}; lower {length_setting} or choose another {settings}MODEL",
    ),
    (
        {408, 409, 425, "model_is_gone", *range(500, 600)},
        TransientProviderError,
        "temporary failure of {who}; run again later",
    ),
    (
        {"content_filter", "content_policy_violation"},
        PermanentProviderError,
        "text rejected by the content filter of {who}; change or remove the text",
    ),
    (
        {400, 422},
        PermanentProviderError,
        "request refused by {who}{details}; check {settings}MODEL and the text",
    ),
)
# No word about the text: a proxy or another kind of server, as likely as not.
_UNEXPECTED = (TransientProviderError, "unexpected reply of {who}{details}; check OPENAI_BASE_URL, then run again")


def unusable(target: Target, problem: str, said: str = "", remedy: str = "check OPENAI_BASE_URL") -> FailedCallError:
    """Return the failure of an answer that arrived and cannot be used for this problem; `said` by a model."""
    message = f"{target.host} gave an unusable answer for model {target.model}: {problem}"
    return FailedCallError(TransientProviderError(f"{message}; {remedy}, then run again"), retry=True, said=said)


def timed_out(target: Target) -> FailedCallError:
    """Return the failure of a call that took too long."""
    message = f"model {target.model} at {target.host} did not answer within {target.timeout:g} s"
    remedy = "lower {}BATCH_SIZE" if "EMBEDDING" in target.settings else "raise {}TIMEOUT"
    return _transient(f"{message}; run again, or {remedy.format(target.settings)}")


def _transient(message: str) -> FailedCallError:
    return FailedCallError(TransientProviderError(message), retry=True)


def explain(error: openai.OpenAIError, target: Target, *signs: str) -> FailedCallError:
    """Translate an error of the SDK, raised by a call to `target`; `signs` are what the caller knows of it."""
    if isinstance(error, openai.APIStatusError):
        return _explain_status(error, target, *signs)
    if isinstance(error.__cause__, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        message = (
            f"{target.host} cannot be reached (model {target.model}); "
            "check OPENAI_BASE_URL, and that the server runs, then run again"
        )
        return FailedCallError(ProviderAccessError(message), retry=True)
    if isinstance(error, openai.APITimeoutError):
        return timed_out(target)
    if isinstance(error, openai.APIConnectionError):
        return _transient(f"the connection to {target.host} broke before model {target.model} had answered; run again")
    told = error_inside({"error": error.body}, target) if isinstance(error, openai.APIError) else None
    return told or unusable(target, NOT_JSON)


def error_inside(body: Any, target: Target) -> FailedCallError | None:
    """Return the failure that a reply tells which is none by its status, or None if it tells of none."""
    one = body[0] if isinstance(body, list) and body else body
    choices = one.get("choices") if isinstance(one, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = next((at["error"] for at in (one, choice) if isinstance(at, dict) and at.get("error")), None)
    if error is None and isinstance(one, dict) and one.get("object") == "error":
        error = one
    if error is None:
        return None
    details = error if isinstance(error, dict) else {"message": error}
    words = " ".join(str(details.get(name)) for name in ("code", "type", "status"))
    found = next((status for status, said in _WORDS_OF_STATUS.items() if re.search(said, words, re.IGNORECASE)), 500)
    code = str(details.get("code") or details.get("status"))
    return explain_told(int(code) if re.fullmatch("[45][0-9][0-9]", code) else found, details, target)


def explain_told(status: int, details: object, target: Target) -> FailedCallError:
    """Translate an error of which a status and the details arrived in another reply or file."""
    said = details.get("message") if isinstance(details, dict) else details
    reply = httpx2.Response(status, request=httpx2.Request("POST", "http://reply"))
    return explain(openai.APIStatusError(said if isinstance(said, str) else "", response=reply, body=details), target)


def signs_of(error: openai.APIStatusError, target: Target) -> set[int | str]:
    """Return status, code and type of an error, and what its words say beyond these."""
    signs: set[int | str] = {error.status_code, *(sign for sign in (error.code, error.type) if isinstance(sign, str))}
    if error.status_code not in _LENGTHS or signs & {"unsupported_parameter", "unsupported_value"}:
        return signs
    text = f"{error.param} {error.message} {error.body}".lower().replace("`", "").replace("'", "")
    chat = target.settings == "LIGHTRAG_LLM__"
    said = (sign for sign, words in _SAID.items() if (chat or sign != TOO_MANY_TOKENS) and re.search(words, text))
    return signs | set(islice(said, 1))


def _explain_status(error: openai.APIStatusError, target: Target, *more: str) -> FailedCallError:
    signs = signs_of(error, target) | set(more)
    kind, message = next(((kind, message) for known, kind, message in _RULES if known & signs), _UNEXPECTED)
    who = f"{target.host} (HTTP {error.status_code}, model {target.model})"
    transient = issubclass(kind, TransientProviderError)
    wait = _retry_after(error.response.headers) if transient else None
    if wait is not None and wait > LONGEST_WAIT_SECONDS:
        message = f"{who} asks to wait {wait:.0f} s; run again then: what has arrived is kept"
        return FailedCallError(ProviderAccessError(message), retry=False)
    chat = target.settings == "LIGHTRAG_LLM__"
    told = message.format(
        who=who,
        details=_details(error),
        settings=target.settings,
        length_setting="LIGHTRAG_CHUNKING__SIZE" if chat else f"{target.settings}MAX_INPUT_TOKENS",
    )
    return FailedCallError(kind(told), retry=transient, wait=wait)


def _details(error: openai.APIStatusError) -> str:
    """Name the server's error code and parameter where they are plain words, which no key or id is."""
    words = {"code": error.code, "parameter": error.param}
    plain = [f"{name} {word}" for name, word in words.items() if isinstance(word, str) and _PLAIN.fullmatch(word)]
    return f": {', '.join(plain)}" if plain else ""


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Return the wait that the server asks for: seconds, or None if there is no usable value."""
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        elif (value := headers.get("retry-after", "")).replace(".", "", 1).isdigit():
            wait = float(value)
        else:
            wait = parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return wait if wait > 0 else None
