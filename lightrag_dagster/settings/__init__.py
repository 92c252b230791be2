"""All settings, in one class: environment `LIGHTRAG_…` over `lightrag.yaml` over the defaults here.

Secrets are not settings: keys are read from the environment when a model is opened, and nothing here repeats them.
"""

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import BaseModel, Field, PrivateAttr, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from lightrag_dagster.core.export_formats import ExportFormat
from lightrag_dagster.core.holding import holding
from lightrag_dagster.errors import SettingsError, one_line
from lightrag_dagster.settings.chunking import ChunkingSettings
from lightrag_dagster.settings.models import EmbeddingSettings, LLMSettings, RerankSettings
from lightrag_dagster.settings.sections import (
    CacheSettings,
    DagsterSettings,
    DocumentSettings,
    EngineName,
    ExtractionSettings,
    GivenPath,
    GoldSettings,
    MergingSettings,
    OptionalPath,
    Publication,
    QuerySettings,
    RetentionSettings,
    ScopeName,
    ScopeRule,
    Section,
)
from lightrag_dagster.settings.sources import SourceSettings
from lightrag_dagster.settings.unknown import PREFIX, check_variables, nearest, unknown_name
from lightrag_dagster.settings.yaml_files import lines_of, read_settings, yaml_mistake

CONFIG_VARIABLE = f"{PREFIX}CONFIG"
CONFIG_FILE = "lightrag.yaml"


class Settings(BaseSettings):
    """Everything that can be configured; docs/settings.md is made from this class."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True, extra="forbid", frozen=True
    )

    home: GivenPath = Field(
        default=Path("data"),
        description="The home of everything: a folder, or a bucket, `s3://bucket/prefix`, `gs://…` or `az://…`, with "
        "the extra `cloud`. A bucket needs `database` as well.",
    )
    cache: CacheSettings = CacheSettings()
    database: SecretStr | None = Field(
        default=None,
        description="URL of a Postgres database for responses, vectors, ledger, batches, decisions that commands took, "
        "and locks, `postgresql://user:password@host/name`, with the extra `cloud`; unset, SQLite files in the home. "
        "Give each knowledge base a database, or a schema, of its own.",
    )
    sources: GivenPath = Field(default=Path("sources"), description="A folder whose sub-folders are sources.")
    named_sources: dict[str, SourceSettings] = Field(default={}, description="More sources, by name.")
    namespace: str = Field(
        default="",
        pattern=r"^([a-z][a-z0-9_]*)?$",
        description="Prefix of asset keys, groups, partitions, jobs, schedules and sensors, so that several knowledge "
        "bases can live in one Dagster deployment.",
    )
    engine: EngineName = Field(
        default="local",
        description="The place where documents are read and cut, the model asked, responses parsed, mentions merged, "
        "and texts embedded offline: in this process (`local`), in one for each processor (`processes`), or on "
        "Ray (`ray`, the extra of that name; RAY_ADDRESS names a cluster). A local embedding model runs in this "
        "process, or on Ray on each GPU. The result is the same.",
    )
    dagster: DagsterSettings = DagsterSettings()
    language: str = Field(
        default="English", min_length=1, description="Language of descriptions, keywords and summaries."
    )
    documents: DocumentSettings = DocumentSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    llm: LLMSettings = LLMSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    merging: MergingSettings = MergingSettings()
    query: QuerySettings = QuerySettings()
    retention: RetentionSettings = RetentionSettings()
    gold: GoldSettings = GoldSettings()
    rerank: RerankSettings = RerankSettings()
    publish: Publication = Field(
        default="automatic",
        description="manual: a new snapshot waits for `lightrag-dagster release`. A share such as 0.2: one waits that "
        "differs from the published one in more of its documents, or of its entities.",
    )
    scopes: dict[ScopeName, ScopeRule] = Field(
        default={},
        description="Knowledge bases of a part of the documents, for readers who must not learn of the others: name → "
        "conditions `sources`, `paths`, `tags` and `access`, as in `board: {sources: [board, handbook]}`. All that are "
        "given must hold, by one of their values. See docs/scopes.md.",
    )
    checks: OptionalPath = Field(
        default=None,
        description="A folder of your own checks in SQL, `*.sql`, that are run on a new snapshot: rows are faults, and "
        "it waits for `lightrag-dagster release`.",
    )
    prompts: OptionalPath = Field(
        default=None, description="Folder whose files replace the package's prompts of the same name."
    )
    readings: OptionalPath = Field(
        default=None,
        description="A folder of schemas, `NAME.yaml`: each is a pass that reads chunks for facts of these types and "
        "relations. See docs/facts.md.",
    )
    nightly: str = Field(
        default="0 2 * * *",
        description="When the schedule `nightly` ingests: cron, UTC. By default at two in the morning, after the day's "
        "last edits and early enough for repairs before the working day.",
    )
    curation: OptionalPath = Field(
        default=None,
        description="A YAML or CSV file of decisions about names, or a folder of such files; `lightrag-dagster curate` "
        "keeps others in the database.",
    )
    exports: tuple[ExportFormat, ...] = Field(
        default=(),
        description="Formats that the asset `exports` writes the published snapshot in: tables (Parquet files and a "
        "DuckDB file), graphml (Gephi, networkx), facts (GraphML, directed), neo4j (CSV for "
        "`neo4j-admin`), okf (Markdown, a page an entity).",
    )
    questions: OptionalPath = Field(
        default=None,
        description="YAML or JSONL file with the questions that the asset `answers` asks; those that name `documents` "
        "or `chunks` are evaluated as well.",
    )

    @field_validator("*")
    @classmethod
    def _has_no_zero_byte(cls, value: object) -> object:
        if isinstance(value, Path) and "\0" in str(value):
            raise ValueError("it has a zero byte, which no path may have; remove it")
        return value

    @field_validator("database")
    @classmethod
    def _is_postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None or not url.get_secret_value():
            return None
        if not url.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("write a URL that begins with postgresql://, or leave it unset for SQLite in the home")
        return url

    _retries_failed: bool = PrivateAttr(default=False)
    _scope: str = PrivateAttr(default="")

    @property
    def retries_failed(self) -> bool:
        """True if chunks that failed for good are asked about again, which is an option of one run alone."""
        return self._retries_failed

    @property
    def has_passes(self) -> bool:
        """True if chunks are also read for facts: by schemas, or where columns state them."""
        return self.readings is not None or any(one.rows and one.rows.facts for one in self.named_sources.values())

    @property
    def builds_graph(self) -> bool:
        """True unless the graph database, which Cypher alone reads, is left out."""
        return "published_graph" not in self.dagster.without

    @property
    def scope(self) -> str:
        """The scope of which the home is that of the settings; empty for the whole knowledge base."""
        return self._scope

    @property
    def only_asks(self) -> bool:
        """True of a machine that only asks: of a scope, or where no sources are named, nor in the folder with them."""
        return bool(self._scope) or (
            "sources" not in self.model_fields_set and not self.named_sources and not self.sources.exists()
        )

    def within(self, scope: str | None) -> "Settings":
        """Return a copy whose home is that of a scope, below the home; with None, of the whole knowledge base.

        Raises:
            SettingsError: no scope can have this name.
        """
        if scope is not None and not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", scope):
            raise SettingsError(f"{scope[:70]!a} cannot be the name of a scope; it has a-z, 0-9 and _ alone")
        copy = self.model_copy()
        copy._scope = scope or ""
        return copy

    def retrying_failed(self) -> "Settings":
        """Return a copy for a run that asks again about chunks that failed for good."""
        copy = self.model_copy()
        copy._retries_failed = True
        return copy

    def changed(self, **changes: object) -> "Settings":
        """Return a copy with other values; a mapping changes only the named values of a section.

            settings.changed(home=folder, llm={"max_cost_usd": 5})

        Raises:
            SettingsError: there is no such setting, or a value is not allowed.
        """
        sections = {name: one.model_dump() for name, one in self if isinstance(one, Section) and name in changes}
        values = _over(sections, changes)
        checked = self.model_copy()
        try:
            BaseModel.__init__(checked, **(dict(self) | values))  # a call of the class reads file and environment
        except ValidationError as error:
            raise SettingsError(_first_mistake(error)) from error
        return self.model_copy(update={name: getattr(checked, name) for name in values})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the YAML file below the environment."""
        return (init_settings, env_settings, InitSettingsSource(settings_cls, read_settings(settings_file())))


class Chosen(NamedTuple):
    """Settings that win over environment and file; the file in place of lightrag.yaml, if any; and who chose them.

    With a `scope`, the home is that of it.
    """

    settings: Mapping[str, object] = {}
    file: Path | None = None
    by: str = ""
    scope: str | None = None


_chosen: ContextVar[Chosen | None] = ContextVar("chosen_settings", default=None)


def settings_file() -> Path:
    """Return the file of settings in use, which may be missing."""
    chosen = _chosen.get()
    return (chosen and chosen.file) or Path(os.environ.get(CONFIG_VARIABLE) or CONFIG_FILE)


def choosing(chosen: Chosen) -> AbstractContextManager[None]:
    """Have `load_settings` take other settings in the block, as those of a `defs.yaml`, or of the command line.

    Threads that begin in the block, and worker processes, know nothing of it: hand settings to them.
    """
    return holding(_chosen, chosen)


def wins_over_file(section: str, name: str) -> bool:
    """Say whether a value in a section may be that of a variable, or of `choosing`: then the file's has no effect."""
    variables = {section.upper(), f"{section}__{name}".upper()}
    chosen = (_chosen.get() or Chosen()).settings.get(section)
    given = {one.upper().removeprefix(PREFIX) for one in os.environ if one.upper().startswith(PREFIX)}
    return bool(variables & given) or (isinstance(chosen, Mapping) and name in chosen)


def _over(settings: Mapping[str, object], overrides: Mapping[str, object]) -> dict[str, object]:
    """Return settings with overrides, of which a mapping changes only the named values of a section."""
    merged = dict(settings)
    for name, value in overrides.items():
        below = merged.get(name)
        merged[name] = {**below, **value} if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def load_settings(**overrides: object) -> Settings:
    """Read the settings; keyword arguments win over those of `choosing`, and these over environment and file.

    Raises:
        SettingsError: the file cannot be read or a value is not allowed; the message names the setting.
    """
    chosen, file = _chosen.get() or Chosen(), settings_file()
    if (chosen.file or os.environ.get(CONFIG_VARIABLE)) and not file.is_file():
        raise SettingsError(f"setting config or {CONFIG_VARIABLE}: {file} is not a file; name a lightrag.yaml")
    if not file.is_file() and (other := file.with_suffix(".yml")).is_file():
        raise SettingsError(f"{other} is not read; rename it to {file}")
    check_variables(Settings)
    try:
        settings = Settings(**_over(chosen.settings, overrides))  # type: ignore[arg-type]  # pydantic checks the values
        settings = settings.within(chosen.scope)
    except yaml.YAMLError as error:
        raise SettingsError(f"{file} is not valid YAML: {yaml_mistake(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {one_line(error)}") from error
    except ValidationError as error:
        mistake, place = _first_mistake(error), error.errors()[0]["loc"]
        lines = lines_of(file.read_text(encoding="utf-8"), place) if file.is_file() else []
        named = f"{file}, line {lines[-1]}," if lines and len(lines) == len(place) else f"{file}"
        places = f"{chosen.by}, {named}" if chosen.by else named
        see = " See" if mistake.endswith("?") else "; see"
        raise SettingsError(f"{mistake}{see} {places} and LIGHTRAG_… variables") from error
    except ValueError as error:
        said = one_line(error)
        raise SettingsError(f"{file} or a LIGHTRAG_… variable (lists are JSON) cannot be used: {said}") from error
    if settings.scope and settings.scopes and settings.scope not in settings.scopes:
        raise SettingsError(f"`scopes` has no {settings.scope}; name one of {', '.join(sorted(settings.scopes))}")
    return settings


def check_names(settings: Mapping[str, object]) -> None:
    """Refuse settings, of which others may come from elsewhere, with a name or choice that does not exist."""
    try:
        BaseModel.__init__(Settings.model_construct(), **settings)
    except ValidationError as error:
        if error.errors()[0]["type"] in ("extra_forbidden", "literal_error"):
            raise ValueError(_first_mistake(error)) from None


def _first_mistake(error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "extra_forbidden":
        return f"setting {unknown_name(Settings, first['loc'])}"
    name = ".".join(str(part) for part in first["loc"] if part != "[key]") or "settings"
    empty = "it has no value, as where a template names a variable that is not set"
    said = empty if first["input"] is None else first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing" and ".prices." in name:
        said = "a price is needed, 0 if it costs nothing"
    known = re.findall("'([^']+)'", first["ctx"]["expected"]) if first["type"] == "literal_error" else ()
    near = nearest(str(first["input"]), known)
    return f"setting {name}: {said}" + (f"; did you mean {near}?" if near else "")
