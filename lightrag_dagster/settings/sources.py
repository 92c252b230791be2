"""The settings of a source that is named in `lightrag.yaml`."""

from string import Formatter
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from lightrag_dagster.settings.sections import Section

_WEB = ("http://", "https://")


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
    query: str | None = Field(default=None, description="SQL that gives the rows, for a DuckDB file or a database.")
    database_variable: str | None = Field(
        default=None,
        description="Environment variable that has the SQLAlchemy URL of the database, instead of `uri`.",
    )

    @field_validator("text", "title", "author", "date", "tags", "language")
    @classmethod
    def _is_a_template(cls, template: str | None) -> str | None:
        list(Formatter().parse(template or ""))  # raises ValueError
        return template


class SourceSettings(Section):
    """One source named in `lightrag.yaml`; [sources](sources.md) has examples."""

    uri: str = Field(
        default="",
        description="A folder, a file or a glob on this machine, or a URI: `https://`; with the extra `cloud` `s3://`, "
        "`gs://` or `az://`; or another that fsspec knows, such as `zip::` or `sftp://`. No password is in it.",
    )
    include: tuple[str, ...] = Field(
        default=("**/*",), description="Globs of the paths, below the folder, that belong to the source."
    )
    exclude: tuple[str, ...] = Field(default=(), description="Globs of included paths that do not belong to it.")
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
        "depends on it.",
    )

    @model_validator(mode="after")
    def _says_where(self) -> "SourceSettings":
        if bool(self.uri) == bool(self.rows and self.rows.database_variable):
            raise ValueError("give it either a uri or, for the rows of a database, rows.database_variable")
        return self

    @model_validator(mode="after")
    def _follows_on_the_web(self) -> "SourceSettings":
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
    def _has_no_secret(cls, uri: str) -> str:
        for part in uri.split("::"):
            scheme, _, rest = part.rpartition("://")
            who = rest.split("/")[0].rpartition("@")[0]
            if ":" in who or (who and scheme in ("http", "https")):
                raise ValueError("there is a password in the URI; leave it out, and give it in the environment")
            if "?" in rest and scheme in ("http", "https"):
                raise ValueError("there is a query in the URI, which may be a secret; leave it out")
        return uri


def split_host(text: str) -> tuple[str, int | None]:
    """Return the host and the port of `host`, `host:port` or `[::1]:port`; raises ValueError for anything else."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.netloc != text or "@" in text or "*" in text or any(map(str.isspace, text)):
        raise ValueError(f"{text!r} is not a host; write docs.example or docs.example:8443")
    return parts.hostname, parts.port
