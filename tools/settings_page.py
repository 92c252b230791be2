"""docs/settings.md, made from the settings class; `make docs` writes it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from lightrag_dagster.core.text.safe_markdown import markdown_table
from lightrag_dagster.settings import Settings
from lightrag_dagster.settings.sections import Section

_INTRODUCTION = """\
# Settings

Made from `lightrag_dagster/settings/` by `make docs`; change the classes, not this page.

A setting comes from its environment variable, else from `lightrag.yaml` in the working folder (another file with
`LIGHTRAG_CONFIG`), else it has its default. In YAML, the dots of a name are levels:

```yaml
home: data
llm:
  provider: openai
  model: gpt-6-luna
```

Lists and mappings are JSON in a variable. `<name>` is a name that you choose. An unknown name in the file, or one that
is written twice, is an error, and so is a `LIGHTRAG_…` variable that is nearly one; LightRAG itself and Kubernetes have
others. API keys are not settings: they are in environment variables, `OPENAI_API_KEY` (with `OPENAI_BASE_URL`),
`COHERE_API_KEY`, `JINA_API_KEY` and `RERANK_API_KEY` unless `api_key_env` names another; nothing stores or logs them.
`DAGSTER_HOME` moves the Dagster instance out of the home. `LIGHTRAG_DATABASE` is a secret too: keep it out of the file,
no message shows its password.

Most people change some of these ten, which are **bold** in the tables below:
"""

COMMON = {
    "home": "Keep a knowledge base elsewhere, or several side by side.",
    "sources": "Take the documents from another folder.",
    "language": "Have descriptions, keywords and summaries in another language than English.",
    "llm.provider": "Let a model extract and answer; the default asks none and costs nothing.",
    "llm.model": "Choose that model, which decides quality and price.",
    "llm.max_cost_usd": "Stop a run before it costs more.",
    "embedding.provider": "Search by meaning; the default compares words.",
    "embedding.model": "Choose the embedding model.",
    "embedding.dimensions": "Have the length of that model's vectors.",
    "query.mode": "Ask in the mode that your own evaluation finds best.",
}
"""The settings that people change, and why: where things are, who answers, what it costs, how questions are asked."""


class Leaf(NamedTuple):
    """One setting: its name with dots, its default as JSON or empty, and its meaning."""

    name: str
    default: str
    meaning: str

    @property
    def variable(self) -> str:
        """The environment variable; empty if a part of the name is chosen by the user."""
        return "" if "<" in self.name else "LIGHTRAG_" + self.name.replace(".", "__").upper()


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[Leaf]:
    """Yield the settings of a class and of the sections in it, in order."""
    for name, field in model.model_fields.items():
        sections = [part for part in _types(field.annotation) if issubclass(part, Section)]
        mapping, listed = isinstance(field.default, dict), isinstance(field.default, tuple)
        if not sections or mapping or listed:
            yield Leaf(prefix + name, _default(field), (field.description or "") + _choices(field))
        for section in () if listed else sections:
            yield from leaves(section, f"{prefix}{name}.{'<name>.' if mapping else ''}")


def page() -> str:
    """Return docs/settings.md."""
    defaults = {leaf.name: leaf.default for leaf in leaves(Settings)}
    common = ([_code(name), _code(defaults[name]), reason] for name, reason in COMMON.items())
    parts = [_INTRODUCTION, markdown_table(["name", "default", "change it to"], common), ""]
    parts.append(_table("General", "", [leaf for leaf in leaves(Settings) if "." not in leaf.name]))
    for name, field in Settings.model_fields.items():
        for section in _types(field.annotation):
            if issubclass(section, Section):
                inside = [leaf for leaf in leaves(Settings) if leaf.name.startswith(f"{name}.")]
                parts.append(_table(f"`{name}`", (section.__doc__ or "").strip(), inside))
    return "\n".join(parts)


def _table(title: str, text: str, settings: list[Leaf]) -> str:
    rows = (
        [
            f"**{_code(leaf.name)}**" if leaf.name in COMMON else _code(leaf.name),
            _code(leaf.variable),
            _code(leaf.default),
            leaf.meaning,
        ]
        for leaf in settings
    )
    introduction = [" ".join(text.split()), ""] if text else []
    table = markdown_table(["name", "environment variable", "default", "meaning"], rows)
    return "\n".join([f"## {title}", "", *introduction, table, ""])


def _types(annotation: Any) -> list[type]:
    """Return the classes in an annotation such as `dict[str, Section] | None`."""
    found = [annotation] if isinstance(annotation, type) and not get_args(annotation) else []
    return found + [inner for part in get_args(annotation) for inner in _types(part)]


def _choices(field: FieldInfo) -> str:
    """Return the values that a setting may have, where its description does not name them all."""
    choices = [str(one) for part in _literals(field.annotation) for one in get_args(part)]
    if float in _types(field.annotation) or all(choice in (field.description or "") for choice in choices):
        return ""
    return f" One of {', '.join(map(_code, choices))}."


def _literals(annotation: Any) -> list[Any]:
    """Return the choices by `Literal` in an annotation."""
    if get_origin(annotation) is Literal:
        return [annotation]
    return [inner for part in get_args(annotation) for inner in _literals(part)]


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined or value is None:
        return ""
    if isinstance(value, (str, Path)) and str(value).isprintable():
        return str(value)
    return json.dumps(value, default=str, ensure_ascii=False)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    sys.stdout.write(page())
