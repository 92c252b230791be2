"""`dbt-sources`: the tables of a knowledge base as sources of a dbt project."""

import sys
from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa
import yaml

from lightrag_dagster.settings import load_settings
from lightrag_dagster.view_schemas import DERIVED_VIEWS, DESCRIPTIONS, VIEWS

_WRITTEN = """\
# Written by `lightrag-dagster dbt-sources`; write it again after an upgrade. `database` is the name under which
# profiles.yml attaches views.duckdb of the home.
"""


def print_sources(name: str | None) -> None:
    """Print a `sources.yml` of dbt; its source and database have a name, by default the namespace or `knowledge`."""
    namespace = load_settings().namespace
    chosen = name or namespace or "knowledge"
    tables = [_table(table, schema, namespace) for table, schema in VIEWS.items()]
    source = {"name": chosen, "database": chosen, "schema": "main", "tables": tables}
    sys.stdout.write(_WRITTEN)
    yaml.safe_dump({"version": 2, "sources": [source]}, sys.stdout, sort_keys=False, allow_unicode=True, width=120)


def _table(name: str, schema: pa.Schema, namespace: str) -> Mapping[str, Any]:
    """Return what dbt is told of a table; with the key of its asset, so that dagster-dbt connects the two."""
    columns = [
        {"name": field.name, "description": field.metadata[b"description"].decode(), "data_type": str(kind)}
        for field, kind in zip(schema, duckdb.from_arrow(schema.empty_table()).types, strict=True)
    ]
    key = [part for part in (namespace, name) if part]
    asset = {"config": {"meta": {"dagster": {"asset_key": key}}}} if name not in DERIVED_VIEWS else {}
    return {"name": name, "description": DESCRIPTIONS[name], **asset, "columns": columns}
