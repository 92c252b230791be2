"""Work in this process, one item after the other: DuckDB, Arrow and the models use all its processors by themselves."""

from collections.abc import Callable, Iterable

from lightrag_dagster.engines.engine import Item, Result


class LocalEngine:
    """Applies functions in this process."""

    workers = 1

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See `Engine.map`."""
        return [function(item) for item in items]
