"""Spans of OpenTelemetry for model calls and the steps of a retrieval; none unless tracing is configured.

It is configured by a program that has set up OpenTelemetry's SDK, or by the environment variables that name an
endpoint; the extra `tracing` then sends spans there. Attributes follow OpenTelemetry's conventions for generative AI,
and never hold the text of a question, prompt or answer.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

from lightrag_dagster.core.holding import holding

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

Value = str | int | float | bool | Sequence[str]
Attributes = Mapping[str, Value]

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_SERVICE = "lightrag-dagster"
_NOTHING: Attributes = {}
_marks: ContextVar[Attributes] = ContextVar("lightrag_marks", default=_NOTHING)

_log = logging.getLogger(__name__)


@contextmanager
def span(name: str, attributes: Attributes, *, is_call: bool = False) -> Iterator[Callable[[Attributes], None]]:
    """Trace a block, and yield a function that adds attributes to its span; an error of the block is recorded in it.

    Args:
        name: Operation and target: `chat gpt-6-luna`.
        attributes: Attributes known at the beginning.
        is_call: True if another service is called.
    """
    tracer = _tracer()
    if tracer is None:
        yield lambda more: None
        return
    attributes = {**attributes, **_marks.get()} if is_call else attributes
    from opentelemetry.trace import SpanKind

    kind = SpanKind.CLIENT if is_call else SpanKind.INTERNAL
    with tracer.start_as_current_span(name, kind=kind, attributes=attributes) as current:
        try:
            yield current.set_attributes
        except Exception as error:
            current.set_attribute("error.type", type(error).__name__)
            raise


def marking(attributes: Attributes) -> AbstractContextManager[None]:
    """Add attributes to the spans of calls in the block."""
    return holding(_marks, attributes)


def _tracer() -> "Tracer | None":
    """Return the tracer, or None when spans would go nowhere."""
    is_sent = any(os.environ.get(name) for name in _ENDPOINTS)
    # With neither an endpoint nor the SDK in use, the import alone would slow every question down.
    return _open_tracer(is_sent=is_sent) if is_sent or "opentelemetry.sdk.trace" in sys.modules else None


@cache
def _open_tracer(*, is_sent: bool) -> "Tracer | None":
    try:
        from opentelemetry import trace

        if is_sent and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            _send()
    except ImportError:
        _log.warning("no spans are sent to the endpoint of OpenTelemetry: install lightrag-dagster[tracing]")
        return None
    return trace.get_tracer("lightrag_dagster")


def _send() -> None:
    """Send spans to the endpoint that the environment names, in batches, the last one when the process ends."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", _SERVICE)}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
