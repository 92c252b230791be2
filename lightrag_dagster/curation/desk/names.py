"""The names in the newest merge: those that decisions may name, and the nearest of one that does not exist."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import duckdb

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.curation.rules import Decision, Placed, resolve
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import generations

_TABLES = ("entities", "entity_evidence", "relation_evidence")
_NEAREST = 3
_ALIKE = 0.8


class KnownNames:
    """The names of a merge, as documents have them and as they are displayed."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, removed: Iterable[str], decisions: Sequence[Placed] = ()
    ) -> None:
        """Take a database with the tables of a generation, ids of names whose mentions it lacks, and decisions."""
        self._connection = connection
        curation = resolve(decisions)
        self._given = {entity_id(one.decision.into) for one in decisions if one.decision.into}
        self._parts = {curation.joined.get(one.into_id, one.into_id) for one in curation.splits}
        self._joined = curation.joined
        connection.execute(read_sql(__package__, "sql/names"))
        names = connection.execute("SELECT DISTINCT name FROM extracted ORDER BY name").fetchall()
        self._ids = {entity_id(name) for (name,) in names}.union(removed)

    def as_extracted(self, name: str, *, renamed: bool = False) -> str:
        """Return a name as documents have it, of one that is only displayed; any other name as it is.

        No document has the name of a part that a decision splits off: it stays. So does one that a decision gave, if
        the entity is to be `renamed`: the new name comes after it.
        """
        base = entity_id(name)
        is_part = self._joined.get(base, base) in self._parts
        if base in self._ids or is_part or (renamed and base in self._given):
            return name
        found = self._connection.execute(read_sql(__package__, "sql/as_extracted"), {"entity": base}).fetchone()
        return str(found[0]) if found else name

    def is_known(self, name: str) -> bool:
        """Say whether a document has a name, in any spelling."""
        return entity_id(name) in self._ids

    def nearest(self, name: str) -> Sequence[str]:
        """Return the names that hold another as words, or are most like it, the most alike first; none if none is."""
        bounds = {"name": name, "alike": _ALIKE, "most": _NEAREST}
        found = self._connection.execute(read_sql(__package__, "sql/similar_names"), bounds).fetchall()
        return [str(one) for (one,) in found]


@contextmanager
def known_names(home: Home, decisions: Sequence[Placed] = ()) -> Iterator[KnownNames | None]:
    """Give the names of the newest merge, as decisions in force change them; None before the first merge.

    Raises:
        DecisionError: the decisions cannot all hold.
        StoreError: the merge is damaged, in the block as well.
    """
    try:
        generation = generations.newest_generation(home)
        removed = generation.record().curation.removed
    except StoreError:
        yield None
        return
    with open_tables(generation, _TABLES) as connection:
        yield KnownNames(connection, removed, decisions)


def in_documents(known: KnownNames, decision: Decision) -> Decision:
    """Return a decision with its names spelt as in the documents; a name that none has is kept."""
    renamed = decision.action == "rename" or (decision.action == "merge" and decision.into is not None)
    names = tuple(known.as_extracted(name, renamed=renamed) for name in decision.names)
    return decision.model_copy(update={"names": names})
