"""The commands. Each imports its modules when it runs, so that `--help` and `query` do not import Dagster."""

from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from lightrag_dagster.cli import analysts, graph, options, serve, upkeep
from lightrag_dagster.cli.exits import Commands
from lightrag_dagster.cli.subcommands import SUBCOMMANDS
from lightrag_dagster.cli.terminal import console, repeat_options

if TYPE_CHECKING:
    from lightrag_dagster.query.filters.filters import Filters
    from lightrag_dagster.query.question import QueryOptions

app = typer.Typer(
    name="lightrag-dagster",
    cls=Commands,
    help="LightRAG as a batch data platform: documents in, a published knowledge base out.",
    epilog=f"Pages that messages name, such as docs/losses.md, are in {Path(__file__).parent.parent}.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for group in SUBCOMMANDS:
    app.add_typer(group, name=group.info.name)

_IN_A_SCOPE = """
query sql cypher find entity neighbours path facts count communities export report status serve mcp
"""
"""Commands that take --scope: those that ask, and those that show what there is."""


def _print_version(wanted: bool) -> None:
    if wanted:
        console().print(f"lightrag-dagster {version('lightrag-dagster')}")
        raise typer.Exit


@app.callback()
def settings_from_options(
    context: typer.Context,
    home: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Folder of the knowledge base; else LIGHTRAG_HOME, else `data`."),
    ] = None,
    sources: Annotated[
        str | None, typer.Option(metavar="PATH", help="Folder of sources; else LIGHTRAG_SOURCES, else `sources`.")
    ] = None,
    defs: Annotated[
        Path | None,
        typer.Option(help="A defs.yaml of a dg project, whose settings count; defs.yaml#NAMESPACE of several."),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="Ask what this scope published, in place of the whole knowledge base.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an unexpected error.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """LightRAG as a batch data platform: documents in, a published knowledge base out."""
    repeat_options({"--home": home, "--sources": sources, "--defs": defs})
    places = {name: place for name, place in (("home", home), ("sources", sources)) if place is not None}
    if places and defs is not None:
        raise typer.BadParameter("it names home and sources; leave out --home and --sources", param_hint="--defs")
    if scope is not None and context.invoked_subcommand not in _IN_A_SCOPE.split():
        raise typer.BadParameter(
            f"{context.invoked_subcommand} works on the whole knowledge base; leave it out", param_hint="--scope"
        )
    if defs is not None:
        from lightrag_dagster.orchestration.defs_file import chosen_by
        from lightrag_dagster.settings import choosing

        context.with_resource(choosing(chosen_by(defs)._replace(scope=scope)))
    elif places or scope is not None:
        from lightrag_dagster.settings import Chosen, choosing

        context.with_resource(choosing(Chosen(places, scope=scope)))


@app.command()
def demo() -> None:
    """Build a knowledge base from the sample sources, offline, and ask it a question; in `demo`, unless --home."""
    from lightrag_dagster.cli.demo import run_demo

    run_demo(console())


@app.command()
def run(
    source: options.Sources = None,
    accept_deletes: options.AcceptDeletes = False,
    retry_failed: Annotated[bool, typer.Option(help="Ask again about chunks that failed for good.")] = False,
    max_cost: options.MaxCost = None,
    wait: Annotated[bool, typer.Option(help="Wait until batches are done, and continue with their responses.")] = False,
    verify: Annotated[bool, typer.Option(help="Read every file of the snapshot and rebuild damaged ones.")] = False,
    as_json: options.AsJson = False,
    _wait_lock: options.WaitLock = None,
) -> None:
    """Bring the knowledge base up to date and publish it; exit code 1 if a source is withheld."""
    from lightrag_dagster.cli.run import run_pipeline

    overrides = _overrides(accept_deletes=accept_deletes and (source or True), max_cost=max_cost)
    asked = {"retry_failed": retry_failed, "wait": wait, "verify": verify, "as_json": as_json}
    raise typer.Exit(run_pipeline(console(), source or [], overrides, **asked))


@app.command()
def plan(
    source: options.Sources = None,
    backfill: Annotated[bool, typer.Option(help="Plan `backfill` instead.")] = False,
    retry_failed: Annotated[bool, typer.Option(help="Plan `run --retry-failed` instead.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show the work and the cost of a `run`; no model is asked."""
    if backfill and retry_failed:
        raise typer.BadParameter("`backfill` asks about outdated rows alone; leave it out", param_hint="--retry-failed")
    from lightrag_dagster.cli.plan import show_plan

    show_plan(console(), source or [], backfill=backfill, retry_failed=retry_failed, as_json=as_json)


@app.command()
def backfill(
    source: options.Sources = None,
    knowledge_base: Annotated[
        bool, typer.Option("--knowledge-base", help="Its summaries and vectors, over all sources.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Everything that is outdated.")] = False,
    better_than_stored: Annotated[
        bool | None,
        typer.Option(help="Make the gold passages first; exit code 3 if they are worse. Else gold.gate."),
    ] = None,
    accept_deletes: options.AcceptDeletes = False,
    max_cost: options.MaxCost = None,
    as_json: options.AsJson = False,
    _wait_lock: options.WaitLock = None,
) -> None:
    """Rebuild rows made with older prompts, models or settings; without options, show the cost."""
    if everything and source:
        raise typer.BadParameter("it means every source; leave it out, or --source", param_hint="--all")
    from lightrag_dagster.cli.backfill import run_backfill

    wanted = {"everything": everything, "knowledge_base": knowledge_base, "as_json": as_json}
    overrides = _overrides(accept_deletes=accept_deletes and (source or True), max_cost=max_cost)
    if better_than_stored is not None:
        overrides["gold"] = {"gate": better_than_stored}
    raise typer.Exit(run_backfill(console(), source or [], overrides, **wanted))


def _overrides(*, accept_deletes: bool | list[str] = False, max_cost: float | None) -> dict[str, dict[str, object]]:
    """Return the settings of one command, by section."""
    overrides: dict[str, dict[str, object]] = {}
    if accept_deletes:
        overrides["documents"] = {"accept_deletes": accept_deletes}
    if max_cost is not None:
        overrides["llm"] = {"max_cost_usd": max_cost}
    return overrides


@app.command("try")
def try_recipe(
    documents: Annotated[int, typer.Option(min=1, help="The size of the sample.")] = 50,
    prompts: Annotated[Path | None, typer.Option(help="Folder of prompts, in place of the setting.")] = None,
    model: Annotated[str | None, typer.Option(help="The model that extracts, in place of the setting.")] = None,
    questions: Annotated[Path | None, typer.Option(help="YAML or JSONL; else the setting `questions`.")] = None,
    readings: Annotated[Path | None, typer.Option(help="Folder of schemas of passes, in place of the setting.")] = None,
    max_cost: options.MaxCost = None,
    as_json: options.AsJson = False,
) -> None:
    """Build a sample with today's settings and compare it with the stored rows, before a backfill."""
    from lightrag_dagster.cli.trial import Tried, show_trial

    show_trial(console(), documents, Tried(prompts, model, questions, max_cost, readings), as_json=as_json)


@app.command()
@options.with_filters
@options.with_question
def query(
    question: Annotated[str, typer.Argument(help="The question.")],
    filters: "Filters",
    given: dict[str, Any],
    snapshot: options.Snapshot = None,
    as_json: options.AsJson = False,
    only_context: Annotated[bool, typer.Option(help="Print the context that the model would see.")] = False,
    only_prompt: Annotated[bool, typer.Option(help="Print the whole prompt; nothing is asked.")] = False,
    stream: Annotated[bool, typer.Option(help="Print the answer as it arrives.")] = False,
    explain: Annotated[bool, typer.Option(help="Then print the rows found, kept and cut by each step.")] = False,
) -> None:
    """Ask the published knowledge base."""
    from lightrag_dagster.cli.query import ask, output_of
    from lightrag_dagster.query.types import Keywords

    given["keywords"] = Keywords(tuple(given.pop("high_level") or ()), tuple(given.pop("low_level") or ()))
    asked = cast("QueryOptions", given | {"filters": filters, "explain": explain})
    flags = {"--only-prompt": only_prompt, "--only-context": only_context, "--json": as_json, "--stream": stream}
    ask(console(quotes=True), question, asked, output_of(flags), snapshot)


for command in (*graph.COMMANDS, *serve.COMMANDS):
    app.command()(command)


@app.command()
def evaluate(
    questions: Annotated[Path | None, typer.Option(help="YAML or JSONL; else the setting `questions`.")] = None,
    make: Annotated[
        int | None,
        typer.Option(
            "--make-questions",
            min=1,
            help="Draft questions into the new file --questions; without a language model, measure the modes by "
            "sentences taken out of a copy.",
        ),
    ] = None,
    price: Annotated[bool, typer.Option("--price", help="Only say what the drafts would cost.")] = False,
    set_mode: Annotated[
        bool, typer.Option("--set-mode", help="Write a mode that finds more than the default one into lightrag.yaml.")
    ] = False,
    max_cost: options.MaxCost = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how well each mode retrieves; exit code 1 if one got worse since the snapshot evaluated before."""
    from lightrag_dagster.cli.evaluate import evaluate as measure
    from lightrag_dagster.cli.evaluate import make_questions

    overrides = _overrides(max_cost=max_cost)
    if make and set_mode:
        raise typer.BadParameter("goes by questions of people, without --make-questions", param_hint="--set-mode")
    if make:
        raise typer.Exit(make_questions(console(), make, questions, overrides, price=price, as_json=as_json))
    if price:
        raise typer.BadParameter("is for --make-questions", param_hint="--price")
    raise typer.Exit(measure(console(), questions, overrides, set_mode=set_mode, as_json=as_json))


for command in analysts.COMMANDS:
    app.command()(command)


@app.command()
def status(
    as_json: options.AsJson = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="For monitoring: a line for each thing that a person should look at, and exit code 1 if there is one, "
            "2 if it cannot tell.",
        ),
    ] = False,
    max_age: options.MaxAge = None,
) -> None:
    """Show the published snapshot, and the pending and failed rows of each source."""
    if check and as_json:
        raise typer.BadParameter("has no --json; `status --json` has all facts", param_hint="--check")
    if check:
        from lightrag_dagster.cli.check import check_status

        raise typer.Exit(check_status(console(), max_age))
    if max_age is not None:
        raise typer.BadParameter("is for --check", param_hint="--max-age")
    from lightrag_dagster.cli.status import show_status

    show_status(console(), as_json=as_json)


class CostKey(StrEnum):
    """A column by which `costs` sums."""

    month = "month"
    source = "source"
    purpose = "purpose"
    model = "model"


@app.command()
def costs(
    by: Annotated[
        list[CostKey] | None, typer.Option(help="Sum by this column (repeatable); by all unless given.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what models cost, by month, source, purpose and model."""
    from lightrag_dagster.cli.costs import show_costs

    show_costs(console(), [one.value for one in dict.fromkeys(by or CostKey)], as_json=as_json)


@app.command()
def notify(what: Annotated[Literal["test"], typer.Argument(help="A message that says it is a test.")]) -> None:
    """Send a message to LIGHTRAG_FAILURE_WEBHOOK, as the daemon does about failures."""
    from lightrag_dagster.cli.notify import send

    send(console(), what)


for command in upkeep.COMMANDS:
    app.command()(command)


@app.command("import")
def import_from(
    kind: Annotated[
        Literal["lightrag", "graphrag", "table"],
        typer.Argument(help="LightRAG 1.3 to 1.5.7, Microsoft's GraphRAG 1.x to 3.3, or a table of your own."),
    ],
    place: Annotated[Path, typer.Argument(help="The working directory, the output folder, or the file.")],
    source: Annotated[str, typer.Option(help="The source that it becomes: a folder among the sources.")],
    names: Annotated[Path | None, typer.Option(help="CSV for names that were edited there.")] = None,
    same_embedder: Annotated[
        bool, typer.Option("--same-embedder", help="The configured embedder made its vectors: take those of chunks.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what would come in, and what is left to pay.")] = False,
    accept_deletes: options.AcceptDeletes = False,
    as_json: options.AsJson = False,
    _wait_lock: options.WaitLock = None,
) -> None:
    """Make a source of what another system has stored, with the answers that were paid for there."""
    from lightrag_dagster.cli.importing import ImportOptions, run_import, run_import_of_table

    run = run_import_of_table if kind == "table" else run_import
    overrides = _overrides(accept_deletes=accept_deletes and [source], max_cost=None)
    run(console(), place, ImportOptions(kind, source, names, same_embedder, dry_run, as_json, overrides))
