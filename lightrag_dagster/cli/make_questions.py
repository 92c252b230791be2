"""`evaluate --make-questions`: questions about one's own documents, drafted by a model or taken out of the text."""

from pathlib import Path
from uuid import uuid4

from rich.console import Console

from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.evaluate import facts, print_means
from lightrag_dagster.cli.progress import display
from lightrag_dagster.errors import SettingsError, StoreError
from lightrag_dagster.evaluation.drafting import Drafting, require_new, write_questions
from lightrag_dagster.evaluation.report import verdict
from lightrag_dagster.evaluation.sample import take_sample
from lightrag_dagster.evaluation.summary import judge_default, summarise
from lightrag_dagster.evaluation.taken_out import measure_taken_out
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home

_MOST_DOCUMENTS = 5_000
"""Documents that the questions are about; a copy of 5,000 is built in less than two minutes by the offline rules."""


def make_questions(console: Console, count: int, file: Path | None, *, price: bool, as_json: bool) -> int:
    """Have a model draft questions into a new file, or, without a model, measure the modes by sentences taken out.

    Return 1 if a passage got no usable answer or no question was drafted, else 0.

    Raises:
        SettingsError: a file is missing, is there already, or is of no use without a model.
        ProviderAccessError: a model cannot be used, or the budget is spent; the answers so far are stored.
        StoreError: nothing was ingested yet, or a table is damaged.
    """
    settings = load_settings()
    if settings.llm.of("draft").provider != "offline":
        sources = [one.name for one in chosen_sources(settings, [])]
        drafting = Drafting(settings, take_sample(Home.of(settings), sources, _MOST_DOCUMENTS, []), count)
        if price:
            asked = drafting.price()
            if as_json:
                terminal.print_json({"passages": drafting.passages, **asked._asdict()})
                return 0
            console.print(
                f"Passages: {drafting.passages:,}; with a stored draft: {drafting.passages - asked.questions:,}. "
                f"To ask about the others takes {asked.words}.",
                soft_wrap=True,
            )
            return 0
        account = Account.of(f"questions-{uuid4()}", "", settings.llm)
        return _draft(console, drafting, file, account, as_json=as_json)
    if price:
        if as_json:
            terminal.print_json({"questions": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0})
            return 0
        said = "Without a language model, sentences are taken out of a copy of the documents: no call to one, $0."
        console.print(said, soft_wrap=True)
        return 0
    if file:
        raise SettingsError(
            f"without a language model there is nothing to write to {file}: sentences are taken out of a copy, since "
            "they would be found too easily where they stand; leave out --questions, or set llm.provider"
        )
    with display(terminal.console(stderr=True)) as shown:
        shown.start("building a copy without the sentences")
        found = measure_taken_out(settings, count, _MOST_DOCUMENTS)
        shown.finish()
    if not found.questions:
        raise StoreError("no chunk has a sentence of six words and 100 characters beside it; write questions yourself")
    summary, judged = summarise(found.rows), judge_default(found.rows, settings.query.mode)
    if as_json:
        counts = {"questions": len(found.questions), "documents": found.documents, "chunks": found.chunks}
        terminal.print_json(counts | facts(summary, found.rows) | {"best": judged.best})
        return 0
    print_means(console, f"{len(found.questions):,} sentences taken out of a copy", summary, found.rows)
    fewer = f"; {count - len(found.questions):,} fewer than asked for" if len(found.questions) < count else ""
    console.print(
        f"{found.documents:,} documents; {found.chunks:,} of {found.all_chunks:,} chunks{fewer}. Each question is half "
        "of the words of a sentence, and should find the chunk that it stood in.",
        soft_wrap=True,
    )
    console.print(verdict(judged), soft_wrap=True)
    return 0


def _draft(console: Console, drafting: Drafting, file: Path | None, account: Account, *, as_json: bool) -> int:
    if file is None:
        raise SettingsError("drafted questions are for you to read first; name a new file with --questions")
    require_new(file)
    with display(terminal.console(stderr=True)) as shown:
        shown.start("drafting questions")
        drafted = drafting.draft(account)
        shown.finish()
    made = len(drafted.questions)
    if made:
        write_questions(file, drafted.questions)
    if as_json:
        counts = {"passages": drafting.passages, "questions": made, "unfit": drafted.unfit, "failed": drafted.failed}
        terminal.print_json({"file": str(file) if made else None} | counts)
        return int(bool(drafted.failed) or not made)
    for reason in sorted(set(drafted.failed)):
        console.print(f"no draft: {reason} ({drafted.failed.count(reason):,})", style="yellow", soft_wrap=True)
    if not made:
        console.print(
            f"No question was drafted of {drafting.passages:,} passages, so {file} was not written; "
            f"{drafted.unfit:,} answer no question, {len(drafted.failed):,} got no usable draft.",
            soft_wrap=True,
        )
        return 1
    console.print(
        f"Questions in {file}: {len(drafted.questions):,} of {drafting.passages:,} passages; {drafted.unfit:,} answer "
        f"no question, {len(drafted.failed):,} got no usable draft. Strike out what no person would ask, then run "
        f"`lightrag-dagster evaluate --questions {file}`.",
        soft_wrap=True,
    )
    return int(bool(drafted.failed))
