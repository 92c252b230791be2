"""Quotes and the documents that they are from, and the sources of entities and relations."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Lists, Rows
from lightrag_dagster.query.graph.citing import FoundQuote, citations_of
from lightrag_dagster.report.bounds import PageBounds
from lightrag_dagster.report.fitting import Fitting


class SourceSets:
    """The names of sources, and sets of them, which entities and relations name by number."""

    def __init__(self, graph: Adjacency) -> None:
        """Take a graph, of whose citations those that may be seen are in it."""
        self._graph = graph
        column = graph.citations.column("source").combine_chunks()
        self.names: list[str] = sorted(column.unique().to_pylist())
        self._codes = np.asarray(pa.compute.index_in(column, value_set=pa.array(self.names, pa.string())))
        self.sets: list[list[int]] = []
        self._numbers: dict[tuple[int, ...], int] = {}

    def of(self, lists: Lists, rows: Rows) -> list[int]:
        """Return the number of the set of sources for each of some rows, by the lists of their passages."""
        owners, chunks = lists.of_each(rows)
        among, at = citations_of(self._graph, chunks)
        pairs = np.unique(np.stack([owners[among], self._codes[at]], axis=1), axis=0)
        bounds = np.searchsorted(pairs[:, 0], np.arange(len(rows) + 1))
        found = pairs[:, 1].tolist()
        spans = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        return [self._number(tuple(found[start:end])) for start, end in spans]

    def _number(self, sources: tuple[int, ...]) -> int:
        if sources not in self._numbers:
            self._numbers[sources] = len(self.sets)
            self.sets.append(list(sources))
        return self._numbers[sources]


class QuotedEvidence(NamedTuple):
    """Columns of quotes and of their documents."""

    quotes: dict[str, list[Any]]
    documents: dict[str, list[Any]]


def evidence_of(
    graph: Adjacency, sources: list[str], quotes: list[FoundQuote], fit: Fitting, bounds: PageBounds
) -> QuotedEvidence:
    """Return the quotes that have room, the first ones of all entities before the second ones, by entity."""
    order = _in_turn(quotes)
    code = {name: number for number, name in enumerate(sources)}
    documents: dict[str, list[Any]] = {name: [] for name in ("source", "path", "date")}
    known: dict[str, int] = {}
    kept: list[tuple[int, tuple[Any, ...]]] = []
    for place in order:
        one = quotes[place]
        (row,) = graph.citations.slice(one.citation, 1).to_pylist()
        document = (code[row["source"]], fit.short(row["path"], bounds.path, "paths"), one.date)
        shown = [one.number, one.text, len(known), row["page"], row["page_end"]]
        if not fit.take(shown if row["doc_id"] in known else [shown, document]):
            fit.leave_out("quotes")
            continue
        if row["doc_id"] not in known:
            known[row["doc_id"]] = len(known)
            for name, value in zip(documents, document, strict=True):
                documents[name].append(value)
        kept.append((place, (*shown[:2], known[row["doc_id"]], *shown[3:])))
    names = ("entity", "text", "document", "page", "page_end")
    columns = zip(*(shown for _, shown in sorted(kept)), strict=True) if kept else ((),) * len(names)
    return QuotedEvidence({name: list(column) for name, column in zip(names, columns, strict=True)}, documents)


def _in_turn(quotes: list[FoundQuote]) -> list[int]:
    """Return the positions of quotes, the first of each entity, then the second, and so on."""
    numbers = np.array([one.number for one in quotes], dtype=np.int64)
    if not len(numbers):
        return []
    starts = np.searchsorted(numbers, numbers)
    return np.lexsort((numbers, np.arange(len(numbers)) - starts)).tolist()  # type: ignore[no-any-return]
