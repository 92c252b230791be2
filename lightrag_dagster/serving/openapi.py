"""The description of the paths in OpenAPI, made from the annotations of the questions behind them."""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from inspect import isasyncgenfunction
from typing import Any, get_type_hints

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

Ask = Callable[..., Any]
"""A function that answers a question: it takes a base, and a model as `asked`; its docstring is read by agents."""

_REFUSED = {"description": "A refusal: `detail` is a sentence, Retry-After the seconds to wait."}
_OF_GET = {"200": {"description": "The state of the service"}, "default": _REFUSED}


def taken_by(ask: Ask) -> type[BaseModel]:
    """Return the model of what a question takes."""
    taken: type[BaseModel] = get_type_hints(ask)["asked"]
    return taken


def openapi_of(questions: Mapping[str, Ask]) -> dict[str, Any]:
    """Return the document about some questions by their paths."""
    given = {path: get_type_hints(ask)["return"] for path, ask in questions.items()}
    models = {one for one in given.values() if isinstance(one, type) and issubclass(one, BaseModel)}
    models |= set(map(taken_by, questions.values()))
    inputs = [(one, "validation") for one in sorted(models, key=lambda one: one.__name__)]
    names, schemas = models_json_schema(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    paths: dict[str, Any] = {path: {"get": {"responses": _OF_GET}} for path in ("/health", "/ready", "/metrics")}
    for path, ask in questions.items():
        lines = isasyncgenfunction(ask)
        gives = names.get((given[path], "validation"), {"type": "string" if lines else "object"})
        content = {"application/x-ndjson" if lines else "application/json": {"schema": gives}}
        takes = {"required": True, "content": {"application/json": {"schema": names[taken_by(ask), "validation"]}}}
        answers = {"200": {"description": "An answer", "content": content}, "default": _REFUSED}
        paths[path] = {"post": {"requestBody": takes, "responses": answers}}
    key = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lightrag-dagster", "version": version("lightrag-dagster")},
        "paths": paths,
        "components": {"schemas": schemas.get("$defs", {}), "securitySchemes": {"key": key}},
        "security": [{"key": []}],
    }
