"""The column lineage of every table: the columns of other tables that the values of a column are made from.

Catalogues build their edges from it. Columns that come from settings, from a call of a model or from all columns of
their own row, as `recipe`, `cost_usd` and `row_hash`, have none.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

import dagster as dg

from lightrag_dagster.assets.namespace import Namespace

Origins = Mapping[str, tuple[str, ...]]


def _read() -> Mapping[str, Origins]:
    text = resources.files(__package__).joinpath("column_lineage.toml").read_text("utf-8")
    return {
        table: {
            column: tuple(one if "." in one else f"{one}.{column}" for one in origins)
            for columns, origins in rows.items()
            for column in columns.split()
        }
        for table, rows in tomllib.loads(text).items()
    }


LINEAGE = _read()
"""Table → column → the columns, `table.column`, that its values are made from."""


@cache
def column_lineage(table: str, namespace: Namespace) -> dict[str, dg.TableColumnLineage]:
    """Return the metadata with the column lineage of a table; `raw_documents` and others from outside have none."""
    if table not in LINEAGE:
        return {}
    made_from = {
        column: [dg.TableColumnDep(namespace.key(one.split(".")[0]), one.split(".")[1]) for one in origins]
        for column, origins in LINEAGE[table].items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(made_from)}
