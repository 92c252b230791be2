"""Commands for analysts: SQL, the sources of dbt, and Cypher."""

from typing import Annotated

import typer

from lightrag_dagster.cli.options import RowsForm, Snapshot, Timeout
from lightrag_dagster.cli.terminal import console


def sql(
    statements: Annotated[str, typer.Argument(help="DuckDB SQL over the published tables.")],
    output: RowsForm = "table",
    snapshot: Snapshot = None,
    unpublished: Annotated[
        bool, typer.Option("--unpublished", help="The newest tables of each source, those of withheld ones included.")
    ] = False,
    timeout: Timeout = None,
    allow_external: Annotated[
        bool, typer.Option("--allow-external", help="Let the SQL read and write files, use the network and extensions.")
    ] = False,
) -> None:
    """Query the published tables with DuckDB, which reaches no other file."""
    from lightrag_dagster.cli.sql import run_sql

    if snapshot and unpublished:
        raise typer.BadParameter("a snapshot is published; leave out --snapshot", param_hint="--unpublished")
    run_sql(
        console(quotes=True),
        statements,
        output,
        snapshot=snapshot,
        unpublished=unpublished,
        timeout=timeout,
        allow_external=allow_external,
    )


def dbt_sources(
    name: Annotated[
        str | None, typer.Option(help="Name of source and database in dbt; the namespace, or knowledge, unless given.")
    ] = None,
) -> None:
    """Write sources.yml for a dbt project that reads the tables."""
    from lightrag_dagster.cli.dbt_sources import print_sources

    print_sources(name)


def cypher(
    query: Annotated[str, typer.Argument(help="Read-only Cypher over the published graph.")],
    output: RowsForm = "table",
    snapshot: Snapshot = None,
    limit: Annotated[int, typer.Option(min=1, help="Most rows that are printed.")] = 1000,
) -> None:
    """Query the published graph with Cypher."""
    from lightrag_dagster.cli.cypher import run_cypher

    run_cypher(console(quotes=True), query, output, limit, snapshot)


COMMANDS = (sql, dbt_sources, cypher)
