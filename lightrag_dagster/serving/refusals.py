"""Errors as a status of HTTP and one sentence for the one who asks."""

import logging
import traceback

from pydantic import ValidationError

from lightrag_dagster.errors import (
    BudgetExceededError,
    ClosedError,
    EmbeddingError,
    LightRAGError,
    NoSnapshotError,
    ProviderError,
    QueryError,
    SettingsError,
    StoreError,
)

_log = logging.getLogger(__name__)

_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (BudgetExceededError, 429),
    (ClosedError, 503),
    (NoSnapshotError, 503),
    (QueryError, 422),
    (ProviderError, 502),
    (EmbeddingError, 502),
    (SettingsError, 503),
    (StoreError, 503),
    (LightRAGError, 503),
)
"""The first class that fits decides."""


class RefusedError(Exception):
    """A request that is not answered: a status of HTTP, a sentence, and the seconds after which to ask again."""

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        """Take what the answer will say."""
        super().__init__(sentence)
        self.status, self.retry_after = status, retry_after


def refusal(error: Exception) -> RefusedError:
    """Return any error as a refusal; one that nobody foresaw is logged by its place, as its text may hold a question.

    Of arguments that do not fit, the first is named, without its value.
    """
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        return RefusedError(422, f"{where}: {first['msg']}" if where else first["msg"])
    for kind, status in _STATUS:
        if isinstance(error, kind):
            if status >= 502:
                _log.warning("answered with %d: %s", status, type(error).__name__)
            return RefusedError(status, str(error))
    place = "".join(traceback.format_tb(error.__traceback__))
    _log.error("unexpected %s; its text is left out, it may hold a question\n%s", type(error).__name__, place)
    return RefusedError(500, "this question met an unexpected error; the log of the service has its place")
