"""Commands that ask the graph without a model, and those that take it along, which know no filter."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from lightrag_dagster.cli import options
from lightrag_dagster.cli.terminal import console
from lightrag_dagster.core.export_formats import ExportFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightrag_dagster.cli.graph_output import Answer
    from lightrag_dagster.query.filters.filters import Filters
    from lightrag_dagster.query.knowledge_base import KnowledgeBase

_Name = Annotated[str, typer.Argument(help="Its name, or its id; an alias, a part or a misspelt name will do.")]


def _answer(snapshot: str | None, as_json: bool, ask: "Callable[[KnowledgeBase], Answer]") -> None:
    from lightrag_dagster.cli.graph_output import answer

    answer(console(quotes=True), snapshot, as_json, ask)


@options.with_filters
def find(
    name: Annotated[str, typer.Argument(help="A name, a part of one, or a misspelt one.")],
    filters: "Filters",
    limit: Annotated[int, typer.Option(min=1, help="Most entities that are printed.")] = 20,
    snapshot: options.Snapshot = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the entities that a name may mean."""
    _answer(snapshot, as_json, lambda knowledge: knowledge.find(name, filters=filters, limit=limit))


@options.with_filters
def entity(
    name: _Name,
    filters: "Filters",
    limit: Annotated[int, typer.Option(min=1, help="Most aliases, quotes and neighbours that are printed.")] = 10,
    snapshot: options.Snapshot = None,
    as_json: options.AsJson = False,
) -> None:
    """Show an entity: aliases, evidence with quotes, newest first, and neighbours."""
    _answer(snapshot, as_json, lambda knowledge: knowledge.entity(name, filters=filters, limit=limit))


@options.with_filters
def neighbours(
    name: _Name,
    filters: "Filters",
    hops: Annotated[int, typer.Option(min=1, help="The furthest that they may be.")] = 1,
    limit: Annotated[int, typer.Option(min=1, help="Most entities that are printed.")] = 50,
    snapshot: options.Snapshot = None,
    as_json: options.AsJson = False,
) -> None:
    """List the entities around one, nearest first, then by weight."""
    _answer(snapshot, as_json, lambda knowledge: knowledge.neighbours(name, hops, filters=filters, limit=limit))


@options.with_filters
def path(
    start: _Name,
    end: _Name,
    filters: "Filters",
    by: Annotated[
        Literal["hops", "weight"] | None, typer.Option(help="Only the shortest path, or only the strongest.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most quotes that are printed for a step.")] = 1,
    snapshot: options.Snapshot = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the shortest and the strongest path between two entities, with evidence."""
    _answer(snapshot, as_json, lambda knowledge: knowledge.path(start, end, by=by, filters=filters, limit=limit))


@options.with_filters
@options.with_conditions
def facts(
    filters: "Filters",
    given: dict[str, str | None],
    limit: Annotated[int, typer.Option(min=1, help="Most facts that are printed.")] = 100,
    snapshot: options.Snapshot = None,
    output: options.RowsForm = "table",
) -> None:
    """List facts, newest first, superseded ones too unless --as-of is given."""
    from lightrag_dagster.cli.facts import show_facts

    show_facts(console(quotes=True), output, snapshot, filters=filters, limit=limit, **given)


@options.with_filters
@options.with_conditions
def count(
    filters: "Filters",
    given: dict[str, str | None],
    by: Annotated[
        Literal["relation", "subject", "object", "type", "value", "year"] | None,
        typer.Option(help="A number for each."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most numbers that are printed.")] = 100,
    snapshot: options.Snapshot = None,
    output: options.RowsForm = "table",
) -> None:
    """Count facts; each number names the newest of them, and where they stand."""
    from lightrag_dagster.cli.facts import show_counts

    show_counts(console(quotes=True), output, snapshot, by=by, filters=filters, limit=limit, **given)


def changes(
    before: Annotated[
        str | None, typer.Argument(help="Id or name of a snapshot; the previous one if left out.")
    ] = None,
    after: Annotated[str | None, typer.Argument(help="Another; the published one if left out.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most rows that are printed.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of them as JSON.")] = False,
) -> None:
    """Show the rows that two snapshots differ in, and what changed in each; it knows no filter."""
    from lightrag_dagster.cli.changes import show_changes

    show_changes(console(quotes=True), before, after, limit=limit, as_json=as_json)


def communities(
    level: Annotated[int, typer.Option(min=0, help="0 for those of the whole graph, 1 for parts of large ones.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Most of them that are printed.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of them, of all levels, as JSON.")] = False,
) -> None:
    """Show groups of entities that have more relations among each other than to others; it knows no filter."""
    from lightrag_dagster.cli.communities import show_communities

    show_communities(console(), level=level, limit=limit, as_json=as_json)


def export(
    form: Annotated[
        ExportFormat, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(get_args(ExportFormat))}.")
    ],
    place: Annotated[
        Path | None,
        typer.Argument(help="A new folder, for graphml a new file; exports/latest of the home if left out."),
    ] = None,
    snapshot: Annotated[str | None, typer.Option(help="Id or name of a snapshot, into a place of yours.")] = None,
) -> None:
    """Write the published snapshot for other programs; all of it: it knows no filter."""
    from lightrag_dagster.cli.export import export as write

    if place == Path():
        raise typer.BadParameter("give a file or folder that is not there yet", param_hint="PLACE")
    if snapshot is not None and place is None:
        raise typer.BadParameter("the home has the exports of the published snapshot; name a place", param_hint="PLACE")
    write(console(), form, place, snapshot)


@options.with_filters
def report(
    filters: "Filters",
    file: Annotated[Path | None, typer.Argument(help="A new file; the home if left out.")] = None,
    snapshot: Annotated[str | None, typer.Option(help="Id or name of a snapshot, into a file.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a page to look at: entities, graph, evidence and changes in one HTML file, which asks no network.

    Without a filter it has everything; with one, only what allowed documents say.
    """
    from lightrag_dagster.cli.export import report as write
    from lightrag_dagster.query.filters.filters import Filters

    if file is None and (snapshot is not None or filters != Filters()):
        raise typer.BadParameter(
            "the home has the report of all of the published snapshot; name a file", param_hint="FILE"
        )
    write(console(), file, filters, snapshot, as_json=as_json)


COMMANDS = (find, entity, neighbours, path, facts, count, communities, changes, export, report)
