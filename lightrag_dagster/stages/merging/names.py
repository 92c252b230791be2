"""The mapping of names to entities, which decisions change, and the tables of what people wrote.

Every mention gets its entity here, before mentions are grouped, and nowhere else.
"""

import duckdb
import pyarrow as pa

from lightrag_dagster.core import identity
from lightrag_dagster.curation.rules import Curation, WrittenText
from lightrag_dagster.stages.merging import database

_LISTS = pa.list_(pa.string())
_RULES = pa.schema(
    [("rule", pa.int32())]
    + [(name, pa.string()) for name in ("base_id", "into_id", "entity_id")]
    + [(name, _LISTS) for name in ("sources", "paths", "types")]
)
_SPLIT_NAMES = pa.schema([("name", pa.string()), ("base_id", pa.string())])
_WRITTEN = pa.schema([(name, pa.string()) for name in ("id", "name", "type", "description")])


def name_entities(
    connection: duckdb.DuckDBPyConnection, table_of_names: str, curation: Curation | None = None
) -> frozenset[str]:
    """Assign every distinct `name` its entity; that of a removed one is null.

    The rule is in Python, so it is applied per name, not per mention. Returns the ids of those names that decisions
    name, as they are without decisions.
    """
    names = connection.sql(
        f"SELECT DISTINCT name FROM ({table_of_names}) ANTI JOIN entity_name USING (name)"
    ).to_arrow_table()["name"]
    bases = [identity.entity_id(name) for name in names.to_pylist()]
    found = bases if curation is None else list(map(curation.entity_of, bases))
    named = {"name": names, "base_id": pa.array(bases, pa.string()), "entity_id": pa.array(found, pa.string())}
    connection.register("named", pa.table(named))
    connection.execute("INSERT INTO entity_name FROM named")
    connection.unregister("named")
    return frozenset() if curation is None else frozenset(bases) & curation.named.keys()


def split_mentions(connection: duckdb.DuckDBPyConnection, curation: Curation) -> None:
    """Make the tables of mentions whose name means another entity in their chunk.

    Reads `entity_mention`, `relation_mention` and `chosen`. Makes `split_mention` (`chunk_id`, `mention_index`,
    `entity_id`) and, for relations, `split_chunk` (`chunk_id`, `base_id`, `entity_id`); those of removed entities have
    no entity. `undecided` has the mentions that fit the rules of several entities and keep the name's own, and
    `taking_rule` the rules that take something.
    """
    rules = [
        {"rule": rule, "base_id": one.entity_id, "into_id": one.into_id, "entity_id": curation.entity_of(one.into_id)}
        | {name: list(getattr(one, name)) for name in ("sources", "paths", "types")}
        for rule, one in enumerate(curation.splits)
    ]
    connection.register("split_rule", pa.Table.from_pylist(rules, _RULES))
    name_of_split = connection.sql(
        "SELECT name FROM entity_mention UNION SELECT src FROM relation_mention UNION SELECT tgt FROM relation_mention"
        " UNION SELECT unnest([subject, object]) FROM chosen_fact"
    ).to_arrow_table()["name"]
    split = {one.entity_id for one in curation.splits}
    names = name_of_split.drop_null().to_pylist()
    named = [(name, base) for name in names if (base := identity.entity_id(name)) in split]
    connection.register(
        "split_name",
        pa.table({"name": [one for one, _ in named], "base_id": [base for _, base in named]}, _SPLIT_NAMES),
    )
    database.run(connection, "split")


def register_written(connection: duckdb.DuckDBPyConnection, written: tuple[WrittenText, ...]) -> None:
    """Make the table `written` of what people wrote: `id` of an entity or relation, `name`, `type`, `description`."""
    rows: dict[str, dict[str, str]] = {}
    for one in written:
        rows.setdefault(one.id, {"id": one.id})[one.column] = one.text
    connection.register("written", pa.Table.from_pylist(list(rows.values()), _WRITTEN))


def register_removed(connection: duckdb.DuckDBPyConnection, curation: Curation) -> None:
    """Make the table `removed` of the ids of removed entities and relations."""
    connection.register("removed", pa.table({"id": pa.array(sorted(curation.removed), pa.string())}))
