"""Numbers about a service for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

__all__ = ["CONTENT_TYPE", "Metrics"]

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counters of one service; no label names a caller or a question."""

    def __init__(self) -> None:
        """Begin at zero, apart from other services in this process."""
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "lightrag_http_requests", "Requests by path and status", ["path", "status"], registry=self._registry
        )
        self.questions = Histogram(
            "lightrag_question_seconds",
            "Time of questions by door and outcome: ok, left, or the status of the refusal",
            ["door", "outcome"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.asking = Gauge("lightrag_questions_in_progress", "Questions that wait or run", registry=self._registry)

    def text(self) -> bytes:
        """Return all of them as Prometheus reads them."""
        return generate_latest(self._registry)
