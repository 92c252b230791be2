"""The questions to the graph that an opened knowledge base answers."""

from collections.abc import Callable
from numbers import Integral
from typing import TypeVar, get_args

from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import instance, shown, wrong
from lightrag_dagster.query.awaited import awaited
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.graph.types import Choice, Connection, Neighbourhood, Profile, Way
from lightrag_dagster.query.opened import Opened
from lightrag_dagster.query.snapshot import Snapshot

Result = TypeVar("Result")


class GraphQuestions:
    """The methods of a knowledge base that ask its graph: no model is called, and filters bound all that is shown.

    A name is that of one entity: as it is displayed, or an alias, in any case and without regard to accents. If no
    entity is called so, the one that begins with it, holds its words or is spelt alike is taken, with a note. If
    several fit, an error lists them with their ids, which are accepted as names.
    """

    snapshot: Snapshot
    _opened: Opened

    def find(self, name: str, *, filters: Filters | None = None, limit: int = 20) -> Choice:
        """Return the entities that a name, a part of one or a misspelt one may mean, best first.

        The same names come before beginnings, words and similar names, and then those with most passages.

        Args:
            name: at most 1,000 characters.
            filters: the documents that may be seen; all, unless given.
            limit: most entities.

        Raises:
            QueryError: the name is empty or too long, a source of the filter does not exist, or a value is of another
                kind.
            ClosedError: the knowledge base is closed, or was opened in another process.
            StoreError: a table of the snapshot is missing or damaged.
        """
        from lightrag_dagster.query.graph.finding import find

        most = number_from_1(limit, "limit")
        return self._seen(lambda seen: find(seen, name, most), filters)

    def entity(self, name: str, *, filters: Filters | None = None, limit: int = 10) -> Profile:
        """Return all about one entity.

        Args:
            name: its name or id.
            filters: the documents that may be seen; all, unless given.
            limit: most aliases, quotes and neighbours each.

        Raises:
            QueryError: no entity has the name, or several may be meant; or as `find`.
            ClosedError: as `find`.
            StoreError: as `find`.
        """
        from lightrag_dagster.query.graph.entity import entity

        most = number_from_1(limit, "limit")
        return self._seen(lambda seen: entity(seen, name, most), filters)

    def neighbours(self, name: str, hops: int = 1, *, filters: Filters | None = None, limit: int = 50) -> Neighbourhood:
        """Return the entities within some hops of one; raises as `entity`.

        Args:
            name: name or id of the one.
            hops: most relations between them.
            filters: the documents that may be seen; all, unless given.
            limit: most entities.
        """
        from lightrag_dagster.query.graph.entity import neighbours

        most, furthest = number_from_1(limit, "limit"), number_from_1(hops, "hops")
        return self._seen(lambda seen: neighbours(seen, name, furthest, most), filters)

    def path(
        self, start: str, end: str, *, by: Way | None = None, filters: Filters | None = None, limit: int = 1
    ) -> Connection:
        """Return the paths between two entities, each step with `limit` quotes; raises as `entity`.

        Args:
            start: name or id of an entity.
            end: name or id of another.
            by: `hops` for the shortest path, `weight` for the one with the smallest sum of 1 / weight; else both.
            filters: the documents that may be seen; all, unless given.
            limit: most quotes for each step.
        """
        from lightrag_dagster.query.graph.paths import paths

        most, ways = number_from_1(limit, "limit"), get_args(Way)
        if by is not None and by not in ways:
            raise QueryError(f"by takes {' or '.join(ways)}, not {shown(by)}")
        return self._seen(lambda seen: paths(seen, start, end, (by,) if by else ways, most), filters)

    afind = awaited(find)
    aentity = awaited(entity)
    aneighbours = awaited(neighbours)
    apath = awaited(path)

    def _seen(self, ask: Callable[[Snapshot], Result], filters: Filters | None) -> Result:
        """Ask the part of the snapshot that a filter allows."""
        asked = Filters() if filters is None else instance(filters, Filters, "filters", 'Filters, such as Filters("a")')
        with self._opened.in_use(), self.snapshot.reading(), self._opened.retriever.view(asked) as seen:
            return ask(seen)


_MOST = 2**31
"""Numbers from here on count nothing that a snapshot has."""


def number_from_1(value: object, name: str) -> int:
    """Return a whole number from 1; raises QueryError."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) < _MOST:
        raise wrong(name, "a whole number from 1", value)
    return int(value)
