"""Errors as Starlette's HTTPException: a status, and one sentence for the one who asks."""

import logging
import re
import traceback
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from lightrag_dagster import errors
from lightrag_dagster.serving.access import Caller
from lightrag_dagster.settings.unknown import first_fault

_log = logging.getLogger("lightrag_dagster.serving")

_STATUS: dict[tuple[type[Exception], ...], int] = {
    (errors.BudgetExceededError,): 429,
    (errors.ClosedError, errors.NoSnapshotError): 503,
    (errors.QueryTimeoutError,): 504,
    (errors.QueryError,): 422,
    (errors.ProviderError, errors.EmbeddingError): 502,
    (errors.LightRAGError,): 503,
}
"""The first row with a class that fits decides."""


def request_of(taken: type[BaseModel], given: bytes | Mapping[str, Any]) -> Any:
    """Return a request, read from JSON or arguments; raises HTTPException."""
    try:
        return taken.model_validate_json(given) if isinstance(given, bytes) else taken.model_validate(given)
    except ValidationError as error:
        what = "" if isinstance(given, bytes) else "argument "  # of a tool; without it a snapshot may seem to be meant
        raise HTTPException(422, what + first_fault(error, taken)) from None


def refusal(error: Exception, caller: Caller | None = None, places: re.Pattern[str] | None = None) -> HTTPException:
    """Return any error as a refusal to a caller, which names no model and none of the `places` of the home.

    The place in the code of an unexpected one is logged: its text may hold a question.
    """
    if isinstance(error, HTTPException):
        return error
    limit = caller.dollars_a_day if caller else None
    if isinstance(error, errors.BudgetExceededError) and (error.of != "run" or limit is not None):
        return HTTPException(429, _spent(error, limit))
    status = next((status for kinds, status in _STATUS.items() if isinstance(error, kinds)), 500)
    if status == 500:
        code = "".join(traceback.format_tb(error.__traceback__))
        _log.error("unexpected %s, whose text is left out\n%s", type(error).__name__, code)
        return HTTPException(500, "this question met an unexpected error; the log of the service has its place")
    if status >= 502:  # what follows the cause may be of a question
        _log.warning("%s, answered with %d", errors.cause_of(str(error)), status)
    said = "the model gave no usable answer; ask again later" if status == 502 else str(error)
    return HTTPException(status, places.sub("the home", said) if places else said)


def _spent(error: errors.BudgetExceededError, limit: float | None) -> str:
    """Return whose dollars are spent, without the numbers of others."""
    dollars = f"the ${limit:g} a day of this token" if error.of == "run" else f"the dollars a {error.of} of all who ask"
    then = "next month" if error.of == "month" else "after midnight"
    return f"{dollars} are spent, or too few for this question; ask {then} UTC"
