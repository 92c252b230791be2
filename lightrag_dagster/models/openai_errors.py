"""What the openai SDK's errors mean here: which of ours to raise, in our words, and whether to try again first.

No text of the server's goes into a message: it may quote the key or a request id.
"""

import json
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import httpx2
import openai

from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError, ProviderError, TransientProviderError

SDK_ERRORS = (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError)
"""Everything that a call of the SDK may raise for a reason outside this process."""

_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated"}
_MISCONFIGURED = {"unsupported_parameter", "unsupported_value", "model_not_found", "invalid_api_key"}
_CHAT = "LIGHTRAG_LLM__"
_PLAIN = re.compile(r"[a-z][a-z_.]{1,60}")


@dataclass(frozen=True)
class Target:
    """Whom a call went to; `settings` is the prefix of the settings that shape it (`LIGHTRAG_LLM__`)."""

    settings: str
    model: str
    host: str
    timeout: float
    longest_wait: float


class FailedCallError(Exception):
    """One attempt failed: what to raise if it was the last, and whether and when (seconds) to try again.

    `overload` says that the server has too much to do, from this caller or from all.
    """

    def __init__(self, error: ProviderError, *, retry: bool, wait: float | None = None, overload: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry = retry
        self.wait = wait
        self.overload = overload


def unusable(target: Target, what: str) -> FailedCallError:
    """Return the failure of an answer that arrived but holds nothing to use; `what` says what is wrong with it."""
    message = f"{target.host} gave an unusable answer for model {target.model}: {what}"
    return FailedCallError(TransientProviderError(f"{message}; check OPENAI_BASE_URL, then run again"), retry=True)


def timed_out(target: Target) -> FailedCallError:
    """Return the failure of a call that took too long."""
    message = f"model {target.model} at {target.host} did not answer within {target.timeout:g} s"
    return FailedCallError(
        TransientProviderError(f"{message}; run again, or raise {target.settings}TIMEOUT"), retry=True
    )


def explain(error: Exception, target: Target) -> FailedCallError:
    """Return what one of `SDK_ERRORS` means for calls to `target`."""
    if isinstance(error, openai.APIStatusError):
        return _explain_status(error, target)
    if isinstance(error, openai.APIConnectionError):
        return _explain_connection(error, target)
    return unusable(target, "it is not JSON")


def _explain_connection(error: openai.APIConnectionError, target: Target) -> FailedCallError:
    cause = error.__cause__
    if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        message = (
            f"{target.host} cannot be reached (model {target.model}); "
            "check OPENAI_BASE_URL, and that the server runs, then run again"
        )
        return FailedCallError(ProviderAccessError(message), retry=True)
    if isinstance(error, openai.APITimeoutError):
        return timed_out(target)
    message = f"the connection to {target.host} broke before model {target.model} had answered; run again"
    return FailedCallError(TransientProviderError(message), retry=True)


def _explain_status(error: openai.APIStatusError, target: Target) -> FailedCallError:
    status = error.status_code
    codes = {str(error.code), str(error.type)}
    who = f"{target.host} (HTTP {status}, model {target.model})"
    if status == 402 or codes & _NO_CREDIT:
        message = f"the quota at {who} is used up; add credit, then run again: what has arrived is kept"
        return FailedCallError(ProviderAccessError(message), retry=False)
    if status in (401, 403):
        message = f"access refused by {who}; check OPENAI_API_KEY and what it may use"
        return FailedCallError(ProviderAccessError(message), retry=False)
    if status == 404 or codes & _MISCONFIGURED:
        message = f"model or parameters unknown to {who}{_details(error)}; "
        message += f"check {target.settings}MODEL and OPENAI_BASE_URL"
        return FailedCallError(ProviderAccessError(message), retry=False)
    if status == 429 or status >= 500 or status in (408, 409, 425):
        return _explain_overload(error, target, who)
    return FailedCallError(PermanentProviderError(_refusal(error, target, who)), retry=False)


def _explain_overload(error: openai.APIStatusError, target: Target, who: str) -> FailedCallError:
    wait = _retry_after(error.response.headers)
    if wait is not None and wait > target.longest_wait:
        message = f"{who} asks to wait {wait:.0f} s; run again then, or raise {target.settings}LONGEST_WAIT: "
        return FailedCallError(ProviderAccessError(f"{message}what has arrived is kept"), retry=False)
    if error.status_code == 429:
        message = f"too many requests for {who}; run again later, or lower {target.settings}MAX_CONCURRENCY"
    else:
        message = f"temporary failure of {who}; run again later"
    overload = error.status_code in (429, 503, 529)
    return FailedCallError(TransientProviderError(message), retry=True, wait=wait, overload=overload)


def _refusal(error: openai.APIStatusError, target: Target, who: str) -> str:
    text = error.message.lower()
    if error.code == "context_length_exceeded" or "context length" in text or error.status_code == 413:
        lower = "LIGHTRAG_CHUNKING__SIZE" if target.settings == _CHAT else f"{target.settings}MAX_INPUT_TOKENS"
        return f"text too long for {who}; lower {lower} or choose another {target.settings}MODEL"
    if "content_filter" in (error.code, error.type) or error.code == "content_policy_violation":
        return f"text rejected by the content filter of {who}; change or remove the text"
    return f"request refused by {who}{_details(error)}; check {target.settings}MODEL and the text"


def _details(error: openai.APIStatusError) -> str:
    """Name the server's error code and parameter where they are plain words, which no key or id is."""
    words = {"code": error.code, "parameter": error.param}
    plain = [f"{name} {word}" for name, word in words.items() if isinstance(word, str) and _PLAIN.fullmatch(word)]
    return f": {', '.join(plain)}" if plain else ""


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Return how long the server asks to wait: seconds, or None when it says nothing usable."""
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
