"""`evaluate`: retrieval metrics of each mode, by a question file, or by questions about one's own documents.

With `--make-questions` these are drafted by a model, or taken out of the text.
"""

import shutil
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import yaml
from rich.console import Console

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.options import Overrides
from lightrag_dagster.cli.progress import display, one_step
from lightrag_dagster.cli.rows import require_new, write_new
from lightrag_dagster.cli.run import print_cost, spent_by, telling_failure
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.errors import SettingsError, StoreError
from lightrag_dagster.evaluation import report
from lightrag_dagster.evaluation.drafting import Drafting
from lightrag_dagster.evaluation.questions import read_question_file, with_gold
from lightrag_dagster.evaluation.retrieving import missing_gold
from lightrag_dagster.evaluation.sample import take_sample
from lightrag_dagster.evaluation.summary import (
    K,
    Verdict,
    advantages,
    by_language,
    changes,
    count_unjudged,
    find_carriers,
    judge_default,
    of_snapshot,
    summarise,
)
from lightrag_dagster.evaluation.taken_out import measure_taken_out
from lightrag_dagster.orchestration.runner import evaluate_modes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import QuerySettings, Settings, load_settings, settings_file, wins_over_file
from lightrag_dagster.settings.yaml_files import read_settings, with_value
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.files.atomic import replacing
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables

_MOST_DOCUMENTS = 5_000
"""Documents that the questions are about; a copy of 5,000 is built in less than two minutes by the offline rules."""


def evaluate(
    console: Console, questions: Path | None, overrides: Overrides, *, set_mode: bool = False, as_json: bool
) -> int:
    """Measure and print; return 1 when a mode dropped since the previously evaluated snapshot, else 0.

    `overrides` are settings for this evaluation alone, by section. With `set_mode`, a mode that is better than the
    default one is written into the settings file.

    Raises:
        SettingsError: there is no question file, or it cannot be used.
        NoSnapshotError: nothing is published yet.
    """
    settings = load_settings(**overrides, **({} if questions is None else {"questions": questions}))
    gold = with_gold(read_question_file(settings.questions))
    if not gold:
        raise SettingsError(
            "there are no questions that name documents or chunks; give --questions FILE or set `questions`"
        )
    account = str(uuid4())
    with telling_failure(settings, account, builds=False), display(terminal.console(stderr=True)) as progress:
        snapshot_id = evaluate_modes(settings, progress, account)
    tables = SourceTables(Home.of(settings))
    summary = of_snapshot(tables.read("retrieval_evaluation", ALL_SOURCES), snapshot_id)
    measured = tables.read("evaluated_questions", ALL_SOURCES)
    rows = of_snapshot(measured, snapshot_id, [one.question for one in gold])
    changed = changes(measured, rows)
    judged = judge_default(rows, settings.query.mode)
    dropped = [one for one in changed if one.dropped]
    with KnowledgeBase.open(settings=settings, snapshot_id=snapshot_id) as knowledge:
        missing = missing_gold(knowledge, gold)
    unjudged = count_unjudged(rows, settings.query.mode, settings.llm)
    if as_json:
        fallen = [{"mode": one.mode, "metric": one.metric, **one.difference.facts()} for one in dropped]
        facts = {"snapshot_id": snapshot_id, "unjudged": unjudged, "cost_usd": spent_by(settings, account)}
        facts |= _facts(summary, rows) | {"best": judged.best, "dropped": fallen, "missing_gold": missing}
        terminal.print_json(facts | ({"set_mode": _set_mode(judged)} if set_mode else {}))
    else:
        _print_means(console, snapshot_id, summary, rows)
        _print_verdict(console, rows, judged)
        if missing:
            console.print(f"not in the snapshot: {', '.join(missing)}")
        if unjudged:
            of_all = f"{unjudged:,} of {len(gold):,} questions"
            console.print(f"no answer, or no judgement that can be read: {of_all}; try another llm.model")
        if changed:
            _print_cells(console, report.change_cells(changed), "since the snapshot evaluated before")
        if set_mode:
            console.print(_set_mode(judged))
        print_cost(console, spent_by(settings, account))
    return 1 if dropped else 0


def _set_mode(judged: Verdict) -> str:
    """Write a better mode than the default one into the settings file, and return what became of it."""
    if not judged.better:
        why = "too few questions were asked" if judged.too_few else "no mode finds more"
        return f"query.mode stays {judged.default}, since {why}"
    mode, file = judged.better[0].mode, settings_file()
    text = file.read_bytes().decode() if file.is_file() else ""
    said = (read_settings(file).get("query") or {}).get("mode", QuerySettings().mode)
    is_here = said == judged.default and not wins_over_file("query", "mode")
    if not is_here or (made := with_value(text, "query", "mode", mode)) is None:
        where = f"in {file}" if is_here else "in the LIGHTRAG_… variable or the defs.yaml that has it"
        return f"query.mode stays {judged.default}, since it cannot be changed safely; write `mode: {mode}` {where}"
    with replacing(file.resolve()) as temporary:
        temporary.write_bytes(made.encode())
        if file.exists():
            shutil.copymode(file, temporary)
    return f"query.mode is {mode} now, by {file}; all else in that file is as it was"


def _print_verdict(console: Console, rows: pa.Table, judged: Verdict) -> None:
    """Print recall by language, whether vectors, words or the graph find most, and how the default mode stands."""
    if languages := by_language(rows):
        title = f"recall@{K} by language (questions); * the best"
        _print_cells(console, report.language_cells(languages), title, keys=1)
    if by := find_carriers(rows):
        console.print(report.carried(by))
    console.print(report.verdict(judged))


def _print_means(console: Console, of: str, summary: pa.Table, rows: pa.Table) -> None:
    """Print the means of each mode (RETRIEVAL_EVALUATION), and the modes beside the controls (EVALUATED_QUESTIONS)."""
    _print_cells(console, report.cells(summary, ["recall"]), f"{of}, 95% intervals", keys=1)
    _print_cells(console, report.advantage_cells(advantages(rows)), "beside the controls, the same questions", keys=2)


def _print_cells(console: Console, found: list[list[str]], title: str, keys: int = 0) -> None:
    """Print a heading and rows."""
    heading, *shown = found
    print_table(console, heading, shown, wrap={"mode", "beside", "metric", ""}, title=title, keys=keys)


def _facts(summary: pa.Table, rows: pa.Table) -> dict[str, object]:
    """Return the same for JSON."""
    beside = [one._asdict() | {"difference": one.difference.facts()} for one in advantages(rows)]
    carriers = {name: find_carriers(of) for name, of in {"all": rows, **by_language(rows)}.items()}
    by = {
        name: one._asdict() | {"words": one.words.facts(), "graph": one.graph.facts()}
        for name, one in carriers.items()
        if one
    }
    best = {language: judge_default(of, "").best for language, of in by_language(rows).items()}
    return {"modes": summary.to_pylist(), "beside": beside, "carriers": by, "best_by_language": best}


def make_questions(
    console: Console, count: int, file: Path | None, overrides: Overrides, *, price: bool, as_json: bool
) -> int:
    """Have a model draft questions into a new file, or, without a model, measure the modes by sentences taken out.

    Return 1 if a passage got no usable answer or no question was drafted, else 0. `overrides` are as in `evaluate`.

    Raises:
        SettingsError: a file is missing, is there already, or is of no use without a model.
        ProviderAccessError: a model cannot be used, or the budget is spent; the answers so far are stored.
        StoreError: nothing was ingested yet, or a table is damaged.
    """
    settings = load_settings(**overrides)
    if settings.llm.of("draft").provider != "offline":
        drafting = Drafting(settings, take_sample(Situation.looking(settings), _MOST_DOCUMENTS), count)
        if price:
            return _print_price(console, drafting, as_json=as_json)
        return _draft(console, drafting, file, settings, as_json=as_json)
    if price and as_json:
        terminal.print_json({"questions": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0})
        return 0
    if price:
        console.print("Without a language model, sentences are taken out of a copy: no call to one, $0.")
        return 0
    if file:
        raise SettingsError(
            f"without a language model there is nothing to write to {file}: sentences are taken out of a copy, since "
            "they would be found too easily where they stand; leave out --questions, or set llm.provider"
        )
    _measure_taken_out(console, settings, count, as_json=as_json)
    return 0


def _measure_taken_out(console: Console, settings: Settings, count: int, *, as_json: bool) -> None:
    """Measure and print the modes by sentences taken out."""
    account, doing = str(uuid4()), "building a copy without the sentences"
    with telling_failure(settings, account, builds=False), one_step(terminal.console(stderr=True), doing):
        found = measure_taken_out(settings, count, _MOST_DOCUMENTS, account)
    if not found.questions:
        raise StoreError("no chunk has a sentence of six words and 100 characters beside it; write questions yourself")
    summary = summarise(found.rows)
    judged = judge_default(found.rows, settings.query.mode)
    if as_json:
        counts = {"questions": len(found.questions), "documents": found.documents, "chunks": found.chunks}
        all_of = {"best": judged.best, "all_chunks": found.all_chunks, "cost_usd": spent_by(settings, account)}
        terminal.print_json(counts | _facts(summary, found.rows) | all_of)
        return
    _print_means(console, f"{len(found.questions):,} sentences taken out of a copy", summary, found.rows)
    fewer = f"; {count - len(found.questions):,} fewer than asked for" if len(found.questions) < count else ""
    console.print(
        f"{found.documents:,} documents; {found.chunks:,} of {found.all_chunks:,} chunks{fewer}. Each question is half "
        "of the words of a sentence, and should find the chunk that it stood in."
    )
    _print_verdict(console, found.rows, judged)
    print_cost(console, spent_by(settings, account))


def _print_price(console: Console, drafting: Drafting, *, as_json: bool) -> int:
    asked = drafting.price()
    if as_json:
        terminal.print_json({"passages": drafting.passages, **asked._asdict()})
        return 0
    console.print(
        f"Passages: {drafting.passages:,}; with a stored draft: {drafting.passages - asked.questions:,}. "
        f"To ask about the others takes {asked.words}."
    )
    return 0


def _draft(console: Console, drafting: Drafting, file: Path | None, settings: Settings, *, as_json: bool) -> int:
    if file is None:
        raise SettingsError("drafted questions are for you to read first; name a new file with --questions")
    require_new(file, "perhaps with questions; read these first", SettingsError, ".yaml", ".yml")
    account, doing = f"questions-{uuid4()}", "drafting questions"
    with telling_failure(settings, account, builds=False), one_step(terminal.console(stderr=True), doing):
        drafted = drafting.draft(Account.of(account, "", settings.llm))
    made = len(drafted.questions)
    if made:
        rows = [one.model_dump(exclude_defaults=True) for one in drafted.questions]
        said = yaml.safe_dump(rows, allow_unicode=True, sort_keys=False, width=120)
        write_new(file, lambda opened: opened.write(said), SettingsError)
    if as_json:
        counts = {"passages": drafting.passages, "questions": made, "unfit": drafted.unfit, "failed": drafted.failed}
        terminal.print_json({"file": str(file) if made else None, "cost_usd": spent_by(settings, account)} | counts)
        return int(bool(drafted.failed) or not made)
    for reason in sorted(set(drafted.failed)):
        console.print(f"no draft: {reason} ({drafted.failed.count(reason):,})", style="yellow")
    others = f"{drafted.unfit:,} answer no question, {len(drafted.failed):,} got no usable draft."
    console.print(
        f"Questions in {file}: {made:,} of {drafting.passages:,} passages; {others} Strike out what no person would "
        f"ask, then run `lightrag-dagster evaluate --questions {file}`."
        if made
        else f"No question was drafted of {drafting.passages:,} passages, so {file} was not written; {others}"
    )
    print_cost(console, spent_by(settings, account))
    return int(bool(drafted.failed) or not made)
