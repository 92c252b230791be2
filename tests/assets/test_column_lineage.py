"""The column lineage, beside the columns that docs/tables.md has and the lineage of the assets."""

from collections.abc import Set

import dagster as dg
import pytest

from lightrag_dagster.assets.column_lineage import LINEAGE, column_lineage
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES, UNPARTITIONED_TABLES, vector_schema
from lightrag_dagster.settings import Settings

VECTORS = dict.fromkeys(("chunk_vectors", "entity_vectors", "relation_vectors"), vector_schema(3))
TABLES = SOURCE_TABLES | MERGED_TABLES | VECTORS | UNPARTITIONED_TABLES
CALL = {"model", "rounds", "status", "error", "error_kind", "finish_reason", "cost_usd"}
TOKENS = {"input_tokens", "cached_input_tokens", "output_tokens"}

# Columns that are made of nothing in another table: of settings, of a model's call, or of all of their row.
MADE_OF_NONE: dict[str, Set[str]] = {
    "chunks": {"recipe"},
    "extractions": CALL | TOKENS | {"recipe"},
    "entities": {"summary_recipe", "row_hash"},
    "relations": {"summary_recipe", "row_hash"},
}
WITHOUT = {"raw_documents", "answers", "evaluated_questions", "retrieval_evaluation", "extraction_evaluation"}


@pytest.mark.parametrize("table", sorted(TABLES.keys() - WITHOUT))
def test_each_column_is_made_of_columns_that_its_asset_depends_on(table: str, settings: Settings) -> None:
    graph = build_definitions(settings.changed(namespace="finance")).resolve_asset_graph()
    behind = graph.get_ancestor_asset_keys(dg.AssetKey(["finance", table]))
    lineage = column_lineage(table, Namespace("finance"))["dagster/column_lineage"].deps_by_column
    assert set(lineage) == set(TABLES[table].names) - MADE_OF_NONE.get(table, set())
    for origins in lineage.values():
        assert origins
        for one in origins:
            assert one.asset_key in behind
            assert one.column_name in TABLES[one.asset_key.path[-1]].names


def test_tables_from_outside_have_none() -> None:
    assert TABLES.keys() - LINEAGE == WITHOUT
    assert column_lineage("raw_documents", Namespace()) == {}
