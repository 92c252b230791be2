"""`try`: the result and the cost of another recipe, on a sample."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from rich.console import Console

from lightrag_dagster.cli.gold import print_compared
from lightrag_dagster.cli.plan import dollars, number
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.errors import LightRAGError, SettingsError
from lightrag_dagster.evaluation.gold.gate import try_gold
from lightrag_dagster.evaluation.questions import read_question_file, with_gold
from lightrag_dagster.evaluation.trial import Built, ReadByPass, Trial, try_recipe
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.settings.models import RoleSettings


class Tried(NamedTuple):
    """The settings to try, and the spending limit of the trial in US dollars."""

    prompts: Path | None = None
    model: str | None = None
    questions: Path | None = None
    max_cost_usd: float | None = None
    readings: Path | None = None

    def applied(self, settings: Settings) -> Settings:
        """Return the settings that are tried.

        Raises:
            SettingsError: there is a model, but no provider to ask.
        """
        llm: dict[str, object] = {} if self.max_cost_usd is None else {"max_cost_usd": self.max_cost_usd}
        if self.model:
            if settings.llm.of("extract").provider == "offline":
                raise SettingsError(f"setting llm.provider: offline asks no model such as {self.model}; set openai")
            own = settings.llm.roles.get("extract", RoleSettings()).model_copy(update={"model": self.model})
            llm["roles"] = settings.llm.roles | {"extract": own}
        folders = {"prompts": self.prompts, "readings": self.readings}
        return settings.changed(llm=llm, **{name: folder for name, folder in folders.items() if folder})


def show_trial(console: Console, documents: int, tried: Tried, *, as_json: bool) -> None:
    """Try a recipe and print the comparison; raises as `try_recipe`, and SettingsError."""
    settings = load_settings(**({} if tried.questions is None else {"questions": tried.questions}))
    questions = with_gold(read_question_file(settings.questions))
    run = f"try-{uuid4()}"
    trial = try_recipe(settings, tried.applied(settings), documents, questions, run)
    if not as_json:
        _print(console, trial, len(questions))
    try:
        compared = try_gold(settings, tried.applied(settings), run)
    except LightRAGError as error:  # such as the limit, of which the sample took most
        if as_json:
            print_json(_facts(trial) | {"gold": None, "error": str(error)})
        raise
    if as_json:
        print_json(_facts(trial) | {"gold": None if isinstance(compared, str) else compared.facts(), "error": None})
    elif not isinstance(compared, str):
        print_compared(console, compared)
    elif settings.gold.folder:
        console.print(f"{compared}.")


def _print(console: Console, trial: Trial, filed: int) -> None:
    print_table(console, ("", "as it is", "tried"), _rows(trial), wrap={""})
    for what, names in _differences(trial.before, trial.after).items():
        if names:
            console.print(f"{len(names):,} {what}: {some_of(sorted(names))}")
    console.print(
        f"{trial.documents:,} documents; {trial.before.chunks:,} of {trial.all_chunks:,} chunks. A backfill of all "
        f"should cost about {dollars(trial.backfill_cost_usd)}, passes included, less what the trials have bought.\n"
        f"Questions that name documents of the sample alone, and are asked: {trial.questions:,} of {filed:,}."
    )


def _rows(trial: Trial) -> list[tuple[str, ...]]:
    lines: Sequence[tuple[str, Callable[[Built], str]]] = (
        ("chunks", lambda one: number(one.chunks)),
        ("chunks that failed", lambda one: number(one.failed_chunks)),
        ("entities", lambda one: number(len(one.entities))),
        ("relations", lambda one: number(len(one.relations))),
        ("answers and vectors asked for now", lambda one: number(one.usage.calls)),
        ("cost now", lambda one: dollars(one.usage.cost_usd)),
        ("cost of all answers about the sample", lambda one: dollars(one.answers_cost_usd)),
    )
    rows: list[tuple[str, ...]] = [(name, show(trial.before), show(trial.after)) for name, show in lines]
    for mode in sorted(trial.before.scores.keys() & trial.after.scores.keys()):
        pairs = zip(("recall@5", "MRR"), trial.before.scores[mode], trial.after.scores[mode], strict=True)
        rows += [(f"{mode}, {what}", f"{before:.3f}", f"{after:.3f}") for what, before, after in pairs]
    for name in sorted(trial.before.passes.keys() | trial.after.passes.keys()):
        rows += _rows_of_pass(name, *(one.passes.get(name, ReadByPass()) for one in (trial.before, trial.after)))
    return rows


def _rows_of_pass(name: str, before: ReadByPass, after: ReadByPass) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a pass: its facts, the rows that were none by their reasons, and the price."""
    yield f"pass {name}: facts", number(before.facts), number(after.facts)
    for reason in sorted(before.rejected.keys() | after.rejected.keys()):
        yield f"pass {name}, rejected: {reason}", *map(number, (one.rejected.get(reason, 0) for one in (before, after)))
    for what, counts in (
        ("facts without a date that could be read", (before.open_dates, after.open_dates)),
        ("chunks that failed", (before.failed_chunks, after.failed_chunks)),
    ):
        if any(counts):
            yield f"pass {name}: {what}", *map(number, counts)
    yield f"pass {name}: cost of all answers", dollars(before.answers_cost_usd), dollars(after.answers_cost_usd)


def _differences(before: Built, after: Built) -> dict[str, Collection[str]]:
    """Return the names that differ, by what happened to them."""
    types = ((name, before.entities[name], after.entities[name]) for name in before.entities.keys() & after.entities)
    return {
        "entities gained": after.entities.keys() - before.entities,
        "entities lost": before.entities.keys() - after.entities,
        "entities of another type": [f"{name} ({one} → {other})" for name, one, other in types if one != other],
        "relations gained": after.relations - before.relations,
        "relations lost": before.relations - after.relations,
    }


def _facts(trial: Trial) -> dict[str, Any]:
    sides = {}
    for name, one in (("before", trial.before), ("after", trial.after)):
        listed = {"relations": sorted(one.relations), "usage": vars(one.usage)}
        sides[name] = one._asdict() | listed | {"passes": {of: read._asdict() for of, read in one.passes.items()}}
    counts = {name: getattr(trial, name) for name in ("documents", "all_chunks", "questions", "backfill_cost_usd")}
    return counts | sides
