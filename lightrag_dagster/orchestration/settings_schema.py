"""The JSON schema of the settings in a `defs.yaml`, from which `dg check yaml`, editors and agents know each one."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema

from lightrag_dagster.settings import Settings

Node = dict[str, Any]

_TEMPLATE = {"type": "string", "pattern": r"\{\{"}
_BOUNDS = {"enum", "const", "pattern", "minLength", "maxLength"}
_ABOUT = {"default", "description", "title"}


class DescribedSettings:
    """An annotation of a mapping: its JSON schema names the settings, each of which may be a template of Dagster."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> Node:
        """Return the schema, with the names beside Dagster's choice between a mapping and a template.

        In the choice the places of mistakes would be lost: a message would only say that neither fits.
        """
        plain = handler(core)
        return plain | _described() if "anyOf" in plain else plain


def _described() -> Node:
    schema = Settings.model_json_schema()
    whole = _with_sections(schema, schema["$defs"])
    return {name: whole[name] for name in ("properties", "additionalProperties")}


def _with_sections(node: Mapping[str, Any], sections: Mapping[str, Any]) -> Node:
    """Return a schema with its sections in their places, since Dagster moves it, and templates among the values."""
    if "$ref" in node:
        beside = {name: one for name, one in node.items() if name != "$ref"}
        return _with_sections(sections[node["$ref"].rsplit("/", 1)[1]] | beside, sections)

    def value(inner: Mapping[str, Any]) -> Node:
        return _or_template(_with_sections(inner, sections))

    inside: dict[str, Callable[[Any], Any]] = {
        "properties": lambda named: {name: value(one) for name, one in named.items()},
        "additionalProperties": lambda one: value(one) if isinstance(one, Mapping) else one,
        "items": lambda one: value(one) if isinstance(one, Mapping) else one,
        "anyOf": lambda choice: [_with_sections(one, sections) for one in choice],
    }
    return {name: inside[name](one) if name in inside else one for name, one in node.items()}


def _or_template(node: Node) -> Node:
    """Return the schema of a value that may be a template; text without bounds may be one already.

    The schema of a section fits text with braces as well: in a choice the places of mistakes would be lost.
    """
    if node.get("type") == "string" and not _BOUNDS & node.keys():
        return node
    if node.get("type") == "object":
        return node | {"type": ["object", "string"], "pattern": _TEMPLATE["pattern"]}
    about = {name: one for name, one in node.items() if name in _ABOUT}
    value = {name: one for name, one in node.items() if name not in _ABOUT}
    return about | {"anyOf": [*value.get("anyOf", [value]), _TEMPLATE]}
