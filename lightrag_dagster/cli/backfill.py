"""`backfill`: rebuild rows that were made with other prompts, models or settings."""

from collections.abc import Mapping, Sequence
from uuid import uuid4

from rich.console import Console

from lightrag_dagster.cli.gold import print_compared
from lightrag_dagster.cli.losses import print_few
from lightrag_dagster.cli.plan import gate_line, print_plan
from lightrag_dagster.cli.progress import display, one_step
from lightrag_dagster.cli.run import outcome_facts, tell_outcome, telling_failure
from lightrag_dagster.cli.terminal import console as terminal
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.evaluation.gold.gate import let_through, try_gold
from lightrag_dagster.evaluation.pricing import plan_questions
from lightrag_dagster.orchestration.runner import Outcome, bring_up_to_date
from lightrag_dagster.orchestration.upstream import refresh_upstream
from lightrag_dagster.pipeline.inputs import outdated
from lightrag_dagster.pipeline.pending import Pending, pending
from lightrag_dagster.pipeline.scopes import pending_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import Plan, make_plan
from lightrag_dagster.settings import Settings, load_settings


def run_backfill(
    console: Console,
    names: Sequence[str],
    overrides: Mapping[str, Mapping[str, object]],
    *,
    everything: bool,
    knowledge_base: bool,
    as_json: bool,
) -> int:
    """Print the cost, then rebuild the outdated rows of the named sources, the knowledge base or all; publish.

    Without a choice, only print the cost of all. `overrides` are settings for this backfill alone, by section. Answers
    are kept, so that another backfill resumes one that was interrupted. Return the exit code: 0, or 1 when a source is
    withheld or cannot be ingested.
    """
    settings = load_settings().changed(**overrides)
    told = terminal(stderr=True) if as_json else console
    refresh_upstream(settings)
    situation = Situation.looking(settings)
    chosen, absent = situation.chosen(names) if names else ([], [])
    names = [*(one.name for one in chosen), *absent]
    states, parts = pending(situation), outdated(situation).made_again
    below = pending_scopes(situation, backfill=True).keys() - states.scopes.keys()
    parts += [f"summaries of scope {name}" for name in sorted(below)]
    sources = list(names) or [name for name, state in states.sources.items() if state.outdated or state.backfill]
    if not names and not sources and not parts:
        return max(_tell_nothing_outdated(told, states), _not_started(settings, None, as_json))
    if knowledge_base and not everything and not names:
        sources = []
    whole = (bool(parts) and not names) or knowledge_base
    with display(terminal(stderr=True)) as shown:
        plan = make_plan(settings, sources or None, backfill=True, knowledge_base=whole, display=shown)
    plan_questions(plan, settings)
    plan.gate = gate_line(settings, plan) if sources else None
    print_plan(told, plan)
    if not (names or everything or knowledge_base):
        these = some_of(sources + parts)
        told.print(f"Nothing was started. These are outdated: {these}; add --all, --source or --knowledge-base.")
        return _not_started(settings, plan, as_json)
    account = str(uuid4())
    about = dict[str, object](started=True, plan=plan.to_dict())
    with telling_failure(settings, account, as_json, about) as said:
        if settings.gold.gate and sources:
            _gate(told, settings, account, about, plan.gate)
            settings = settings.changed(gold={"gate": False})  # of the runs of sources, which this one judges for all
        with display(told) as shown:
            wanted = {"backfill": True, "knowledge_base": whole}
            outcome = bring_up_to_date(settings, sources or None, shown, account=account, **wanted)
    return tell_outcome(console, outcome, as_json, said, **about)


def _gate(console: Console, settings: Settings, account: str, about: dict[str, object], told: str | None) -> None:
    """Make the gold passages by today's recipe, and print how they compare; add that to what JSON has.

    Why they are not compared is not told again, if the plan `told` of them.

    Raises:
        WorseRecipeError: they are worse than the stored rows.
    """
    with one_step(terminal(stderr=True), "making the gold passages"):
        compared = try_gold(settings, run=account)
    if isinstance(compared, str):
        about["gold"] = None
        console.print("Going on without a comparison." if told else f"{compared}; going on.", style="yellow")
        return
    about["gold"] = compared.facts()
    print_compared(console, compared)
    let_through(settings, compared)


def _tell_nothing_outdated(console: Console, states: Pending) -> int:
    """Say that nothing is outdated, or which sources cannot be judged; return the exit code, 1 for these."""
    problems = [f"{name} cannot be ingested: {one.problem}" for name, one in states.sources.items() if one.problem]
    print_few(console, problems or ["Everything was made with the current prompts, models and settings."])
    return int(bool(problems))


def _not_started(settings: Settings, plan: Plan | None, as_json: bool) -> int:
    """Print the facts of a backfill that only showed its price, if JSON is wanted; return the exit code 0."""
    if as_json:
        outcome = Outcome(states=Pending(manifest=Situation.looking(settings).published))
        print_json(outcome_facts(outcome) | {"started": False, "plan": plan.to_dict() if plan else None})
    return 0
