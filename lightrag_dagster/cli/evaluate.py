"""`evaluate`: retrieval metrics of each mode, by a question file."""

from pathlib import Path

import pyarrow as pa
from rich.console import Console

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.progress import display
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.questions import read_question_file, with_gold
from lightrag_dagster.evaluation.report import advantage_cells, cells, change_cells, verdict
from lightrag_dagster.evaluation.retrieving import missing_gold
from lightrag_dagster.evaluation.summary import advantages, changes, judge_default, of_snapshot
from lightrag_dagster.orchestration.runner import evaluate_modes
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables


def evaluate(console: Console, questions: Path | None, *, as_json: bool) -> int:
    """Measure and print; return 1 when a mode dropped since the previously evaluated snapshot, else 0.

    Raises:
        SettingsError: there is no question file, or it cannot be used.
        NoSnapshotError: nothing is published yet.
    """
    settings = load_settings(**({} if questions is None else {"questions": questions}))
    gold = with_gold(read_question_file(settings.questions))
    if not gold:
        raise SettingsError(
            "there are no questions that name documents or chunks; give --questions FILE or set `questions`"
        )
    with display(terminal.console(stderr=True)) as progress:
        snapshot_id = evaluate_modes(settings, progress)
    tables = SourceTables(Home.of(settings))
    summary = of_snapshot(tables.read("retrieval_evaluation", ALL_SOURCES), snapshot_id)
    measured = tables.read("evaluated_questions", ALL_SOURCES)
    changed, rows = changes(measured, snapshot_id), of_snapshot(measured, snapshot_id)
    judged = judge_default(rows, settings.query.mode)
    dropped = [one for one in changed if one.dropped]
    if as_json:
        fallen = [{"mode": one.mode, "metric": one.metric, **one.difference._asdict()} for one in dropped]
        found = facts(summary, rows) | {"best": judged.best, "dropped": fallen}
        terminal.print_json({"snapshot_id": snapshot_id} | found)
    else:
        print_means(console, snapshot_id, summary, rows)
        console.print(verdict(judged), soft_wrap=True)
        with KnowledgeBase.open(settings=settings, snapshot_id=snapshot_id) as knowledge:
            missing = missing_gold(knowledge, gold)
        if missing:
            console.print(f"not in the snapshot: {', '.join(missing)}", soft_wrap=True)
        if changed:
            heading, *shown = change_cells(changed)
            title = "since the snapshot evaluated before"
            print_table(console, heading, shown, wrap={"mode", "metric", ""}, title=title)
    return 1 if dropped else 0


def print_means(console: Console, of: str, summary: pa.Table, rows: pa.Table) -> None:
    """Print the means of each mode (RETRIEVAL_EVALUATION), and the modes beside the controls (EVALUATED_QUESTIONS)."""
    heading, *shown = cells(summary, ["recall"])
    print_table(console, heading, shown, wrap={"mode"}, title=f"{of}, 95% intervals", keys=1)
    heading, *shown = advantage_cells(advantages(rows))
    print_table(
        console, heading, shown, wrap={"mode", "beside"}, title="beside the controls, the same questions", keys=2
    )


def facts(summary: pa.Table, rows: pa.Table) -> dict[str, object]:
    """Return the same for JSON."""
    beside = [one._asdict() | {"difference": one.difference._asdict()} for one in advantages(rows)]
    return {"modes": summary.to_pylist(), "beside": beside}
