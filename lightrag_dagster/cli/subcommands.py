"""Groups of commands: about snapshots, responses and vectors, batches, prompts, readings, and decisions about names."""

import re
from pathlib import Path
from typing import Annotated

import typer

from lightrag_dagster.cli.options import AsJson, seconds_of
from lightrag_dagster.cli.terminal import console

snapshots_app = typer.Typer(name="snapshots", help="List snapshots, and give them names.", no_args_is_help=False)


@snapshots_app.callback(invoke_without_command=True)
def snapshots(context: typer.Context, as_json: AsJson = False) -> None:
    """List snapshots; the commands below name them, and `changes` compares two."""
    if context.invoked_subcommand is None:
        from lightrag_dagster.cli.snapshots import list_snapshots

        list_snapshots(console(), as_json=as_json)


@snapshots_app.command("pin")
def snapshots_pin(
    name: Annotated[str, typer.Argument(help="The name.")],
    snapshot: Annotated[str, typer.Argument(help="Id of the snapshot.")],
) -> None:
    """Give a snapshot a name by which it can be opened; it is kept until `unpin`."""
    from lightrag_dagster.cli.snapshots import pin

    pin(console(), name, snapshot)


@snapshots_app.command("unpin")
def snapshots_unpin(name: Annotated[str, typer.Argument(help="The name.")]) -> None:
    """Remove a name from a snapshot."""
    from lightrag_dagster.cli.snapshots import pin

    pin(console(), name, None)


cache_app = typer.Typer(name="cache", help="Show how many responses and vectors are stored, and what they cost.")


@cache_app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """Show how many responses and vectors are stored, and what they cost."""
    if context.invoked_subcommand is None:
        from lightrag_dagster.cli.cache import show_stats

        show_stats(console())


@cache_app.command("prune")
def cache_prune(
    unused_for: Annotated[str, typer.Option(help="Remove those not used for this time, such as 90d.")] = "90d",
    dry_run: Annotated[bool, typer.Option(help="Only print the numbers to remove.")] = False,
) -> None:
    """Remove responses and vectors that were not used for a long time; they are paid for again if needed."""
    from lightrag_dagster.cli.cache import run_prune

    run_prune(console(), seconds_of(unused_for), dry_run=dry_run)


batch_app = typer.Typer(name="batch", help="List the batches at the language model's provider, with their progress.")


@batch_app.callback(invoke_without_command=True)
def batch(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also those whose responses are stored.")] = False,
) -> None:
    """List the batches at the language model's provider, with their progress."""
    if context.invoked_subcommand is None:
        from lightrag_dagster.cli.batch import list_batches

        list_batches(console(), every=every)


@batch_app.command("cancel")
def batch_cancel(
    batch: Annotated[list[str] | None, typer.Argument(help="Names of batches, or their first characters.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are not finished.")] = False,
) -> None:
    """Cancel batches; the responses they have are stored, and no source waits for them."""
    from lightrag_dagster.cli.batch import cancel_batches

    cancel_batches(console(), batch or [], every=every)


prompts_app = typer.Typer(
    name="prompts", help="Prompts, of which each can be replaced by a file of yours.", no_args_is_help=True
)


@prompts_app.command("export")
def prompts_export(folder: Annotated[Path, typer.Argument(help="The folder to write them to.")]) -> None:
    """Copy the prompts into a folder, to be edited there."""
    from lightrag_dagster.stages.prompts import export_prompts

    console().print(
        f"{len(export_prompts(folder))} prompts are in {folder}. Edit some, delete the others, and set "
        "LIGHTRAG_PROMPTS to that folder; `plan --backfill` then has the price."
    )


readings_app = typer.Typer(name="readings", help="Schemas by which passes read facts.", no_args_is_help=True)


@readings_app.command("check")
def readings_check() -> None:
    """Print what each pass reads, or the mistake in its schema."""
    from lightrag_dagster.cli.readings import check_readings

    check_readings(console(quotes=False))


@readings_app.command("draft")
def readings_draft(name: Annotated[str, typer.Argument(help="The name of the pass.")]) -> None:
    """Write a schema of the types and relations that were found, to be edited."""
    from lightrag_dagster.cli.readings import draft_reading

    draft_reading(console(quotes=False), name)


gold_app = typer.Typer(name="gold", help="Measure extraction by rows that people labelled.", no_args_is_help=True)


@gold_app.command("draft")
def gold_draft(
    file: Annotated[Path, typer.Argument(help="The new CSV file.")],
    chunks: Annotated[int, typer.Option(min=1, help="Passages to draw, by source, length and recipe.")] = 40,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only rows of this kind: entity, relation or fact (repeatable).")
    ] = None,
) -> None:
    """Write passages with what was extracted from them into a new CSV file, for people to correct."""
    from lightrag_dagster.cli.gold import draft_gold

    draft_gold(console(quotes=False), file, chunks, kind or ())


@gold_app.command("score")
def gold_score(
    gold: Annotated[Path | None, typer.Argument(help="A gold file or a folder; else the setting.")] = None,
    rows: Annotated[bool, typer.Option("--rows", help="List missed and wrong rows, below their passages.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show precision, recall and F1 of the stored rows; exit code 1 below `gold.least_f1`."""
    from lightrag_dagster.cli.gold import show_scores

    raise typer.Exit(show_scores(console(quotes=False), gold, rows=rows, as_json=as_json))


curate_app = typer.Typer(name="curate", help="Decide about names, for good: merge, split, rename and others.")


@curate_app.callback(invoke_without_command=True)
def curate(context: typer.Context, as_json: AsJson = False) -> None:
    """List the decisions in force, of files and of commands; the commands below take others."""
    if context.invoked_subcommand is None:
        from lightrag_dagster.cli.curate import list_decisions

        list_decisions(console(quotes=True), as_json=as_json)


_Name = Annotated[str, typer.Argument(help="A name, as documents have it or as it is displayed.")]
_Names = Annotated[list[str], typer.Argument(help="Names, as documents have them or as they are displayed.")]
_With = Annotated[str | None, typer.Option("--with", help="The other end, where a relation is meant.")]
_InScope = Annotated[
    list[str] | None, typer.Option(help="A scope whose readers see it too; without one, none does (repeatable).")
]
_TakenFrom = Annotated[
    list[str] | None,
    typer.Option("--source", help="A source that the text is taken from (repeatable); else filters hide it."),
]
_Reason = Annotated[str | None, typer.Option(help="The reason, for those who read `curate`.")]
_Author = Annotated[str | None, typer.Option(help="Who decides; the user of this machine unless given.")]


def _decide(*, names: list[str | None], **values: object) -> None:
    """Take a decision about the names that are given."""
    from lightrag_dagster.cli.curate import decide

    decide(console(quotes=False), names=[name for name in names if name is not None], **values)


@curate_app.command("merge")
def curate_merge(
    name: _Names,
    into: Annotated[str | None, typer.Option(help="The name from now on; the most frequent unless given.")] = None,
    source: _TakenFrom = None,
    reason: _Reason = None,
    author: _Author = None,
) -> None:
    """Let several names be one entity."""
    _decide(action="merge", names=[*name], into=into, sources=source, reason=reason, author=author)


@curate_app.command("apart")
def curate_apart(name: _Names, reason: _Reason = None, author: _Author = None) -> None:
    """Keep names apart: a decision that joins them is refused, and they are not proposed again."""
    _decide(action="apart", names=[*name], reason=reason, author=author)


@curate_app.command("rename")
def curate_rename(
    name: _Name,
    into: Annotated[str, typer.Argument(help="The name from now on.")],
    source: _TakenFrom = None,
    reason: _Reason = None,
    author: _Author = None,
) -> None:
    """Give an entity another name; one that exists already is merged with it."""
    _decide(action="rename", names=[name], into=into, sources=source, reason=reason, author=author)


@curate_app.command("retype")
def curate_retype(
    name: _Name,
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="The type, such as person.")],
    source: _TakenFrom = None,
    in_scope: _InScope = None,
    reason: _Reason = None,
    author: _Author = None,
) -> None:
    """Give an entity a type."""
    values = {"type": kind, "sources": source, "scopes": in_scope, "reason": reason, "author": author}
    _decide(action="retype", names=[name], **values)


@curate_app.command("describe")
def curate_describe(
    name: _Name,
    text: Annotated[str, typer.Argument(help="The description, in place of those of documents.")],
    other: _With = None,
    source: _TakenFrom = None,
    in_scope: _InScope = None,
    reason: _Reason = None,
    author: _Author = None,
) -> None:
    """Write the description of an entity or relation."""
    values = {"text": text, "sources": source, "scopes": in_scope, "reason": reason, "author": author}
    _decide(action="describe", names=[name, other], **values)


@curate_app.command("remove")
def curate_remove(name: _Name, other: _With = None, reason: _Reason = None, author: _Author = None) -> None:
    """Remove an entity with its relations, or one relation; the text stays findable, and `purge` removes documents."""
    _decide(action="remove", names=[name, other], reason=reason, author=author)


@curate_app.command("split")
def curate_split(
    name: _Name,
    into: Annotated[str, typer.Argument(help="The name of those mentions from now on.")],
    source: Annotated[list[str] | None, typer.Option(help="Mentions in this source (repeatable).")] = None,
    path: Annotated[list[str] | None, typer.Option(help="Mentions at paths like 2024/* (repeatable).")] = None,
    kind: Annotated[list[str] | None, typer.Option("--type", help="Mentions of this type (repeatable).")] = None,
    reason: _Reason = None,
    author: _Author = None,
) -> None:
    """Let some mentions of a name be another entity: those that meet all conditions."""
    conditions = {"sources": source, "paths": path, "types": kind}
    _decide(action="split", names=[name], into=into, **conditions, reason=reason, author=author)


@curate_app.command("add")
def curate_add(
    name: _Name,
    other: _With = None,
    kind: Annotated[str | None, typer.Option("--type", help="Its type, such as person.")] = None,
    text: Annotated[str | None, typer.Option(help="A description of it.")] = None,
    keywords: Annotated[str | None, typer.Option(help="Keywords of a relation, with commas.")] = None,
    in_scope: _InScope = None,
    reason: _Reason = None,
    author: _Author = None,
) -> None:
    """Add an entity or relation that no document has, as a document of the source `curation`."""
    said = {"type": kind, "text": text, "keywords": keywords}
    _decide(action="add", names=[name, other], **said, scopes=in_scope, reason=reason, author=author)


@curate_app.command("review")
def curate_review(
    file: Annotated[Path | None, typer.Argument(help="A CSV file, for a spreadsheet.")] = None,
    take: Annotated[bool, typer.Option("--take", help="Take the decisions that the file has by now.")] = False,
    ask: Annotated[
        int, typer.Option(min=0, help="Ask the language model about at most this number of unclear pairs more.")
    ] = 0,
    price: Annotated[
        bool, typer.Option("--price", help="Only print what --ask would cost, or to ask about all.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Join the pairs that are likely, or that the model says are one.")
    ] = False,
    author: _Author = None,
) -> None:
    """Write the names that may be one into a file; --take brings it back as decisions."""
    from lightrag_dagster.cli.review import print_price, take_review, write_review

    if price:
        print_price(console(), ask=ask)
    elif file is None and (take or not accept):
        raise typer.BadParameter("give a file, such as names.csv", param_hint="FILE")
    elif take and (ask or accept):
        raise typer.BadParameter("it takes what the file says; leave out --ask and --accept", param_hint="--take")
    elif file and take:
        take_review(console(), file, author)
    else:
        raise typer.Exit(write_review(console(), file, ask=ask, accepting=accept, author=author))


@curate_app.command("undo")
def curate_undo(
    number: Annotated[
        str | None, typer.Argument(help="Its number, or several, as 3-40; the last one unless given.")
    ] = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="Instead, all of a table that is gone and cannot be restored.")
    ] = False,
) -> None:
    """Undo a decision that a command took, or several, as those of a review."""
    from lightrag_dagster.cli.curate import undo_decisions, undo_lost

    if lost and number is not None:
        raise typer.BadParameter("it undoes all that are lost; leave out the number", param_hint="--lost")
    if lost:
        undo_lost(console())
    else:
        undo_decisions(console(), () if number is None else _numbers(number))


def _numbers(given: str) -> range:
    """Return the numbers that are given as one, or as the first and the last."""
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", given)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise typer.BadParameter(f"{given!r} is neither a number nor several, as 3-40", param_hint="NUMBER")
    return range(first, last + 1)


@curate_app.command("check")
def curate_check() -> None:
    """Check that the decisions in force hold together, and name something; exit code 2 if not together."""
    from lightrag_dagster.cli.curate import check_decisions

    check_decisions(console())


SUBCOMMANDS = (snapshots_app, cache_app, batch_app, curate_app, gold_app, prompts_app, readings_app)
