"""The description of the doors in OpenAPI, made from their models."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_REFUSED = {"description": "A refusal: `detail` is a sentence, Retry-After the seconds to wait."}
_OF_GET = {"200": {"description": "The state of the service"}, "default": _REFUSED}


class Door(NamedTuple):
    """A question that is asked by POST: its path, what it takes, and the function that answers it."""

    path: str
    takes: type[BaseModel]
    ask: Callable[..., Any]
    gives: type[BaseModel] | None = None
    lines: bool = False


def openapi_of(doors: Sequence[Door]) -> dict[str, Any]:
    """Return the document about some doors."""
    models = {one.takes for one in doors} | {one.gives for one in doors if one.gives}
    inputs = [(one, "validation") for one in sorted(models, key=lambda one: one.__name__)]
    names, schemas = models_json_schema(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    paths: dict[str, Any] = {path: {"get": {"responses": _OF_GET}} for path in ("/health", "/ready", "/metrics")}
    for one in doors:
        gives = names[one.gives, "validation"] if one.gives else {"type": "string" if one.lines else "object"}
        kind = "application/x-ndjson" if one.lines else "application/json"
        takes = {"required": True, "content": {"application/json": {"schema": names[one.takes, "validation"]}}}
        answer = {"description": "An answer", "content": {kind: {"schema": gives}}}
        paths[one.path] = {"post": {"requestBody": takes, "responses": {"200": answer, "default": _REFUSED}}}
    key = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lightrag-dagster", "version": version("lightrag-dagster")},
        "paths": paths,
        "components": {"schemas": schemas.get("$defs", {}), "securitySchemes": {"key": key}},
        "security": [{"key": []}],
    }
