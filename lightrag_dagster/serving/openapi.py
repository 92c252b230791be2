"""The description of the doors in OpenAPI, made from their models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_REFUSALS = {
    "403": "The token is missing or unknown (401 at paths that LightRAG has not)",
    "413": "The body is too long",
    "415": "The body is not JSON",
    "422": "The question cannot be asked as given",
    "429": "The token asked too often, or spent its dollars of the day",
    "502": "A model gave no usable answer",
    "503": "Too many questions wait, nothing is published, or the base is damaged",
    "504": "The question took too long",
}


@dataclass(frozen=True)
class Door:
    """A question that is asked by POST: its path, what it takes, and the function that answers it."""

    path: str
    takes: type[BaseModel]
    ask: Callable[..., Any]
    summary: str
    gives: type[BaseModel] | None = None
    lines: bool = False


def openapi_of(doors: Sequence[Door], *, with_tokens: bool) -> dict[str, Any]:
    """Return the document about some doors."""
    inputs = {(one.takes, "validation") for one in doors} | {(one.gives, "serialization") for one in doors if one.gives}
    names, schemas = models_json_schema(sorted(inputs, key=str), ref_template="#/components/schemas/{model}")  # type: ignore[type-var]
    paths: dict[str, Any] = {one.path: {"post": _operation(one, names)} for one in doors}
    for path, status in (("/health", {}), ("/ready", {"503": "Not yet"}), ("/metrics", {}), ("/openapi.json", {})):
        told = {"200": "Well"} | status | ({"401": "The token is missing"} if path == "/metrics" else {})
        paths[path] = {"get": {"summary": path[1:], "responses": {n: {"description": t} for n, t in told.items()}}}
    components = {"schemas": schemas.get("$defs", {})}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "lightrag-dagster", "version": version("lightrag-dagster")},
        "paths": paths,
        "components": components,
    }
    if with_tokens:
        components["securitySchemes"] = {
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "bearer": {"type": "http", "scheme": "bearer"},
        }
        document["security"] = [{"key": []}, {"bearer": []}]
    return document


def _operation(door: Door, names: Any) -> dict[str, Any]:
    kind = "application/x-ndjson" if door.lines else "application/json"
    gives = names[door.gives, "serialization"] if door.gives else {"type": "string" if door.lines else "object"}
    refusals = {status: {"description": said} for status, said in ({"401": "The token is missing"} | _REFUSALS).items()}
    return {
        "summary": door.summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": names[door.takes, "validation"]}}},
        "responses": {"200": {"description": "An answer", "content": {kind: {"schema": gives}}}} | refusals,
    }
