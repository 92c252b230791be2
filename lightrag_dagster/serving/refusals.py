"""Errors as a status of HTTP and one sentence for the one who asks."""

import logging
import traceback

from pydantic import ValidationError

from lightrag_dagster import errors

_log = logging.getLogger("lightrag_dagster.serving")

_STATUS: dict[type[Exception], int] = {
    errors.BudgetExceededError: 429,
    errors.ClosedError: 503,
    errors.NoSnapshotError: 503,
    errors.QueryTimeoutError: 504,
    errors.QueryError: 422,
    errors.ProviderError: 502,
    errors.EmbeddingError: 502,
    errors.LightRAGError: 503,
}
"""The first class that fits decides."""


class RefusedError(Exception):
    """A request that is not answered: a status of HTTP, a sentence, and the seconds after which to ask again."""

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        """Take what the answer will say."""
        super().__init__(sentence)
        self.status, self.retry_after = status, retry_after


def first_fault(error: ValidationError) -> str:
    """Return the first fault of arguments, without the value, which may be a question or a token."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def refusal(error: Exception) -> RefusedError:
    """Return any error as a refusal; of an unexpected one the place is logged: its text may hold a question."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, ValidationError):
        return RefusedError(422, first_fault(error))
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    if status == 500:
        place = "".join(traceback.format_tb(error.__traceback__))
        _log.error("unexpected %s, whose text is left out\n%s", type(error).__name__, place)
        return RefusedError(500, "this question met an unexpected error; the log of the service has its place")
    if status >= 502:
        _log.warning("%s, answered with %d", type(error).__name__, status)
    return RefusedError(status, str(error))
