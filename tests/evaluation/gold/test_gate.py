"""The gate before a backfill: a worse recipe is stopped after the gold passages, others go on."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lightrag_dagster.cli.rows import write_new_csv
from lightrag_dagster.errors import BudgetExceededError, SettingsError, TransientProviderError, WorseRecipeError
from lightrag_dagster.evaluation.gold.drafting import draft
from lightrag_dagster.evaluation.gold.gate import Comparison, let_through, measured, to_ask, to_compare, try_gold
from lightrag_dagster.evaluation.gold.judged import Passages, find_passages
from lightrag_dagster.evaluation.gold.rows import COLUMNS, Gold, read_gold
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.gold import PRICE, TEXTS, chunk_name, names_in, passages, reads_with, settings_in, write_gold
from tests.kills import run_and_kill
from tests.loopback import Loopback, Reply
from tests.passes import EVENTS, WORKS, answer, is_of_pass, model_settings, with_passes
from tests.support import FLOOD, OFFICE, RIVER, build, snapshot_contents, write_source


def compared(settings: Settings, run: str | None = None) -> Comparison:
    found = try_gold(settings, run=run)
    assert isinstance(found, Comparison)
    return found


def asked(settings: Settings) -> dict[str, int]:
    gold = read_gold(settings.gold.folder)
    situation = Situation.looking(measured(settings, gold))
    return dict(to_ask(situation, find_passages(situation, gold).tables))


def test_a_worse_recipe_is_stopped_after_the_gold_passages_and_nothing_changes(
    gold_home: Path, loopback: Loopback
) -> None:
    before = snapshot_contents(settings_in(gold_home))
    worse = settings_in(gold_home, "bad")
    assert asked(worse) == {"extractions": 20}
    found = compared(worse)
    with pytest.raises(
        WorseRecipeError, match=r"over 20 gold passages its F1 is 0\.\d+ lower, .*nothing more was changed"
    ):
        found.require_better()
    assert found.usage.calls == len(loopback.requests) == 20
    assert found.facts()["cost_usd"] == pytest.approx(20 * PRICE)
    assert snapshot_contents(settings_in(gold_home)) == before
    assert compared(worse).is_worse
    assert len(loopback.requests) == 20  # the answers are stored
    build(worse, backfill=True)
    assert len(loopback.requests) == 24


@pytest.mark.parametrize(("model", "questions"), [("good", 0), ("same", 20)])
def test_a_recipe_that_is_as_good_goes_on(gold_home: Path, loopback: Loopback, model: str, questions: int) -> None:
    compared(settings_in(gold_home, model)).require_better()
    assert len(loopback.requests) == questions
    assert asked(settings_in(gold_home, model)) == ({"extractions": questions} if questions else {})


def test_passes_are_not_asked_about_gold_that_labels_no_fact(
    gold_home: Path, loopback: Loopback, tmp_path: Path
) -> None:
    with_pass = with_passes(settings_in(gold_home, "same"), tmp_path / "readings", works=WORKS)
    assert asked(with_pass) == {"extractions": 20}
    let_through(with_pass, compared(with_pass))
    assert len(loopback.requests) == 20
    assert isinstance(try_gold(with_pass), str)


@pytest.mark.long
def test_a_recipe_that_was_let_through_is_not_asked_about_again_until_gold_or_recipe_change(
    gold_home: Path, loopback: Loopback
) -> None:
    same, worse = settings_in(gold_home, "same"), settings_in(gold_home, "bad")
    let_through(same, compared(same))
    assert str(try_gold(same)).startswith("gold.folder has let this recipe through before")
    assert isinstance(try_gold(settings_in(gold_home), same), Comparison), "`try` shows it all the same"
    with pytest.raises(WorseRecipeError):
        let_through(worse, compared(worse))
    assert compared(worse).is_worse, "what was stopped is no verdict to go on by"
    build(worse, backfill=True)
    assert not compared(same).is_worse, "other rows are stored than those beside which it was let through"
    write_gold(gold_home / "gold" / "people.csv", list(TEXTS.values())[:19])
    let_through(same, compared(same))
    assert isinstance(try_gold(same), str)
    build(same, backfill=True)
    assert compared(same).difference.mean == 0.0, "the backfill is through"
    let_through(same, compared(same))


@pytest.mark.long
def test_a_better_recipe_goes_on_and_is_measured(gold_home: Path) -> None:
    build(settings_in(gold_home, "bad"), backfill=True)
    found = compared(settings_in(gold_home))
    assert found.difference.low > 0
    assert not found.is_worse


def test_too_few_rows_are_not_compared(gold_home: Path, loopback: Loopback) -> None:
    tried = settings_in(gold_home, "bad")
    for texts in (list(TEXTS.values())[:2], [*list(TEXTS.values())[:2], *passages(30, names=9).values()]):
        write_gold(gold_home / "gold" / "people.csv", texts)  # of the second ones most are no chunks
        assert "fewer than 20" in str(to_compare(Situation.looking(tried), read_gold(tried.gold.folder)))
        assert "fewer than 20" in str(try_gold(tried))
    assert "fewer than 20" in str(try_gold(tried, tried.changed(gold={"folder": None})))
    assert loopback.requests == []


@pytest.mark.parametrize(("count", "is_enough"), [(3, False), (4, True)])
def test_rows_in_few_passages_are_not_compared(gold_home: Path, count: int, is_enough: bool) -> None:
    tried = settings_in(gold_home, "same")
    write_gold(gold_home / "gold" / "people.csv", list(TEXTS.values())[:count])  # of 8 rows each
    write_gold(gold_home / "gold" / "of-one.csv", list(TEXTS.values())[16:20], names=lambda text: names_in(text)[:1])
    write_gold(gold_home / "gold" / "of-none.csv", list(TEXTS.values())[20:], names=lambda _: [])
    found = to_compare(Situation.looking(tried), read_gold(tried.gold.folder))
    assert is_enough if isinstance(found, Passages) else "or has them in fewer than 8" in found
    assert isinstance(found, Passages) is is_enough


def test_a_home_before_its_first_run_has_nothing_to_compare(tmp_path: Path) -> None:
    write_gold(tmp_path / "gold" / "people.csv", TEXTS.values())
    settings = settings_in(tmp_path)
    settings.sources.mkdir()
    found = find_passages(Situation.looking(settings), read_gold(settings.gold.folder))
    assert (found.located.num_rows, len(found.gone)) == (0, 24)
    assert "none of the 24 gold passages that are done is a chunk" in str(try_gold(settings))


def test_passages_that_get_no_answer_for_now_are_left_out(gold_home: Path, loopback: Loopback) -> None:
    unlucky = names_in(TEXTS["3.md"])[0]
    loopback.fault = lambda received: Reply.error(500) if unlucky in str(received.body) else None
    tried = settings_in(gold_home, "same").changed(llm={"max_retries": 0})
    found = compared(tried)
    assert (found.difference.questions, found.unanswered) == (19, 1)


@pytest.mark.parametrize(("model", "answered"), [("bad", 2), ("same", 7)])
def test_nothing_is_said_of_a_recipe_by_few_answers(
    gold_home: Path, loopback: Loopback, model: str, answered: int
) -> None:
    lucky = [names_in(text)[0] for text in list(TEXTS.values())[:answered]]
    loopback.fault = lambda received: (
        None if any(f"{one} " in str(received.body) for one in lucky) else Reply.error(429)
    )
    found = compared(settings_in(gold_home, model).changed(llm={"max_retries": 0}))
    with pytest.raises(
        TransientProviderError, match=f"^{answered} of 20 gold passages got an answer, and 8 are needed"
    ):
        found.require_better()


def test_without_any_answer_nothing_is_said_of_a_recipe_and_no_backfill_begins(
    gold_home: Path, loopback: Loopback
) -> None:
    loopback.fault = lambda _: Reply.error(429)  # HTTP 500 for all would end it before
    found = compared(settings_in(gold_home, "same").changed(llm={"max_retries": 0}))
    assert (found.difference.questions, found.unanswered) == (0, 20)
    with pytest.raises(TransientProviderError, match="0 of 20 gold passages got an answer"):
        found.require_better()
    json.dumps(found.facts(), allow_nan=False)


@pytest.mark.long
def test_a_limit_of_the_run_holds_for_the_gate_and_what_follows(gold_home: Path, loopback: Loopback) -> None:
    tried = settings_in(gold_home, "same").changed(llm={"max_cost_usd": 0.02, "max_output_tokens": 2000})
    with pytest.raises(BudgetExceededError, match="all that was answered is kept"):
        compared(tried, "run-1")
    spent = Ledger(Home.of(tried).ledger).spent("run-1")
    assert 0 < spent <= 0.02
    assert spent == pytest.approx(PRICE * len(loopback.requests))


@pytest.mark.long
def test_an_edit_elsewhere_leaves_a_passage_valid_and_one_of_its_text_says_that_it_is_gone(gold_home: Path) -> None:
    settings = settings_in(gold_home)
    gold = read_gold(settings.gold.folder)
    (settings.sources / "notes" / "1.md").write_text(TEXTS["1.md"] + " And more.")
    (settings.sources / "notes" / "2.md").rename(settings.sources / "notes" / "moved.md")
    write_source(settings, "copies", {"same.md": TEXTS["3.md"]})
    build(settings.changed(documents={"accept_deletes": True}))
    found = find_passages(Situation.looking(settings), gold)
    assert found.gone == [chunk_name(TEXTS["1.md"])]
    located = {one["chunk"]: one["source"] for one in found.located.to_pylist()}
    assert (len(located), located[chunk_name(TEXTS["3.md"])]) == (19, "copies"), "once, of the first source"
    assert {name: tables["chunks"].num_rows for name, tables in found.tables.items()} == {"copies": 1, "notes": 18}


@pytest.mark.long
def test_a_heading_that_was_renamed_leaves_the_passage_below_it_valid(settings: Settings) -> None:
    below = (
        "Marta Lindqvist maintains the gauge at Halden Weir, and reports to Jonas Feld in Bergen each week of the year."
    )
    settings = settings.changed(chunking={"size": 24, "overlap": 0})

    def found(heading: str) -> Passages:
        write_source(settings, "notes", {"a.md": f"# {heading}\n\n{FLOOD}\n\n{below}\n"})
        build(settings)
        situation = Situation.looking(settings)
        names = {str(one[0]): {"entity"} for one in draft(situation, set(), 9)}
        return find_passages(situation, Gold([], known or names, set(), []))

    known: dict[str, set[str]] = {}
    before = found("Rivers")
    known = {one: set() for one in before.located["chunk"].to_pylist()}
    after = found("Waters")
    assert len(known) > 2
    assert len(after.gone) == 1, "the chunk with the heading"
    ids = [set(each.located["chunk_id"].to_pylist()) for each in (before, after)]
    assert ids[0].isdisjoint(ids[1]), "the heading is part of the id of a chunk, and not of its name here"


@pytest.mark.long
def test_facts_of_passes_are_drafted_scored_and_judged_by_the_gate(tmp_path: Path, loopback: Loopback) -> None:
    plain = model_settings(tmp_path, loopback, gold={"folder": tmp_path / "gold"})
    settings = with_passes(plain, tmp_path / "readings", works=WORKS, events=EVENTS)
    offices = {f"{year}.md": f"{OFFICE} That was in {year}." for year in range(2019, 2025)}
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD, **offices})
    build(settings)
    rows = [list(one) for one in draft(Situation.looking(settings), set(), 9)]
    assert sum(one[1] == "fact" for one in rows) == 2 + 2 * len(offices)
    (tmp_path / "gold").mkdir()
    write_new_csv(
        tmp_path / "gold" / "a.csv",
        COLUMNS,
        ([*one[:7], "done" if one[1] == "passage" else "", ""] for one in rows),
        SettingsError,
    )
    assert compared(settings).difference.mean == 0.0
    kept = with_passes(plain, tmp_path / "kept", works=f"sources: [ntoes]\n{WORKS}", events=f"sources: ntoes\n{EVENTS}")
    assert compared(kept).difference.mean == 0.0
    other = with_passes(plain, tmp_path / "others", works=WORKS.replace("Somewhere", "A place"), events=EVENTS)
    assert asked(other) == {"readings@works": 8}
    before = len(loopback.requests)
    loopback.chat = lambda body: answer(body, '{"facts": []}') if is_of_pass(body) else answer(body)
    found = compared(other)
    assert len(loopback.requests) - before == 8
    outcomes = {(one["kind"], one["outcome"]) for one in found.after.to_pylist()}
    assert ("fact", "missed") in outcomes
    assert found.difference.mean < 0
    assert set(found.before["outcome"].to_pylist()) <= {"right", None}


def in_environment(monkeypatch: pytest.MonkeyPatch, gold_home: Path, model: str) -> None:
    """Set the variables of commands at the home."""
    for name, value in {
        "LIGHTRAG_HOME": gold_home / "home",
        "LIGHTRAG_SOURCES": gold_home / "sources",
        "LIGHTRAG_GOLD__FOLDER": gold_home / "gold",
        "LIGHTRAG_LLM__PROVIDER": "openai",
        "LIGHTRAG_LLM__MODEL": model,
        "LIGHTRAG_LLM__PRICES": json.dumps({model: {"input": 1.0, "output": 2.0}}),
        "LIGHTRAG_LLM__MAX_CONCURRENCY": "1",
        "LIGHTRAG_EXTRACTION__GLEANING": "0",
    }.items():
        monkeypatch.setenv(name, str(value))


@pytest.mark.long
def test_a_gate_that_is_killed_goes_on_without_paying_twice(
    gold_home: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_environment(monkeypatch, gold_home, "bad")
    settings, contents = load_settings(), snapshot_contents(settings_in(gold_home))
    loopback.delay = 0.02
    command = ["lightrag_dagster", "backfill", "--all", "--better-than-stored"]
    for number, later in ((1, 0.0), (8, 0.0), (15, 0.03)):
        run_and_kill(loopback, command, number, later)
        assert snapshot_contents(settings_in(gold_home)) == contents
    assert compared(settings).is_worse
    questions = Counter(str(received.body) for received in loopback.requests)
    assert len(questions) == 20
    assert questions.total() <= 23, "one request a kill was under way, whose answer never came"


@pytest.mark.long
def test_a_backfill_that_is_killed_after_the_gate_is_not_stopped_by_what_it_made(
    gold_home: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {path: text.replace("nor", "vor") for path, text in TEXTS.items()}
    write_source(settings_in(gold_home), "others", others)
    build(settings_in(gold_home))
    write_gold(gold_home / "gold" / "others.csv", list(others.values())[:12])
    better, worse = reads_with({"same": (0.0, 0.0)}), reads_with({"same": (0.35, 0.05)})
    loopback.chat = lambda body: (worse if "vor" in body["messages"][-1]["content"] else better)(body)
    loopback.requests.clear()
    loopback.delay = 0.02
    in_environment(monkeypatch, gold_home, "same")
    command = ["lightrag_dagster", "backfill", "--all", "--better-than-stored"]
    run_and_kill(loopback, command, 32 + 4 + 6, 0.0)
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, "has let this recipe through before" in done.stdout) == (0, True), done.stderr


def test_names_alone_and_other_chunks_are_compared_over_the_stored_chunks(gold_home: Path, loopback: Loopback) -> None:
    by_names = compared(settings_in(gold_home).changed(extraction={"method": "mentions"}))
    assert (by_names.difference.questions, by_names.usage.calls, loopback.requests) == (20, 0, [])
    recut = compared(settings_in(gold_home).changed(chunking={"size": 20, "overlap": 0}))
    assert (recut.difference.mean, recut.difference.questions, loopback.requests) == (0.0, 20, [])
