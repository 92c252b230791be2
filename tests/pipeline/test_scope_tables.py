"""The rows that a scope shows of the tables above it."""

import pyarrow as pa
import pytest

from lightrag_dagster.fact_schemas import READINGS
from lightrag_dagster.pipeline.scope_tables import Shown
from lightrag_dagster.schemas import EXTRACTIONS
from tests.storage.corpus import rows

COSTS = {"input_tokens": 900, "cached_input_tokens": 90, "output_tokens": 9, "cost_usd": 0.25}


@pytest.mark.parametrize("schema", [EXTRACTIONS, READINGS])
def test_no_row_tells_what_it_cost(schema: pa.Schema) -> None:
    shown = Shown(pa.array(["doc-a"]), pa.table({"doc_id": [], "original": []}), 0, pa.array(["chunk-a"]))
    table = rows(schema, [{"chunk_id": name, "model": "m", **COSTS} for name in ("chunk-a", "chunk-b")])
    found = shown.rows("extractions", table)
    assert found.schema == schema
    (row,) = found.to_pylist()
    assert (row["chunk_id"], row["model"]) == ("chunk-a", "m")
    assert {row[name] for name in COSTS} == {0}
