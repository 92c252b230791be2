"""Front matter: YAML, or TOML as Hugo and Zola have it, between two rules at the start of Markdown or HTML."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lightrag_dagster.core.text.markdown import FRONT_MATTER
from lightrag_dagster.readers.content import NO_PROPERTIES, Properties, make_properties, one_text, split_tags

_MAX_LENGTH = 64_000  # characters; a longer block is text between two rules
_SAFE_IN_C = 4_000  # characters; the fast loader has no limit of depth, and a deeply nested block would end the process
_LINE = re.compile(r"^([A-Za-z_]\w*):[ \t]+(\S.*?)[ \t\r]*$", re.MULTILINE)
_TOML = re.compile(r"\A\+\+\+[ \t]*\r?\n(?P<block>.*?)^\+\+\+[ \t\r]*$", re.DOTALL | re.MULTILINE)
_TOML_LINE = re.compile(r"^([A-Za-z_]\w*)[ \t]*=[ \t]*(\S.*?)[ \t\r]*$", re.MULTILINE)
_TAXONOMIES = "taxonomies"  # the table that Zola has its tags in


def split_front_matter(text: str) -> tuple[Properties, str]:
    """Return the properties in the front matter of a text, and the text after it.

    The properties are `title`, `author` or `authors`, `date` or `created`, `tags`, `keywords`, `categories`, `lang` or
    `language`. A
    document with `draft: true` (Hugo, Docusaurus, Quarto) or `published: false` (Jekyll) is switched off. A block that
    is not YAML, or not TOML, is read line by line; one that has no `name: value` at all is text.
    """
    text = text.lstrip("\ufeff \t\r\n")
    expression, parse = (_TOML, _parse_toml) if text.startswith("+++") else (FRONT_MATTER, _parse)
    found = expression.match(text) if text.startswith(("---", "+++")) else None
    if found is None or found.end() > _MAX_LENGTH:
        return NO_PROPERTIES, text
    values = parse(found["block"])
    if not values:
        return NO_PROPERTIES, text
    tags = [one for name in ("tags", "keywords", "categories") for one in _listed(values.get(name))]
    properties = make_properties(
        title=values.get("title"),
        author=values.get("author") or values.get("authors"),
        day=values.get("date") or values.get("created"),
        tags=tags,
        language=values.get("lang") or values.get("language"),
    )
    unread = None if properties.date else one_text(values.get("date"))
    note = f"its date {unread[:40]!r} is left out: write a day, such as 2024-03-05" if unread else None
    return replace(properties, switched_off=_switched_off(values), date_note=note), text[found.end() :]


def _parse(block: str) -> dict[str, Any]:
    import yaml

    fast = len(block) <= _SAFE_IN_C and hasattr(yaml, "CSafeLoader")
    try:
        values = yaml.load(block, Loader=yaml.CSafeLoader if fast else yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date such as 2025-02-30
        return {name: value.strip("\"'") for name, value in _LINE.findall(block)}
    return {str(name).lower(): value for name, value in values.items()} if isinstance(values, dict) else {}


def _parse_toml(block: str) -> dict[str, Any]:
    import tomllib

    try:
        values = tomllib.loads(block)
    except (ValueError, RecursionError):
        return {name: value.strip("\"'") for name, value in _TOML_LINE.findall(block)}
    below = values.get(_TAXONOMIES)
    named = {**below, **values} if isinstance(below, dict) else values
    return {name.lower(): value for name, value in named.items()}


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else split_tags(value)


def _switched_off(values: dict[str, Any]) -> str | None:
    for name, off in (("draft", True), ("published", False)):
        if str(values.get(name)).casefold() == str(off).casefold():
            return f"{name}: {str(off).lower()}"
    return None
