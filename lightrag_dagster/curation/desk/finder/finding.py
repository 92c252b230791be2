"""Names that may be one: pairs of entities that rules let meet, each with a score of all evidence.

words        the words of names and descriptions, and how much each says           sql/words.sql
blocks       the pairs that meet, at most MOST_PAIRS an entity                      sql/blocks.sql
evidence     likeness, common words, numbers, nearness of vectors, neighbours       evidence.py
verdicts     one score of all evidence, beside two thresholds                       verdicts.py

Nothing here joins names: people decide. The rows depend on the entities alone, not on their order.
"""

from collections.abc import Collection
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.curation.desk.finder.neighbours import Numbers, near_pairs
from lightrag_dagster.schemas import DUPLICATE_CANDIDATES
from lightrag_dagster.storage.duckdb import in_memory, spilling

MOST_PAIRS = 20

RULES = ("name", "acronym", "words", "order", "vectors")
"""The rules that let two entities meet, in order of the bits of `rules` in sql/blocks.sql."""

_NEAREST = 10
_IN_MEMORY = 5_000
_VARIABLES = {"longest": 4_000, "words": 64, "always": 8, "block": 30, "rarest": 6, "beside": 4, "most": MOST_PAIRS}

Apart = Collection[tuple[str, str]]


class Compared(NamedTuple):
    """Rows of DUPLICATE_CANDIDATES, and the numbers of pairs that met and are not among them."""

    rows: pa.Table
    cut: int
    """Pairs beyond the best MOST_PAIRS of an entity."""
    outdone: int
    """Pairs of which one entity has a much better partner."""
    unlikely: int
    """Pairs whose score is under both thresholds, unless their names are equal."""
    version: str = ""


def compare(
    entities: pa.Table, relations: pa.Table | None = None, vectors: Numbers | None = None, apart: Apart = ()
) -> Compared:
    """Find the entities that may be one.

    Args:
        entities: `entity_id`, `name`, `type` and `description`, in any order, and `chunk_ids` if they have chunks.
        relations: `src_id` and `tgt_id`, each a pair of entities; none unless given.
        vectors: The vector of each entity, in order of their rows; zeros where there is none.
        apart: Pairs of ids that are known to be two, which are left out.
    """
    from lightrag_dagster.curation.desk.finder.evidence import collect
    from lightrag_dagster.curation.desk.finder.verdicts import judge

    order = np.argsort(entities["entity_id"].to_numpy(zero_copy_only=False), kind="stable")
    if (order[1:] < order[:-1]).any():  # else a copy of all vectors would be in memory
        entities = entities.take(order)
        vectors = vectors if vectors is None else vectors[order]
    vectors = vectors if vectors is not None and len(vectors) else None
    near = near_pairs(vectors, _NEAREST) if vectors is not None else (_NONE, _NONE)
    with in_memory() if entities.num_rows <= _IN_MEMORY else spilling() as connection:
        met = _meet(connection, entities, near, apart)
        evidence = collect(connection, entities, relations, vectors)
    verdicts = judge(evidence)
    shown = np.flatnonzero(verdicts.shown)
    one, other = (entities.take(pa.array(places[shown])) for places in (evidence.one, evidence.other))
    rows = {
        "entity_id": one["entity_id"],
        "other_id": other["entity_id"],
        "name": one["name"],
        "other": other["name"],
        "type": one["type"],
        "other_type": other["type"],
        "found_by": _found_by(evidence.rules[shown]),
        "likeness": _rounded(evidence.likeness[shown]),
        "cosine": pa.nulls(len(shown), pa.float64()) if evidence.cosine is None else _rounded(evidence.cosine[shown]),
        "score": _rounded(verdicts.score[shown]),
        "verdict": pa.array(verdicts.verdict[shown].tolist(), pa.string()),
    }
    return Compared(
        pa.table(rows, schema=DUPLICATE_CANDIDATES),
        cut=met - len(evidence.one),
        outdone=int(verdicts.outdone.sum()),
        unlikely=int(verdicts.unlikely.sum()),
    )


_NONE = np.empty(0, dtype=np.int32)


def _meet(
    connection: duckdb.DuckDBPyConnection,
    entities: pa.Table,
    near: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    apart: Apart,
) -> int:
    """Make the tables of sql/words.sql and sql/blocks.sql, and return the number of pairs that met."""
    numbers = pa.array(np.arange(entities.num_rows, dtype=np.int32))
    kept_apart = pa.table({"entity_id": [one for one, _ in apart], "other_id": [other for _, other in apart]})
    for name, view in {
        "given": entities.select(["entity_id", "name", "type", "description"]).append_column("n", numbers),
        "stop_word": pa.table({"word": sorted(stop_words())}),
        "near": pa.table({"a": near[0], "b": near[1]}),
        "apart": kept_apart.cast(pa.schema([("entity_id", pa.string()), ("other_id", pa.string())])),
    }.items():
        connection.register(name, view)
    for name, value in (_VARIABLES | {"entities": entities.num_rows}).items():
        connection.execute(f"SET VARIABLE {name} = {value}")
    for script in ("words", "blocks"):
        connection.execute(read_sql(__package__, f"sql/{script}"))
    return int(connection.sql("SELECT count(*) FROM met").fetchall()[0][0])


def _rounded(numbers: npt.NDArray[np.float32]) -> pa.Array:
    # Processors differ in the last digits.
    return pa.array(np.round(numbers.astype(np.float64), 4))


def _found_by(rules: npt.NDArray[np.uint8]) -> pa.Array:
    names = [sorted(name for bit, name in enumerate(RULES) if rule >> bit & 1) for rule in range(1 << len(RULES))]
    return pa.array(names, pa.list_(pa.string())).take(pa.array(rules))
