"""The questions that an opened knowledge base answers without a model: of its graph and facts, in SQL and Cypher."""

import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from numbers import Integral
from typing import Any, TypeVar, Unpack, get_args

import pyarrow as pa

from lightrag_dagster.errors import QueryError, QueryTimeoutError
from lightrag_dagster.indexes.cypher import LIMIT, require_graph
from lightrag_dagster.query.arguments import instance, seconds_of, shown, text, wrong
from lightrag_dagster.query.asked import asking
from lightrag_dagster.query.awaited import awaited
from lightrag_dagster.query.facts.conditions import By, FactOptions, conditions_of
from lightrag_dagster.query.facts.types import FactCounts, FactList
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.graph.types import Choice, Connection, Neighbourhood, Profile, Way
from lightrag_dagster.query.opened import Opened
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home

Result = TypeVar("Result")
Seconds = float | None
"""A time, if one is given."""


class Lookups:
    """The methods of a knowledge base that call no model; filters bound all that `find` to `count` show.

    A name is that of one entity: as it is displayed, or an alias, in any case and without regard to accents. If no
    entity is called so, the one that begins with it, holds its words or is spelt alike is taken, with a note. If
    several fit, an error lists them with their ids, which are accepted as names.
    """

    snapshot: Snapshot
    settings: Settings
    _opened: Opened

    def find(self, name: str, *, filters: Filters | None = None, limit: int = 20, timeout: Seconds = None) -> Choice:
        """Return the entities that a name, a part of one or a misspelt one may mean, best first.

        The same names come before beginnings, words and similar names, and then those with most passages.

        Args:
            name: at most 1,000 characters.
            filters: the documents that may be seen; all, unless given.
            limit: most entities.
            timeout: maximum time; unlimited unless given. Seconds.

        Raises:
            QueryError: the name is empty or too long, a source of the filter does not exist, or a value is of another
                kind.
            QueryTimeoutError: it takes longer than `timeout`.
            ClosedError: the knowledge base is closed, or was opened in another process.
            StoreError: a table of the snapshot is missing or damaged.
        """
        from lightrag_dagster.query.graph.finding import find

        most = _number_from_1(limit, "limit")
        return self._seen(lambda seen: find(seen, name, most), filters, timeout)

    def entity(self, name: str, *, filters: Filters | None = None, limit: int = 10, timeout: Seconds = None) -> Profile:
        """Return all about one entity.

        Args:
            name: its name or id.
            filters: the documents that may be seen; all, unless given.
            limit: most aliases, quotes and neighbours each.
            timeout: as `find`.

        Raises:
            QueryError: no entity has the name, or several may be meant; or as `find`.
            QueryTimeoutError: as `find`.
            ClosedError: as `find`.
            StoreError: as `find`.
        """
        from lightrag_dagster.query.graph.entity import entity

        most = _number_from_1(limit, "limit")
        return self._seen(lambda seen: entity(seen, name, most), filters, timeout)

    def neighbours(
        self, name: str, hops: int = 1, *, filters: Filters | None = None, limit: int = 50, timeout: Seconds = None
    ) -> Neighbourhood:
        """Return the entities within some hops of one; raises as `entity`.

        Args:
            name: name or id of the one.
            hops: most relations between them.
            filters: the documents that may be seen; all, unless given.
            limit: most entities.
            timeout: as `find`.
        """
        from lightrag_dagster.query.graph.entity import neighbours

        most, furthest = _number_from_1(limit, "limit"), _number_from_1(hops, "hops")
        return self._seen(lambda seen: neighbours(seen, name, furthest, most), filters, timeout)

    def path(
        self,
        start: str,
        end: str,
        *,
        by: Way | None = None,
        filters: Filters | None = None,
        limit: int = 1,
        timeout: Seconds = None,
    ) -> Connection:
        """Return the paths between two entities, each step with `limit` quotes; raises as `entity`.

        Args:
            start: name or id of an entity.
            end: name or id of another.
            by: `hops` for the shortest path, `weight` for the one with the smallest sum of 1 / weight; else both.
            filters: the documents that may be seen; all, unless given.
            limit: most quotes for each step.
            timeout: as `find`.
        """
        from lightrag_dagster.query.graph.paths import paths

        most, ways = _number_from_1(limit, "limit"), get_args(Way)
        if by is not None and by not in ways:
            raise QueryError(f"by takes {' or '.join(ways)}, not {shown(by)}")
        return self._seen(lambda seen: paths(seen, start, end, (by,) if by else ways, most), filters, timeout)

    afind = awaited(find)
    aentity = awaited(entity)
    aneighbours = awaited(neighbours)
    apath = awaited(path)

    def facts(
        self,
        subject: str | None = None,
        *,
        filters: Filters | None = None,
        limit: int = 100,
        timeout: Seconds = None,
        **given: Unpack[FactOptions],
    ) -> FactList:
        """Return the facts that meet all conditions, newest first, and superseded ones too unless `as_of` is given.

        Args:
            subject: name or id of the entity that they are about.
            filters: the documents that may be seen, as if there were no others; all, unless given.
            limit: most facts.
            timeout: as `find`.
            **given: see `FactOptions`.

        Raises:
            QueryError: no entity, relation or type has the name, several entities may be meant, a value or day cannot
                be read; or as `find`.
            QueryTimeoutError: as `find`.
            ClosedError: as `find`.
            StoreError: as `find`.
        """
        from lightrag_dagster.query.facts.asking import list_facts

        most = _number_from_1(limit, "limit")
        asked = conditions_of(subject, filters, given)
        return self._seen(lambda seen: list_facts(seen, asked, most), asked.filters, timeout)

    def count(
        self,
        subject: str | None = None,
        *,
        by: By | None = None,
        filters: Filters | None = None,
        limit: int = 100,
        timeout: Seconds = None,
        **given: Unpack[FactOptions],
    ) -> FactCounts:
        """Return the number of facts that meet all conditions, each number with evidence; takes and raises as `facts`.

        Args:
            subject: as `facts`.
            by: one number for each relation, subject, object, type of the subject, value, or year of `valid_from`.
            filters: as `facts`.
            limit: most numbers.
            timeout: as `find`.
            **given: see `FactOptions`.
        """
        from lightrag_dagster.query.facts.asking import count_facts

        most = _number_from_1(limit, "limit")
        asked = conditions_of(subject, filters, given)
        if by is not None and by not in get_args(By):
            raise QueryError(f"by takes {', '.join(get_args(By))}, not {shown(by)}")
        return self._seen(lambda seen: count_facts(seen, asked, by, most), asked.filters, timeout)

    afacts = awaited(facts)
    acount = awaited(count)

    def cypher(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limit: int | None = None,
        timeout: Seconds = None,
    ) -> list[dict[str, Any]]:
        """Run one read-only Cypher query on the graph and return its first rows: `limit`, or 1,000 with a warning.

        It runs in a process of its own, which the first query starts. Queries take turns. The first one on an older
        snapshot makes its graph again, in `cache.folder`.

        Args:
            query: one statement of Cypher.
            parameters: values of its parameters, by their names without `$`.
            limit: most rows, without a warning if there are more.
            timeout: maximum time, also waiting for its turn; from its turn on a minute, if that is less. Seconds.

        Raises:
            QueryError: the query is wrong or refused, takes more than 2 GB, or ended its process.
            QueryTimeoutError: it takes longer than `timeout`, or a minute.
            StoreError: the graph of this snapshot is left out, not built yet or damaged.
        """
        most = LIMIT if limit is None else _number_from_1(limit, "limit")
        with self._opened.in_use(), self.snapshot.reading(), asking(seconds_of(timeout)) as asked:
            graph = require_graph(self.snapshot.generation, self.settings)
            try:
                found = self._opened.cypher(graph).query(text(query, "query"), parameters, limit=most, ask=asked.ask)
            except QueryTimeoutError:
                asked.left()  # raises for the time of the question, if that is over
                raise
        if found.more and limit is None:
            warnings.warn(f"there are more than {LIMIT} rows; give `limit`, or narrow the query", stacklevel=2)
        return found.rows

    acypher = awaited(cypher)

    def sql(self, query: str, *, timeout: Seconds = None, trusted: bool = False) -> pa.Table:
        """Run SQL of DuckDB on the tables of the snapshot, and return the rows of its last statement that has some.

        Each call has a database of its own, in memory, which sees only these tables and, of the home, `snapshots`,
        `costs` and `ledger`; it takes at most a quarter of the machine's or container's memory, and 4 GB. It is in one
        of two processes, which the first calls start and which end a minute after the last: on Linux such a process
        takes at most twice that memory.

        Args:
            query: one statement, or several, such as `CREATE TEMP TABLE …; FROM …`.
            timeout: maximum time, also waiting for its turn; unlimited unless given. Seconds.
            trusted: True runs it in this process, which a single giant value, such as a list of a billion numbers, may
                end, and which completes one first when the time is over.

        Raises:
            QueryError: it is wrong, refused, takes too much memory, or returns no rows.
            QueryTimeoutError: it takes longer than `timeout`.
            StoreError: a table of the snapshot is missing or damaged, or the rows have no room on the disk.
        """
        from lightrag_dagster.indexes.sql import last_result, open_tables, published_tables
        from lightrag_dagster.query.home_tables import tables_of_home, told

        statements, seconds = text(query, "query"), seconds_of(timeout)
        instance(trusted, bool, "trusted", "True or False")
        with self._opened.in_use(), self.snapshot.reading(), asking(seconds) as asked:
            more, lacking = tables_of_home(Home.of(self.settings), statements)
            files = published_tables(self.snapshot.generation)
            with told(lacking), ExitStack() as opened:
                if not trusted:
                    return self._opened.sql.query(files, statements, more, asked)
                connection = opened.enter_context(open_tables(files, more=more))
                for question in (self._opened.life, asked):
                    opened.enter_context(question.ended_by(connection.interrupt))
                return last_result(connection, statements, timeout=asked.left())

    asql = awaited(sql)

    def communities(self, *, timeout: Seconds = None) -> pa.Table:
        """Return COMMUNITIES of the graph, found by each call; knows no filter.

        Args:
            timeout: as `find`.

        Raises:
            QueryTimeoutError: as `find`.
            SettingsError: the extra `graph` is not installed.
            StoreError: a table is missing or damaged.
        """
        from lightrag_dagster.pipeline.communities import communities_of

        return self._seen(lambda seen: communities_of(seen.generation), None, timeout)

    acommunities = awaited(communities)

    def changes(self, before: str | None = None, *, timeout: Seconds = None) -> pa.Table:
        """Return CHANGES since snapshot `before`, by default the one before this; knows no filter.

        Args:
            before: its id or name.
            timeout: as `find`.

        Raises:
            QueryTimeoutError: as `find`.
            QueryError: there is no such snapshot, or none before.
            StoreError: a table is missing or damaged.
        """
        from lightrag_dagster.indexes.changes import changes_between, compared

        name = None if before is None else text(before, "before")
        home, last = Home.of(self.settings), self.snapshot.manifest.snapshot_id
        return self._seen(lambda _: changes_between(*compared(home, name, last)), None, timeout)

    achanges = awaited(changes)

    def _seen(self, ask: Callable[[Snapshot], Result], filters: Filters | None, timeout: Seconds) -> Result:
        """Ask the part of the snapshot that a filter allows."""
        asked = Filters() if filters is None else instance(filters, Filters, "filters", 'Filters, such as Filters("a")')

        def read() -> Result:
            with self._opened.in_use(), self.snapshot.reading():
                return ask(self._opened.retriever.view(asked))

        return self._opened.in_time(read, seconds_of(timeout))


_MOST = 2**31
"""Numbers from here on count nothing that a snapshot has."""


def _number_from_1(value: object, name: str) -> int:
    """Return a whole number from 1; raises QueryError."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) < _MOST:
        raise wrong(name, "a whole number from 1", value)
    return int(value)
