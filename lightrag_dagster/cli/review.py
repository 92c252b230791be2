"""Command `curate review`: names that may be one, out to a spreadsheet and back as decisions."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from rich.console import Console

from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.curate import NEXT, described, misnamed_scopes, signed, unknown_names
from lightrag_dagster.cli.progress import one_step
from lightrag_dagster.cli.rows import require_new, write_new_csv
from lightrag_dagster.curation import desk
from lightrag_dagster.curation.rules import in_force, place_of
from lightrag_dagster.errors import DecisionError, ProviderAccessError
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.storage.home import Home


def write_review(console: Console, file: Path | None, *, ask: int, accepting: bool, author: str | None) -> int:
    """Write the pairs of names that may be one into a new file, and first join those that are accepted, if wished.

    The model is asked about the first `ask` of the pairs that are unclear and have no stored opinion. Return the exit
    code, 1 if it failed about some of them. If it cannot be used at all, the file is written before the error, and
    nothing is joined.

    Raises:
        DecisionError: the file is there already, or cannot be written.
        NoSnapshotError: nothing is published yet.
        SettingsError: there is no language model to ask.
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
    """
    if file:
        require_new(file, "perhaps with decisions; take them with --take", DecisionError)
    settings = load_settings()
    situation = Situation.looking(settings)
    found = desk.duplicate_candidates(situation)
    shown = desk.pairs_of(situation, found.rows)
    looks = ask or (accepting and settings.llm.provider != "offline")
    asked, problem = _asked(console, settings, _unclear(shown), ask) if looks else ({}, None)
    pairs = [asked.get(one.pair, one) for one in shown]
    if accepting and not problem:
        pairs = _accepted(console, settings, pairs, author)
    if file:
        write_new_csv(file, desk.COLUMNS, (one.cells for one in pairs), DecisionError)
        unlikely = len(found.rows) - len(shown) + found.unlikely
        decide = f" Write `merge` or `apart` into the column `action` of those you decide about, and run {_take(file)}."
        console.print(f"Pairs of names in {file}: {len(pairs):,}.{_left_out(found, unlikely)}{decide if pairs else ''}")
    if problem:
        raise problem
    return int(any(one.opinion and one.opinion.failed for one in asked.values()))


def print_price(console: Console, *, ask: int) -> None:
    """Print what asking about the first `ask` unclear pairs would cost, or all for 0; raises as `write_review`."""
    settings = load_settings()
    situation = Situation.looking(settings)
    pairs = [one.pair for one in _unclear(desk.pairs_of(situation, desk.duplicate_candidates(situation).rows))]
    stored = desk.pair_questions(settings, pairs).stored(settings)
    new = [pair for pair, opinion in zip(pairs, stored, strict=True) if opinion is None]
    price = desk.pair_questions(settings, new[: ask or None]).price(settings)
    others = f"{price.questions:,} of the others" if price.questions < len(new) else "the others"
    console.print(
        f"Unclear pairs: {len(pairs):,}; with a stored opinion: {len(pairs) - len(new):,}. To ask about {others} "
        f"takes {price.words}."
    )


def take_review(console: Console, file: Path, author: str | None) -> None:
    """Take the decisions in a file, except those in force already.

    Raises:
        DecisionError: the file cannot be read, or its decisions cannot all hold; then none is taken.
    """
    if file.is_dir():
        raise DecisionError(f"{file} is a folder; name a file of decisions in it")
    settings = load_settings()
    found = desk.read_review(Situation.looking(settings), file, **signed(author))
    if not found.new:
        console.print(f"{file} has no new decisions; taken before: {found.before:,}.")
        return
    numbers = desk.take(settings, [one.decision for one in found.new], [one.place for one in found.new])
    taken, when = f"{place_of(numbers[0]).capitalize()} is", NEXT
    if len(numbers) > 1:
        taken, when = f"Decisions {numbers[0]} to {numbers[-1]} are", NEXT.replace("It takes", "They take")
    before = f" Taken before: {found.before:,}." if found.before else ""
    console.print(f"{taken} taken from {file}.{before} {when}")
    if len(numbers) > 1:
        console.print(f"`lightrag-dagster curate undo {numbers[0]}-{numbers[-1]}` takes them back.")
    # The names of a row are the ends of a relation, but for merge and apart.
    told = [f"{at}: {described(one)}." for one, at in found.new if one.action not in ("merge", "apart")]
    named = in_force(settings).curation.named
    with desk.known_names(Home.of(settings)) as known:
        unknown = unknown_names(found.new, named, known) if known else ()
        for line in [*told, *unknown, *misnamed_scopes(found.new, settings)]:
            console.print(line)


def _take(file: Path) -> str:
    return f"`lightrag-dagster curate review {file} --take`"


def _unclear(pairs: Sequence[desk.Reviewed]) -> list[desk.Reviewed]:
    return [one for one in pairs if one.row["verdict"] == "unclear"]


def _asked(
    console: Console, settings: Settings, pairs: Sequence[desk.Reviewed], most: int
) -> tuple[dict[desk.Pair, desk.Reviewed], ProviderAccessError | None]:
    """Ask the model about some pairs more, and return all that have its opinion; and the error if it was cut short."""
    keys = [one.pair for one in pairs]
    problem = None
    found = dict(zip(keys, desk.pair_questions(settings, keys).stored(settings), strict=True))
    wanted = [key for key in keys if found[key] is None][:most]
    if wanted:
        account = Account.of(f"review-{uuid4()}", "", settings.llm)
        try:
            with one_step(terminal.console(stderr=True), "asking about names"):
                found |= zip(wanted, desk.ask_pairs(settings, wanted, account), strict=True)
        except ProviderAccessError as error:
            problem = error
            found |= zip(wanted, desk.pair_questions(settings, wanted).stored(settings), strict=True)
    opinions = {key: opinion for key, opinion in found.items() if opinion}
    if most or opinions:
        _print_opinions(console, list(opinions.values()))
    return {one.pair: desk.Reviewed(one.row, opinions[one.pair]) for one in pairs if one.pair in opinions}, problem


def _print_opinions(console: Console, opinions: Sequence[desk.Opinion]) -> None:
    same = [one.same for one in opinions]
    failed = [one for one in opinions if one.failed]
    console.print(
        f"The model says of pairs of names: one {same.count(True):,}, two {same.count(False):,}, cannot tell "
        f"{same.count(None) - len(failed):,}."
    )
    if failed:
        console.print(f"It failed about {len(failed):,}, first by this: {failed[0].reason}")


def _accepted(
    console: Console, settings: Settings, pairs: Sequence[desk.Reviewed], author: str | None
) -> list[desk.Reviewed]:
    """Take decisions to join the pairs that are accepted, and return the others."""
    accepted = desk.accept(settings, pairs, **signed(author))
    but = f" Contradicting decisions in force: {accepted.contradicting:,}." if accepted.contradicting else ""
    when = f" {NEXT}" if accepted.taken else ""
    console.print(f"Pairs joined by decisions: {len(accepted.taken):,}.{but}{when}")
    taken = {one.place for one in accepted.taken}
    return [one for one in pairs if one.place not in taken]


def _left_out(found: desk.Compared, unlikely: int) -> str:
    counts = {
        f"{unlikely:,} that are unlikely": unlikely,
        f"{found.outdone:,} that better partners of a name kept from being compared": found.outdone,
        f"{found.cut:,} beyond the nearest of a name": found.cut,
    }
    parts = [text for text, number in counts.items() if number]
    return f" Not written are {', '.join(parts)}." if parts else ""
