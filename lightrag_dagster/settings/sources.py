"""The settings of a source that is named in `lightrag.yaml`."""

import re
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from lightrag_dagster.core.text.names import folded
from lightrag_dagster.settings.sections import Section

_WEB = ("http://", "https://")

EVERY_PATH = ("**/*",)

PARTITION = re.compile(r"\{partition(?:\.(\w+))?\}")
"""The place of a partition's key in a URI or a query, or that of one of its dimensions."""

SIDECAR, SIDECAR_SUFFIX = "sidecar", ".access"
"""The place, in a template of access values, of the text of the file beside a document; the end of that file's path."""

_QUOTED = re.compile(rf"['\"]({PARTITION.pattern})")
_WORD = re.compile(r"\{\s*[\w.]+\s*\}")

# The begin of what follows `://`, with a password, which may have a slash; a port, a drive and an ARN of S3 have none.
_PASSWORD = re.compile(r"(?!arn:)[^/@]*:(?!\d*/)[^@]*@")

_OF_RELATION = ("relation", "subject_type", "object_type", "kind", "unit", "single")


def _template(text: str | None) -> str | None:
    list(_columns(text or ""))  # raises ValueError
    return text


def _columns(template: str) -> Iterator[str]:
    """Yield the columns in braces of a template; raises ValueError."""
    for _, column, form, conversion in Formatter().parse(template):
        if form or conversion:
            raise ValueError(f"its columns stand as they are: write {{{column}}}, and form the value in rows.query")
        if column is not None:
            yield column


def columns_in(template: str) -> list[str]:
    """Return the columns in braces of the values of a template, commas between them; raises ValueError."""
    return [column for value in template.split(",") for column in _columns(value)]


def asks_beside(access: Mapping[str, str]) -> bool:
    """Say whether files beside documents say who may see some of them."""
    return any(SIDECAR in columns_in(template) for template in access.values())


class FactColumns(Section):
    """Columns of a table that state a fact: templates, as those of RowsSettings, but for names of the schema."""

    subject: str = Field(description="Template of the name that it is about.")
    subject_type: str = Field(default="thing", description="Its type.")
    relation: str = Field(pattern=r"^[^|\s][^|\n]*$", description="Name of the relation.")
    object: str | None = Field(default=None, description="Template of the name at the other end.")
    object_type: str = Field(default="thing", description="Its type.")
    value: str | None = Field(default=None, description="Template of the value, where there is no object.")
    kind: Literal["number", "date", "text", "yes/no"] = Field(default="number", description="Kind of the value.")
    unit: str | None = Field(default=None, description="Unit of a number.")
    decimal: Literal[".", ","] | None = Field(default=None, description="Decimal sign of numbers written as text.")
    valid_from: str | None = Field(default=None, description="Template of the first day, month or year.")
    valid_to: str | None = Field(default=None, description="Template of the last.")
    single: bool = Field(default=False, description="A subject has one such object or value at a time.")

    _are_templates = field_validator("subject", "object", "value", "valid_from", "valid_to")(_template)

    @model_validator(mode="after")
    def _has_one_end(self) -> Self:
        if (self.object is None) == (self.value is None):
            raise ValueError("give it either `object` or `value`, a column or a template")
        return self


class RowsSettings(Section):
    """Rows of a table as documents. A template is text with columns in braces, `{subject}`, or one column's name."""

    id: str = Field(default="id", description="Column that names a document, as its path: unique, and lasting.")
    text: str = Field(default="text", description="Template of its text.")
    format: Literal["markdown", "html"] = Field(default="markdown", description="Format of the text.")
    title: str | None = Field(default=None, description="Template of its title.")
    author: str | None = Field(default=None, description="Template of its author.")
    date: str | None = Field(default=None, description="Template of the day it was written.")
    tags: str | None = Field(default=None, description="Template of its tags: a list, or commas between them.")
    language: str | None = Field(default=None, description="Template of its language, such as `de`.")
    modified: str | None = Field(default=None, description="Column that says when it was last changed.")
    query: str | None = Field(
        default=None,
        description="SQL that gives the rows, for a DuckDB file or a database; `{partition}` is that of `asset`.",
    )
    watermark: str | None = Field(
        default=None,
        description="Column that grows with every change, such as `updated_at`: only rows from its highest value on "
        "are read, and documents that are gone stay until a backfill, which reads all rows.",
    )

    facts: tuple[FactColumns, ...] = Field(
        default=(),
        description="Facts that the columns state: `subject: customer, relation: revenue, value: amount, unit: EUR, "
        "valid_from: month`. Each becomes a line of the document. See docs/facts.md.",
    )

    @field_validator("query")
    @classmethod
    def _binds_the_partition(cls, query: str | None) -> str | None:
        if found := _QUOTED.search(query or ""):
            raise ValueError(f"write {found[1]} without quotes: it is bound as a text")
        return query

    _are_templates = field_validator("text", "title", "author", "date", "tags", "language")(_template)

    @field_validator("facts")
    @classmethod
    def _agree(cls, facts: tuple[FactColumns, ...]) -> tuple[FactColumns, ...]:
        first = {folded(one.relation): one for one in reversed(facts)}
        for one in facts:
            other = first[folded(one.relation)]
            if any(getattr(one, name) != getattr(other, name) for name in _OF_RELATION) or bool(one.value) != bool(
                other.value
            ):
                raise ValueError(
                    f"{one.relation} is stated twice, with other types, kind or unit; give it another name"
                )
        return facts


class SourceSettings(Section):
    """One source named in `lightrag.yaml`; [sources](sources.md) has examples."""

    uri: str = Field(
        default="",
        description="A folder, a file or a glob on this machine, or a URI: `https://`; with the extra `cloud` `s3://`, "
        "`gs://` or `az://`; or another that fsspec knows, such as `zip::` or `sftp://`. No password is in it. "
        "`{partition}` is the partition of `asset`. With `rows`, `$NAME` is a database, of which that environment "
        "variable has the URL, as for SQLAlchemy.",
    )
    include: tuple[str, ...] = Field(
        default=EVERY_PATH, description="Globs of the paths, below the folder, that belong to the source."
    )
    exclude: tuple[str, ...] = Field(default=(), description="Globs of included paths that do not belong to it.")
    types: dict[str, str] = Field(
        default={},
        description="Types of files by globs of their paths, the first that matches: a suffix without its dot, as in "
        "`cur/**: eml`, or `text` for plain text. Other files have the type that their suffix or content tells.",
    )
    access: dict[str, str] = Field(
        default={},
        description="Who may see a document, by globs of paths, the first that matches: values with commas between "
        "them. `{sidecar}` is the text of the file beside it, named `PATH.access`; of rows, `{team}` is a column.",
    )
    mask: str | None = Field(
        default=None,
        description="Dotted path of a function, `package.module.function`, that gets each text of a document and "
        "returns it masked, or raises ValueError to refuse the document; nothing else is stored or sent.",
    )
    follow_hosts: tuple[str, ...] = Field(
        default=(),
        description="Hosts, as `docs.example` or `docs.example:8443`, that an `https://` source may be redirected to, "
        "besides its own.",
    )
    rows: RowsSettings | None = Field(
        default=None,
        description="Documents are the rows of CSV, JSON Lines or Parquet files, of a DuckDB file or of a database.",
    )
    asset: str | None = Field(
        default=None,
        description="Key of the Dagster asset that makes the files or rows, such as `crawl/pages`; `raw_documents` "
        "depends on it. With `{partition}` in `uri` or `rows.query`, only its partitions that changed are read.",
    )

    @field_validator("include", "exclude", "types", "access")
    @classmethod
    def _are_of_every_partition(cls, patterns: tuple[str, ...] | dict[str, str]) -> tuple[str, ...] | dict[str, str]:
        for pattern in patterns:
            if found := PARTITION.search(pattern):
                raise ValueError(
                    f"{found[0]} is not replaced in patterns; write {{partition}} in uri or rows.query, and here "
                    "patterns of the paths below it"
                )
        return patterns

    @property
    def said(self) -> list[object]:
        """All that is set, and the order of globs of which the first that matches counts."""
        ordered = [[*globs.items()] for globs in (self.types, self.access) if globs]
        return [self.model_dump(mode="json", exclude_defaults=True), *ordered]

    @property
    def dimensions(self) -> set[str]:
        """The dimensions of the upstream asset's partitions that are named; "" for the whole key, none without one."""
        return {found[1] or "" for text in (self.uri, self.query) for found in PARTITION.finditer(text)}

    @property
    def query(self) -> str:
        """The SQL that gives its rows; "" without one."""
        return (self.rows.query if self.rows else None) or ""

    @model_validator(mode="after")
    def _fits_together(self) -> "SourceSettings":
        if self.asset and (other := _WORD.search(PARTITION.sub("", self.uri))):
            raise ValueError(
                f"uri: {other[0]} is not replaced; write {{partition}}, or a dimension as in {{partition.day}}"
            )
        if self.dimensions and not self.asset:
            raise ValueError("{partition} is that of a Dagster asset; name it, as in asset: crawl/pages")
        if "" in self.dimensions and len(self.dimensions) > 1:
            raise ValueError("write either {partition} or its dimensions, as in {partition.day}")
        if self.dimensions and self.rows and self.rows.watermark:
            raise ValueError("give it either {partition} or rows.watermark, which both say what changed")
        if not self.uri or (self.uri.startswith("$") and not self.rows):
            raise ValueError("give it a uri; $NAME, with rows, for a database whose URL a variable holds")
        if (self.query or self.uri.startswith("$")) and (self.exclude or self.include != EVERY_PATH):
            raise ValueError("include and exclude choose files; choose rows in rows.query, by WHERE")
        if self.types and self.rows:
            raise ValueError("types are for files; rows have rows.format")
        columns = {column for template in self.access.values() for column in columns_in(template)}
        if (unknown := sorted(columns - {SIDECAR})) and not self.rows:
            raise ValueError(f"access: {{{unknown[0]}}} is a column of rows; files have {{{SIDECAR}}} alone")
        if self.follow_hosts and not any(part.lower().startswith(_WEB) for part in self.uri.split("::")):
            raise ValueError("follow_hosts is for a uri on the web, such as https://docs.example/manuals")
        return self

    @field_validator("follow_hosts")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            split_host(host)  # raises ValueError
        return hosts

    @field_validator("uri")
    @classmethod
    def _names_no_secret(cls, uri: str) -> str:
        for part in uri.split("::"):
            scheme, _, rest = part.rpartition("://")
            web = scheme.lower() in ("http", "https")
            if scheme and (_PASSWORD.match(rest) or (web and "@" in rest.split("/")[0])):
                raise ValueError("there is a password in the URI; leave it out, and give it in the environment")
            if "?" in rest and web:
                raise ValueError("there is a query in the URI, which may be a secret; leave it out")
        return uri


def split_host(text: str) -> tuple[str, int | None]:
    """Return the host and the port of `host`, `host:port` or `[::1]:port`; raises ValueError for anything else."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.netloc != text or "@" in text or "*" in text or any(map(str.isspace, text)):
        raise ValueError(f"{text!r} is not a host; write docs.example or docs.example:8443")
    return parts.hostname, parts.port
