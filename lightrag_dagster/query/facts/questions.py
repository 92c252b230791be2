"""The questions about facts that an opened knowledge base answers."""

from typing import Unpack, get_args

from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import shown
from lightrag_dagster.query.awaited import awaited
from lightrag_dagster.query.facts.conditions import By, FactOptions, conditions_of
from lightrag_dagster.query.facts.types import FactCounts, FactList
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.graph.questions import GraphQuestions, number_from_1


class FactQuestions(GraphQuestions):
    """The methods of a knowledge base that list and count facts, bound by filters and without a model."""

    def facts(
        self,
        subject: str | None = None,
        *,
        filters: Filters | None = None,
        limit: int = 100,
        **given: Unpack[FactOptions],
    ) -> FactList:
        """Return the facts that meet all conditions, newest first, and superseded ones too unless `as_of` is given.

        Args:
            subject: name or id of the entity that they are about.
            filters: the documents that may be seen, as if there were no others; all, unless given.
            limit: most facts.
            **given: see `FactOptions`.

        Raises:
            QueryError: no entity, relation or type has the name, several entities may be meant, a value or day cannot
                be read; or as `find`.
            ClosedError: as `find`.
            StoreError: as `find`.
        """
        from lightrag_dagster.query.facts.asking import list_facts

        most, asked = number_from_1(limit, "limit"), conditions_of(subject, filters, given)
        return self._seen(lambda seen: list_facts(seen, asked, most), asked.filters)

    def count(
        self,
        subject: str | None = None,
        *,
        by: By | None = None,
        filters: Filters | None = None,
        limit: int = 100,
        **given: Unpack[FactOptions],
    ) -> FactCounts:
        """Return the number of facts that meet all conditions, each number with evidence; takes and raises as `facts`.

        Args:
            subject: as `facts`.
            by: one number for each relation, subject, object, type of the subject, value, or year of `valid_from`.
            filters: as `facts`.
            limit: most numbers.
            **given: see `FactOptions`.
        """
        from lightrag_dagster.query.facts.asking import count_facts

        most, asked = number_from_1(limit, "limit"), conditions_of(subject, filters, given)
        if by is not None and by not in get_args(By):
            raise QueryError(f"by takes {', '.join(get_args(By))}, not {shown(by)}")
        return self._seen(lambda seen: count_facts(seen, asked, by, most), asked.filters)

    afacts = awaited(facts)
    acount = awaited(count)
