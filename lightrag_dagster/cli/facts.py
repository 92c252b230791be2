"""`facts` and `count`: rows of facts, and numbers of them."""

from dataclasses import fields
from typing import Any

from rich.console import Console

from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.rows import Form, print_rows
from lightrag_dagster.query.facts.types import FactCounts, FactList
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.types import Fact, FactCitation

_PLACE = ("source", "path", "char_start", "char_end", "words")
_COLUMNS = [one.name for one in fields(Fact) if one.name not in ("contradicts", "citations", "reference_id")]


def show_facts(console: Console, form: Form, snapshot: str | None, **given: Any) -> None:
    """Print facts; CSV has a column for each field and the first citation, JSON has all of them.

    Raises as `KnowledgeBase.open` and `KnowledgeBase.facts`.
    """
    with KnowledgeBase.open(snapshot_id=snapshot) as knowledge:
        found = knowledge.facts(**given)
    rows: list[tuple[object, ...]]
    if form == "table":
        columns = ["subject", "relation", "object or value", "from", "until", "stands in"]
        rows = [_read(one) for one in found]
    elif form == "json":
        told = found.to_dict()["facts"]
        columns = [*_COLUMNS, "contradicts", "citations"]
        rows = [tuple(one[name] for name in columns) for one in told]
    else:
        columns = [*_COLUMNS, "contradicts", *_PLACE]
        rows = [_flat(one) for one in found]
    _print(console, form, columns, rows, found)


def show_counts(console: Console, form: Form, snapshot: str | None, **given: Any) -> None:
    """Print numbers of facts, with the newest of each; raises as `KnowledgeBase.open` and `KnowledgeBase.count`."""
    with KnowledgeBase.open(snapshot_id=snapshot) as knowledge:
        found = knowledge.count(**given)
    shared = [found.by] if found.by else []
    evidence = ["newest stands in"] if form == "table" else ["fact_ids", "citations", "left_out"]
    rows = list[tuple[object, ...]]()
    for one in found.counts:
        said: tuple[object, ...] = (one.fact_ids, [vars(place) for place in one.citations], one.left_out)
        if form == "table":
            said = (_place(one.citations, one.count - 1),)
        elif form != "json":
            said = (" ".join(one.fact_ids), "; ".join(map(_file, one.citations)), one.left_out)
        rows.append((*([one.key] if shared else []), one.count, *said))
    if not (rows or shared):
        rows.append((0, *({"table": ("",), "json": ([], [], 0)}.get(form, ("", "", 0)))))
    _print(console, form, [*shared, "facts", *evidence], rows, found)


def _print(
    console: Console, form: Form, columns: list[str], rows: list[tuple[object, ...]], found: FactList | FactCounts
) -> None:
    for note in found.notes:
        terminal.console(stderr=True).print(f"note: {note}")
    texts = {"subject", "relation", "object or value", "stands in", "newest stands in", columns[0]} - {"facts"}
    print_rows(console, form, columns, rows, wrap=texts)
    if found.left_out:
        terminal.console(stderr=True).print(f"{found.left_out:,} more rows; --limit says how many are printed.")


def _read(one: Fact) -> tuple[object, ...]:
    """Return the cells of a fact for people."""
    place = _place(one.citations, one.citations_left_out + len(one.citations) - 1)
    return one.subject, one.relation, one.object or one.value, one.since, _until(one), place


def _flat(one: Fact) -> tuple[object, ...]:
    """Return the cells of a fact, with those of its first citation."""
    place = (getattr(one.citations[0], name) for name in _PLACE)
    return *(getattr(one, name) for name in _COLUMNS), " ".join(one.contradicts), *place


def _until(fact: Fact) -> str:
    """Return the last day of a fact, and what a reader should know of it."""
    also = "holds on no day" if not fact.counts else "contradicted" if fact.contradicts else ""
    return " ".join(filter(None, (fact.until, f"({also})" if also else "")))


def _place(citations: tuple[FactCitation, ...], further: int) -> str:
    return _file(citations[0]) + (f" and {further:,} more" if further else "")


def _file(place: FactCitation) -> str:
    return f"{place.source}/{place.path}"
