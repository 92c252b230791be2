"""Translation of the openai SDK's errors into ours, and the decision to try again.

Messages never quote the server: its text may hold the key or a request id.
"""

import math
import re
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import resources
from typing import Any

import httpx2
import openai

from lightrag_dagster import errors
from lightrag_dagster.core.protocols import ChatResponse

NOT_JSON = "it is not JSON that can be read"
A_PAGE = "it is a page in HTML, not JSON that can be read"

_PLAIN = re.compile(r"[a-z][a-z_.]{1,60}")


@dataclass(frozen=True)
class Target:
    """The model that a call goes to; `settings` is the prefix of its settings (`LIGHTRAG_LLM__`).

    `address` is what a person changes to send it elsewhere, `key` names the variable with its key. A server that asks
    to wait longer than `longest_wait` is asked no more. Seconds.
    """

    settings: str
    model: str
    host: str
    timeout: float
    address: str = "OPENAI_BASE_URL"
    key: str = "OPENAI_API_KEY"
    longest_wait: float = 600.0


class FailedCallError(Exception):
    """A failed attempt: the error to raise if it was the last, and the seconds before a retry, if one may help.

    `said` is what a model answered, if that was of no use: when it says the same again, no retry helps. `is_page` is
    set if a page came in place of an answer: no model may be at the address. `billed` has the tokens of an answer of no
    use, if the provider tells them; `given_up` is set if it may bill the attempt for anything. `is_outage` is set if
    the request may not be at fault: a time-out, a broken connection, an error of the server other than a limit.
    """

    billed: ChatResponse | None = None
    given_up = False
    is_outage = False

    def __init__(
        self,
        error: errors.ProviderError,
        *,
        retry: bool,
        wait: float | None = None,
        said: str = "",
        is_page: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry = retry
        self.wait = wait
        self.said = said
        self.is_page = is_page


FORBIDDEN_TEXT = "forbidden_text"
"""The code of an error about one text alone, as the caller finds out."""

REFUSED_FORMAT = "refused_format"
"""The code of an error about the format of answers, as the caller finds out."""

_KINDS: dict[str, type[errors.ProviderError]] = {
    "access": errors.ProviderAccessError,
    "permanent": errors.PermanentProviderError,
    "transient": errors.TransientProviderError,
}
_NO_STATUS = "an error in its answer"
_SAYING = ("param", "code", "type", "status", "message", "detail", "loc", "msg", "details", "violations", "quotaId")
_DELAY = re.compile("'retryDelay': '([0-9.]+)s'")  # Google asks to wait in the body alone
_NO_QUOTES = str.maketrans("", "", "'`")
_TOLD_IN_WORDS = frozenset({400, 403, 413, 422, 429, 500})


def unusable(target: Target, problem: str, said: str = "", remedy: str = "") -> FailedCallError:
    """Return the failure of an answer that arrived and cannot be used for this problem; `said` by a model."""
    message = f"{target.host} gave an unusable answer for model {target.model}: {problem}"
    told = f"{message}; {remedy or f'check {target.address}'}, then run again"
    return FailedCallError(errors.TransientProviderError(told), retry=True, said=said, is_page=problem == A_PAGE)


def timed_out(target: Target) -> FailedCallError:
    """Return the failure of a call that took too long."""
    message = f"model {target.model} at {target.host} did not answer within {target.timeout:g} s"
    remedy = "lower {}BATCH_SIZE" if "EMBEDDING" in target.settings else "raise {}TIMEOUT"
    failed = _transient(f"{message}; run again, or {remedy.format(target.settings)}")
    failed.given_up = True
    return failed


def _transient(message: str) -> FailedCallError:
    failed = FailedCallError(errors.TransientProviderError(message), retry=True)
    failed.is_outage = True
    return failed


def explain(error: openai.OpenAIError, target: Target, *codes: str) -> FailedCallError:
    """Translate an error of the SDK, raised by a call to `target`; `codes` are what the caller knows of it."""
    if isinstance(error, openai.APIStatusError):
        return _explain_status(error, target, *codes)
    if type(error) is openai.OpenAIError:  # of a cloud's provider, before anything was sent
        return FailedCallError(_unsigned(error, target), retry=False)
    if isinstance(error.__cause__, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        message = (
            f"{target.host} cannot be reached (model {target.model}); "
            f"check {target.address}, and that the server runs, then run again"
        )
        return FailedCallError(errors.ProviderAwayError(message), retry=True)
    if isinstance(error, openai.APITimeoutError):
        return timed_out(target)
    if isinstance(error, openai.APIConnectionError):
        return _transient(f"the connection to {target.host} broke before model {target.model} had answered; run again")
    told = error_inside({"error": error.body}, target) if isinstance(error, openai.APIError) else None
    return told or unusable(target, NOT_JSON)


def _unsigned(error: openai.OpenAIError, target: Target) -> errors.ProviderAccessError:
    missing = isinstance(error.__cause__, ImportError)
    remedy = "install lightrag-dagster with the extra of its provider" if missing else f"check {target.key}"
    return errors.ProviderAccessError(f"no request to {target.host} can be signed (model {target.model}); {remedy}")


def error_inside(body: Any, target: Target) -> FailedCallError | None:
    """Return the failure that a reply tells which is none by its status, or None if it tells of none."""
    one = body[0] if isinstance(body, list) and body else body
    choices = one.get("choices") if isinstance(one, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    told = [at["error"] for at in (one, choice) if isinstance(at, dict) and at.get("error")]
    told += [one] if isinstance(one, dict) and one.get("object") == "error" else []
    if not told:
        return None
    code = str(told[0].get("code")) if isinstance(told[0], dict) else ""
    if re.fullmatch("[45][0-9][0-9]", code):
        return explain_told(int(code), told[0], target)
    return explain_told(500, told[0], target, _NO_STATUS)


def explain_told(status: int, details: object, target: Target, said: str = "") -> FailedCallError:
    """Translate an error of which a status and the details arrived in another reply or file."""
    reply = httpx2.Response(status, request=httpx2.Request("POST", "http://reply"))
    return explain(openai.APIStatusError(said, response=reply, body=details), target)


def rule_name(error: openai.APIStatusError, target: Target) -> str:
    """Return the name of the rule that an error fits, "" for most: see `openai_errors.toml`."""
    return _rule(error, target).get("name", "")


@cache
def _rules() -> list[dict[str, str]]:
    text = resources.files(__package__).joinpath("openai_errors.toml").read_text("utf-8")
    return list(tomllib.loads(text)["rule"])


def _rule(error: openai.APIStatusError, target: Target, *codes: str) -> dict[str, str]:
    """Return the first rule that fits an error, to which the caller adds codes."""
    known = {code for code in (error.code, error.type, *codes) if isinstance(code, str)}
    told = told_words(error.body) if error.status_code in _TOLD_IN_WORDS else ""
    return next(
        rule
        for rule in _rules()
        if rule.get("of", target.settings) == target.settings
        and (
            re.fullmatch(rule.get("statuses", ""), str(error.status_code))
            or not known.isdisjoint(rule.get("codes", "").split())
            or ("words" in rule and re.search(rule["words"], told))
        )
    )


def told_words(body: object) -> str:
    """Return what a server says of an error, in lower case; not all of its body, which may repeat the text."""
    one = body[0] if isinstance(body, list) and body else body
    one = one.get("error", one) if isinstance(one, dict) else one
    return _joined(one).lower().translate(_NO_QUOTES)


def _joined(said: object, depth: int = 5) -> str:
    """Join what is said, by some servers in a list of findings, each with its place in the request."""
    if isinstance(said, dict):
        said = [said.get(name) for name in _SAYING]
    if isinstance(said, list) and depth:
        return " ".join(_joined(one, depth - 1) for one in said)
    return said if isinstance(said, str) else ""


def _explain_status(error: openai.APIStatusError, target: Target, *codes: str) -> FailedCallError:
    asked = _retry_after(error.response.headers, error.body)
    rule = _rule(error, target, *codes, *(["passing_402"] if error.status_code == 402 and asked else []))
    status = _NO_STATUS if error.message == _NO_STATUS else f"HTTP {error.status_code}"
    who = f"{target.host} ({status}, model {target.model})"
    transient = rule["kind"] == "transient"
    wait = asked if transient else None
    if wait is not None and wait > target.longest_wait:
        message = f"{who} asks to wait {wait:.0f} s; run again then: what has arrived is kept"
        return FailedCallError(errors.ProviderAwayError(message), retry=False)
    length = "LIGHTRAG_CHUNKING__SIZE" if "LLM" in target.settings else f"{target.settings}MAX_INPUT_TOKENS"
    told = rule["message"].format(who=who, details=_details(error), length=length, **vars(target))
    failed = FailedCallError(_KINDS[rule["kind"]](told), retry=transient, wait=wait)
    failed.is_outage = transient and rule.get("name") != "limit"
    return failed


def _details(error: openai.APIStatusError) -> str:
    """Name the server's error code and parameter where they are plain words, which no key or id is."""
    words = {"code": error.code, "parameter": error.param}
    plain = [f"{name} {word}" for name, word in words.items() if isinstance(word, str) and _PLAIN.fullmatch(word)]
    return f": {', '.join(plain)}" if plain else ""


def _retry_after(headers: httpx2.Headers, body: object) -> float | None:
    """Return the wait that the server asks for: seconds, in the first form with a usable value; None without any."""
    value = headers.get("retry-after", "")
    forms: tuple[Callable[[], float], ...] = (
        lambda: float(headers["retry-after-ms"]) / 1000,
        lambda: float(value),
        lambda: float(_DELAY.findall(str(body))[0]),
        lambda: parsedate_to_datetime(value).timestamp() - time.time(),
    )
    for form in forms:
        with suppress(LookupError, ValueError, OverflowError, RecursionError):
            if 0 < (wait := form()) < math.inf:
                return wait
    return None
