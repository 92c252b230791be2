"""A knowledge base as a Dagster component, made from a `defs.yaml`."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from pydantic import BaseModel, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.settings import Chosen, Settings, choosing, load_settings

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


_NAMESPACES: dict[Path, str] = {}
"""Home → namespace of the components that this process has loaded."""

_WRITTEN = """\
# A knowledge base. Its assets begin with the namespace; each knowledge base needs a namespace and a home of its own.
# The first partitions and the first night, before a daemon ever ran: lightrag-dagster --defs {file} run
type: {type}
attributes:
  namespace: {namespace}
  settings:
    # A folder, or a bucket: s3://bucket/prefix with `database` as well. What is bought is kept here; do not share it.
    home: {home}
    # A folder; each of its sub-folders is a source, and a partition.
    sources: {sources}
    # Nothing is sent anywhere until a provider is named. The key stays in OPENAI_API_KEY.
    # llm: {{provider: openai, model: gpt-6-luna, max_cost_usd: 5}}
    # embedding: {{provider: openai}}
    # All settings: docs/settings.md.
  # Settings of a lightrag.yaml, whose place is seen from this folder; LIGHTRAG_… variables win over them:
  # config: lightrag.yaml
"""


class ScaffoldedKnowledgeBase(BaseModel):
    """The parameters of `dg scaffold defs`."""

    namespace: str = Field(default="", description="Prefix of all names; by default the name of the folder.")
    home: str = Field(default="", description="Folder or bucket of the knowledge base; by default data/NAMESPACE.")
    sources: str = Field(default="", description="Folder whose sub-folders are sources; by default sources/NAMESPACE.")


class KnowledgeBaseScaffolder(dg.Scaffolder[ScaffoldedKnowledgeBase]):
    """The writer of a `defs.yaml` with comments."""

    @classmethod
    def get_scaffold_params(cls) -> type[ScaffoldedKnowledgeBase]:
        """Return the parameters, which `dg` offers as options."""
        return ScaffoldedKnowledgeBase

    def scaffold(self, request: dg.ScaffoldRequest[ScaffoldedKnowledgeBase]) -> None:
        """Write the file."""
        folder, given = request.target_path, request.params
        namespace = given.namespace or _namespace_of(folder.name)
        file = folder / "defs.yaml"
        text = _WRITTEN.format(
            file=file.relative_to(request.project_root) if request.project_root else file,
            type=request.type_name,
            # Quoted, since a template in braces would else be a mapping, and `on` is a truth value.
            namespace=json.dumps(namespace),
            home=json.dumps(given.home or f"data/{namespace}"),
            sources=json.dumps(given.sources or f"sources/{namespace}"),
        )
        before = f"{file.read_text(encoding='utf-8')}---\n" if request.append and file.exists() else ""
        file.write_text(before + text, encoding="utf-8")


def _namespace_of(folder: str) -> str:
    """Return a namespace that is like the name of a folder: a letter of a-z, then those, digits and _."""
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    return name if name[:1].isalpha() else f"kb_{name}".rstrip("_")


@dg.scaffold_with(KnowledgeBaseScaffolder)
class KnowledgeBaseComponent(dg.Component, dg.Model, dg.Resolvable):
    """A knowledge base: assets from raw documents to a published snapshot, with their jobs, schedules and sensors.

    A project can have several, each with a namespace and a home of its own.

        dg scaffold defs lightrag_dagster.KnowledgeBaseComponent contracts --home /srv/contracts --sources documents

    writes, with comments:

        type: lightrag_dagster.KnowledgeBaseComponent
        attributes:
          namespace: contracts
          settings:
            home: /srv/contracts
            sources: documents

    For the command line, `lightrag-dagster --defs path/to/defs.yaml run` takes the same settings.
    """

    namespace: Annotated[
        str,
        dg.Resolver.default(
            description="Prefix of asset keys, partitions, steps, jobs, schedules, sensors, pools and of the resource."
        ),
    ] = ""
    config: Annotated[
        str | None,
        dg.Resolver.default(
            description="A lightrag.yaml, seen from the folder of the defs.yaml; LIGHTRAG_… variables win over it."
        ),
    ] = None
    # A mapping when it is loaded, so that templates are resolved and a mistake is told as the command line tells it.
    settings: Annotated[
        dict[str, Any],
        DescribedSettings(),
        dg.Resolver.default(
            description="Settings as in lightrag.yaml; they win over LIGHTRAG_… variables. No API keys. The JSON "
            "schema of this component has each of them."
        ),
    ] = Field(default={})

    def chosen(self, folder: Path) -> Chosen:
        """Return the chosen settings of a component in a folder."""
        settings = self.settings | ({"namespace": self.namespace} if self.namespace else {})
        return Chosen(settings, folder / self.config if self.config else None, "the `defs.yaml`")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the knowledge base; raises SettingsError, also if another one has its home."""
        with choosing(self.chosen(context.path)):
            settings = load_settings()
            home = settings.home.expanduser().resolve()
            other = _NAMESPACES.get(home, settings.namespace)
            if other != settings.namespace:
                raise SettingsError(
                    f"the namespaces {other!r} and {settings.namespace!r} have one home, {settings.home}, where each "
                    "would take the sources of the other for gone; give each its own by `settings: {home: …}`"
                )
            definitions = build_definitions(settings)
            _NAMESPACES[home] = settings.namespace
            return definitions
