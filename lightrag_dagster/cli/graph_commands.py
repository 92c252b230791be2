"""Commands about the graph: its communities, what changed in it, and its exports."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from lightrag_dagster.cli.terminal import console
from lightrag_dagster.core.export_formats import ExportFormat

graph_app = typer.Typer()


@graph_app.command()
def changes(
    before: Annotated[
        str | None, typer.Argument(help="Id or name of a snapshot; the previous one if left out.")
    ] = None,
    after: Annotated[str | None, typer.Argument(help="Another; the published one if left out.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most rows that are printed.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of them as JSON.")] = False,
) -> None:
    """Show the documents, entities and relations that two snapshots differ in, and what changed in each."""
    from lightrag_dagster.cli.changes import show_changes

    show_changes(console(soft_wrap=True, quotes=True), before, after, limit=limit, as_json=as_json)


@graph_app.command()
def communities(
    level: Annotated[int, typer.Option(min=0, help="0 for those of the whole graph, 1 for parts of large ones.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Most of them that are printed.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of them, of all levels, as JSON.")] = False,
) -> None:
    """Show groups of entities that have more relations among each other than to others."""
    from lightrag_dagster.cli.communities import show_communities

    show_communities(console(), level=level, limit=limit, as_json=as_json)


@graph_app.command()
def export(
    form: Annotated[
        ExportFormat, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(get_args(ExportFormat))}.")
    ],
    folder: Annotated[Path | None, typer.Argument(help="A new folder; exports/latest of the home if left out.")] = None,
    snapshot: Annotated[str | None, typer.Option(help="Id or name of a snapshot, into a folder.")] = None,
) -> None:
    """Write the published snapshot for other programs; all of it: it knows no filter."""
    from lightrag_dagster.cli.export import export as write

    if snapshot and folder is None:
        raise typer.BadParameter(
            "the home has the exports of the published snapshot; name a folder", param_hint="FOLDER"
        )
    write(console(), form, folder, snapshot)
