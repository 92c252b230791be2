"""The table of names behind `find`, `entity`, `neighbours` and `path`, of made-up mentions, without a home.

    python -m benchmarks.graph_names --entities 1000000

Three mentions and 1.5 relations an entity, each of a passage at random; names are of eighteen characters and a number.
Prints seconds, those of the processor and the peak memory of making the table, once in a process, and of the statements
that read it: `find` by a name and by one that lacks a letter, and those of `entity`.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from lightrag_dagster.query.graph.finding import LIKE
from lightrag_dagster.query.statements import Statements, digits_in, folded, in_words
from lightrag_dagster.storage.duckdb import OF_QUESTIONS, bounded

_MACROS = """
CREATE MACRO id_of(one) AS 'ent-' || md5(one::VARCHAR);
CREATE MACRO name_of(one) AS concat_ws(' ', md5(one::VARCHAR)[:7], md5((-one)::VARCHAR)[:10], one::VARCHAR);
CREATE MACRO passage(number, count) AS 'chunk-' || md5((hash(number) % count)::VARCHAR);
SELECT setseed(0.5);
"""
_ENTITIES = """
SELECT id_of(one) AS entity_id, name_of(one) AS name, passage(number, $count // 4) AS chunk_id, number AS mention_index,
    repeat('said of it ', 10) AS description
FROM (SELECT number, if(number < $count, number, (random() ** 2 * $count)::BIGINT % $count) AS one
      FROM range(3 * $count) t(number))
"""
_RELATIONS = """
SELECT id_of(one) AS src_id, id_of(other) AS tgt_id, name_of(one) AS src, name_of(other) AS tgt,
    'rel-' || md5(number::VARCHAR) AS relation_id, passage(number, $count // 4) AS chunk_id, number AS mention_index,
    repeat('said of it ', 10) AS description
FROM (SELECT number, (random() ** 2 * $count)::BIGINT % $count AS one, (random() * $count)::BIGINT % $count AS other
      FROM range(3 * $count // 2) t(number))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, bounded(OF_QUESTIONS) as connection:
        write(Path(folder), given.entities)
        for kind in ("entity", "relation"):
            connection.execute(f"CREATE VIEW {kind}_evidence AS FROM '{folder}/{kind}_evidence.parquet'")
            connection.execute(f"CREATE VIEW said_of_{kind} AS FROM {kind}_evidence")
        connection.execute("SET threads = 1; SET async_threads = 0")
        measure(Statements(connection, {}), connection)


def write(folder: Path, entities: int) -> None:
    """Write the mentions of entities and of relations."""
    with duckdb.connect() as connection:
        connection.execute(_MACROS)
        for table, statement in {"entity_evidence": _ENTITIES, "relation_evidence": _RELATIONS}.items():
            statement = statement.replace("$count", str(entities))
            connection.execute(f"COPY ({statement}) TO '{folder}/{table}.parquet'")


def measure(statements: Statements, connection: duckdb.DuckDBPyConnection) -> None:
    timed("the table of names", partial(statements.rows, "same", fold="", most=1))
    asked = "SELECT name, entity_id FROM known_name ORDER BY hash(name) LIMIT 3"
    for name, entity in connection.execute(asked).fetchall():
        for label, text in (("find", name), ("find, a letter missing", name[:2] + name[3:])):
            fold = folded(pa.array([text], pa.string()))
            columns = {"fold": fold, "words": in_words(fold), "digits": digits_in(fold)}
            values = {one: column[0].as_py() for one, column in columns.items()}
            timed(label, partial(statements.rows, "find", **values, within=False, least=LIKE, most=100))
        timed("entity, by its name", partial(statements.rows, "same", fold=values["fold"], most=100))
        timed("entity, other names", partial(statements.rows, "aliases", entities=[entity]))


def timed(label: str, ask: Callable[[], pa.Table]) -> None:
    started, used = time.perf_counter(), time.process_time()
    ask()
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{label:24}{seconds:8.2f} s, processor {processor:6.2f} s, {memory:,.0f} MB, load {os.getloadavg()[0]:.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
