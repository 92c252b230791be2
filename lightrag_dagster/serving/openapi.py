"""The description of the doors in OpenAPI, made from their models."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_STATUSES = {
    "200": "An answer",
    "401": "The token is missing or unknown",
    "403": "The same, at paths of LightRAG",
    "413": "The body is too long",
    "415": "The body is not JSON",
    "422": "The question cannot be asked as given",
    "429": "The token asked too often, or spent its dollars of the day",
    "502": "A model gave no usable answer",
    "503": "Too many questions wait, or nothing is published, or it is damaged",
    "504": "The question took too long",
}


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
    told = {status: {"description": said} for status, said in _STATUSES.items()}
    paths: dict[str, Any] = {path: {"get": {"responses": told}} for path in ("/health", "/ready", "/metrics")}
    for one in doors:
        gives = names[one.gives, "validation"] if one.gives else {"type": "string" if one.lines else "object"}
        kind = "application/x-ndjson" if one.lines else "application/json"
        takes = {"application/json": {"schema": names[one.takes, "validation"]}}
        answers = told | {"200": told["200"] | {"content": {kind: {"schema": gives}}}}
        paths[one.path] = {"post": {"requestBody": {"required": True, "content": takes}, "responses": answers}}
    key = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lightrag-dagster", "version": version("lightrag-dagster")},
        "paths": paths,
        "components": {"schemas": schemas.get("$defs", {}), "securitySchemes": {"key": key}},
        "security": [{"key": []}],
    }
