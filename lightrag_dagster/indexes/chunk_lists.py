"""Lists of the chunks that support each entity or relation: from all evidence or, under a filter, the allowed one.

The chunks of a row are in turn over sources, as the merge lists them, so that the first hundred are a fair choice.
"""

from collections.abc import Mapping

import duckdb
import numpy as np
import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import IntegrityError
from lightrag_dagster.indexes.arrays import Lists, lists_of
from lightrag_dagster.stages.merging.database import run


def place_chunks(connection: duckdb.DuckDBPyConnection, ids: Mapping[str, pa.Array], *, keeps_first: bool) -> None:
    """Make the tables that `chunk_lists` reads, seen by this connection alone.

    Args:
        connection: has `place` (source, path, chunk_index, chunk_id) with every place that counts, and `relations`.
        ids: kind (entity, relation, chunk) → ids in the order of their rows, which become tables <kind>_row (id, row).
        keeps_first: True if the first chunks of a source have their turn first, False for the last.
    """
    run(connection, "shared")
    connection.execute("SET VARIABLE keeps_first = $1", [keeps_first])
    connection.execute(read_sql(__package__, "evidence"))
    for kind, own in ids.items():
        connection.register(f"{kind}_row", pa.table({"id": own, "row": np.arange(len(own), dtype=np.int32)}))
    connection.execute(read_sql(__package__, "chunk_positions"))


def chunk_lists(connection: duckdb.DuckDBPyConnection, kind: str, support: str) -> Lists:
    """Return the chunks of each entity or relation.

    Args:
        connection: as `place_chunks` left it.
        kind: entity or relation.
        support: `entity_chunks` or `relation_chunks` of tables of evidence; see evidence.sql.

    Raises:
        IntegrityError: evidence names a chunk that has no place.
    """
    connection.execute(f"CREATE OR REPLACE TEMP VIEW owner AS FROM {kind}_row")
    connection.execute(f"CREATE OR REPLACE TEMP VIEW support AS FROM {support}")
    found = connection.execute(read_sql(__package__, "chunk_lists")).fetchnumpy()
    if np.ma.is_masked(found["chunk"]):
        missing = "SELECT min(chunk_id) FROM support ANTI JOIN position USING (chunk_id)"
        ((chunk,),) = connection.execute(missing).fetchall()
        raise IntegrityError(f"evidence of an {kind} names {chunk}, which does not exist; nothing was published")
    ((number,),) = connection.execute("SELECT count(*) FROM owner").fetchall()
    return lists_of(found["owner"], found["chunk"], number)
