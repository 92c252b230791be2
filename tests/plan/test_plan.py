"""The plan, compared with what a loopback server then bills."""

import io
import re
from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import SecretStr
from rich.console import Console

from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.pipeline.recipes import _REVISIONS, Recipes
from lightrag_dagster.plan.estimates import Estimate
from lightrag_dagster.plan.plan import Plan, make_plan
from lightrag_dagster.plan.sources import DocumentChanges, SourcePlan, compare
from lightrag_dagster.plan.steps import PlannedStep
from lightrag_dagster.readers.formats import FORMATS
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.loopback import Answer, Loopback, Received, Reply
from tests.models.models import offline_answer, role_of
from tests.stages.merging.tables import nameless_chunks
from tests.support import FLOOD, OFFICE, RIVER, build, run, write_source


def bill(body: dict[str, Any]) -> Answer:
    """Answer by the offline rules, and count tokens as OpenAI does."""
    text, count = offline_answer(body), load_tokenizer("o200k_base").count
    asked = sum(count(message["content"]) + 4 for message in body["messages"]) + 3
    usage = {"prompt_tokens": asked, "completion_tokens": count(text), "total_tokens": 0}
    return Answer(text, usage=usage)


@pytest.fixture
def paid(tmp_path: Path, loopback: Loopback) -> Settings:
    loopback.chat = bill
    (tmp_path / "sources").mkdir()
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        llm={"provider": "openai", "model": "gpt-4o-mini"},
        documents={"accept_deletes": True},
    )


def texts(first: int, last: int) -> dict[str, str | bytes]:
    passages = (RIVER, FLOOD, OFFICE)
    return {f"{number}.txt": f"{passages[number % 3]} This is note {number}." for number in range(first, last)}


@pytest.mark.long
def test_first_questions_are_counted_to_the_token(paid: Settings, loopback: Loopback) -> None:
    write_source(paid, "notes", texts(0, 8))
    plan = make_plan(paid)
    assert not loopback.requests
    assert (plan.history, plan.unknown_prices) == (False, [])
    (notes,) = plan.sources
    assert (notes.documents, notes.chunks_new, notes.chunks_stored) == (DocumentChanges(8), 8, 0)

    build(paid)

    first = [bill(one.body).usage["prompt_tokens"] for one in loopback.requests if len(one.body["messages"]) == 2]
    assert sum(first) == pytest.approx(notes.question_tokens, rel=0.02)
    cost = sum(entry.cost_usd for entry in Ledger(Home(paid.home).ledger).by_purpose().values())
    assert plan.total.low <= cost <= plan.total.high
    again = make_plan(paid)
    assert (again.sources[0].chunks_new, again.sources[0].chunks_stored, again.total.high) == (0, 8, 0.0)
    assert again.sources[0].documents == DocumentChanges(unchanged=8)


@pytest.mark.long
def test_reads_and_writes_of_the_cache_are_in_the_price_and_reasoning_is_in_the_first_estimate(
    paid: Settings, loopback: Loopback
) -> None:
    loopback.marks, loopback.count = "taken", load_tokenizer("o200k_base").count
    quiet, loud = (
        paid.changed(llm=llm | {"model": "gpt-6-luna", "extra_body": {"reasoning_effort": effort}})
        for llm in [paid.llm.model_dump(exclude_none=True)]
        for effort in ("none", "medium")
    )
    write_source(quiet, "notes", texts(0, 8))
    plan, reasoning = make_plan(quiet), make_plan(loud)
    outputs = [one.steps["extraction"].output_tokens for one in (plan, reasoning)]
    assert outputs[0] is not None
    assert outputs[1] == outputs[0].times(Estimate(2, 1.2, 4))

    build(quiet)

    spent = Ledger(Home(paid.home).ledger).by_purpose()["extract"]
    assert 0.4 < spent.cached_input_tokens / spent.input_tokens < 0.9
    assert spent.cost_usd == pytest.approx(price_of(quiet.llm).of(*billed(spent)))
    extraction = plan.steps["extraction"]
    assert extraction.cost.low <= spent.cost_usd <= extraction.cost.high
    assert extraction.cost_by_batch == pytest.approx(extraction.cost.times(0.5))
    write_source(quiet, "notes", texts(0, 16))
    again = make_plan(quiet)
    assert again.history
    assert again.steps["extraction"].cost.expected == pytest.approx(spent.cost_usd, rel=0.15)


def billed(entry: Entry) -> tuple[int, ...]:
    return entry.input_tokens, entry.output_tokens, entry.cached_input_tokens, entry.cache_write_tokens


def test_instructions_that_are_too_short_for_any_cache_are_told(paid: Settings, tmp_path: Path) -> None:
    write_source(paid, "notes", texts(0, 1))
    assert not [line for line in make_plan(paid).warnings if "instructions" in line]
    short = edited(paid, tmp_path / "prompts", extraction_system="Find $entity_types, in $language.")
    (told,) = [line for line in make_plan(short).warnings if "instructions" in line]
    assert re.search(r"have 210 tokens, and OpenAI caches none of fewer than 1,024; add examples", told)


@pytest.mark.long  # a whole run
def test_with_a_past_the_whole_run_is_known(paid: Settings) -> None:
    write_source(paid, "notes", texts(0, 12))
    build(paid)
    files = texts(1, 24)
    files["3.txt"] = RIVER.replace("2019", "2020")
    write_source(paid, "notes", files)

    plan = make_plan(paid, ["notes"])

    outcome = build(paid)
    assert plan.history
    assert plan.sources[0].documents == DocumentChanges(added=12, changed=1, removed=1, unchanged=10)
    assert plan.sources[0].chunks_new == 13
    assert outcome.cost_usd == pytest.approx(plan.total.expected, rel=0.15)
    assert plan.total.low <= outcome.cost_usd <= plan.total.high
    assert plan.total_by_batch.high < plan.total.high


@pytest.mark.long  # a whole run
def test_a_document_about_names_that_stand_everywhere_has_them_summarised_again(paid: Settings) -> None:
    hubs = ("Anna Vollmoor", "Kessing", "Corley Bridge", "Halden Weir")
    files: dict[str, str | bytes] = {
        f"{number}.txt": " ".join(
            f"{one} met {other} in week {number} of year {number + 1900}." for one, other in pairs
        )
        for number in range(13)
        for pairs in [list(permutations(hubs, 2))[number % 6 : number % 6 + 6]]
    }
    write_source(paid, "notes", dict([*files.items()][:12]))
    before = build(paid).cost_usd
    write_source(paid, "notes", files)

    plan = make_plan(paid)

    cost = build(paid).cost_usd
    summaries, extraction = plan.steps["summaries"].cost, plan.steps["extraction"].cost
    assert summaries.expected > extraction.expected, "one document, and all the names of twelve"
    assert plan.total.low <= cost <= plan.total.high
    assert cost > before / 6


@pytest.mark.long
def test_scopes_that_show_nothing_are_not_charged(known: Settings, tmp_path: Path) -> None:
    scopes = {"all": {"sources": ["notes"]}, "gone": {"sources": ["nothing"]}, "secret": {"access": ["secret"]}}
    scoped = known.changed(scopes=scopes)
    write_source(scoped, "notes", texts(0, 6))
    assert {"scope all", "scope secret"} == {step for step in make_plan(scoped).steps if "scope" in step}
    build(scoped)
    plan = make_plan(edited(scoped, tmp_path / "prompts", entity_types="Types: person, other."), backfill=True)
    costs = {name: plan.steps[f"scope {name}"].cost for name in ("all", "secret")}
    assert costs["all"].expected > 0
    assert costs["secret"].expected == 0
    assert plan.steps.keys().isdisjoint({"scope gone"})


@pytest.mark.long  # a whole run
def test_by_batch_the_whole_run_costs_what_the_plan_said_too(paid: Settings) -> None:
    merging = paid.merging.model_copy(update={"summary_min_descriptions": 2})
    at_once = paid.model_copy(update={"merging": merging})
    batched = at_once.model_copy(update={"llm": paid.llm.model_copy(update={"mode": "batch"})})
    write_source(at_once, "notes", texts(0, 12))
    build(at_once)
    write_source(batched, "notes", texts(0, 24))

    plan = make_plan(batched)

    assert plan.history
    assert plan.steps["summaries"].cost.expected > 0
    assert run_all(batched) == pytest.approx(plan.total_by_batch.expected, rel=0.15)


def run_all(settings: Settings) -> float:
    """Run until nothing waits for a batch; return what that cost."""
    ledger = Ledger(Home(settings.home).ledger)
    before = sum(entry.cost_usd for entry in ledger.by_purpose().values())
    while run(settings).waiting:
        pass
    return sum(entry.cost_usd for entry in ledger.by_purpose().values()) - before


def test_files_in_no_source_are_told(paid: Settings) -> None:
    write_source(paid, "notes", texts(0, 1))
    assert not any("in no source" in one for one in make_plan(paid).warnings)
    (paid.sources / "loose.md").write_text(RIVER)
    (said,) = (one for one in make_plan(paid).warnings if "in no source" in one)
    assert said.endswith("are in no source: 1, first loose.md; move them into a folder")


def test_a_model_without_a_price_is_named(paid: Settings) -> None:
    write_source(paid, "notes", texts(0, 1))
    unknown = paid.model_copy(update={"llm": paid.llm.model_copy(update={"model": "no-such-model"})})
    assert make_plan(unknown).unknown_prices == ["no-such-model"]


@pytest.mark.long
def test_rows_of_an_edited_prompt_are_counted_and_stay(settings: Settings, tmp_path: Path) -> None:
    write_source(settings, "notes", texts(0, 2))
    build(settings)
    later = edited(settings, tmp_path / "prompts", entity_types="Types: person, other.")
    plans = make_plan(later), make_plan(later, backfill=True), make_plan(settings)
    assert [plan.sources[0].outdated for plan in plans] == [2, 0, 0]


def asked(server: Loopback) -> Counter[str]:
    """Return how many requests of each kind came since the last time."""
    kinds = [role_of(one.body) if "messages" in one.body else "embed" for one in server.requests]
    server.requests.clear()
    return Counter(kinds)


def calls(plan: Plan) -> Counter[str]:
    """Return the calls that a plan expects, and fail where they are a range."""
    found = Counter[str]()
    for step, name in (("extraction", "extract"), ("summaries", "summarise"), ("embeddings", "embed")):
        if step in plan.steps and (planned := plan.steps[step].calls):
            assert planned.low == planned.expected == planned.high
            found[name] = int(planned.expected)
    return +found


@pytest.fixture
def known(paid: Settings, loopback: Loopback) -> Settings:
    """Settings under which every call can be known before: one round, and embeddings that cost too."""
    return load_settings(
        home=paid.home,
        sources=paid.sources,
        llm=paid.llm.model_dump(exclude_none=True),
        documents={"accept_deletes": True},
        extraction={"gleaning": 0},
        merging={"summary_min_descriptions": 3},
        embedding={"provider": "openai", "model": "text-embedding-3-small", "dimensions": 8},
    )


def printed(plan: Plan) -> str:
    shown = io.StringIO()
    print_plan(Console(file=shown, width=80), plan)
    return shown.getvalue()


def edited(settings: Settings, folder: Path, **prompts: str) -> Settings:
    folder.mkdir(exist_ok=True)
    for name, text in prompts.items():
        (folder / f"{name}.md").write_text(text)
    return settings.model_copy(update={"prompts": folder})


def test_the_plan_equals_what_the_next_run_asks(known: Settings, loopback: Loopback, tmp_path: Path) -> None:
    write_source(known, "notes", texts(0, 4))
    write_source(known, "office", texts(3, 5))
    plan = make_plan(known)
    build(known)
    first = asked(loopback)
    # The texts that both sources share are asked about once.
    assert plan.steps["extraction"].calls == Estimate.exactly(5) == Estimate.exactly(first["extract"])
    assert [one.chunks_new for one in plan.sources] == [4, 1]

    # Nothing to extract: summaries and vectors are known too.
    for changed in (
        known.model_copy(update={"merging": known.merging.model_copy(update={"summary_min_descriptions": 2})}),
        known,
    ):
        plan = make_plan(changed)
        assert asked(loopback) == Counter()
        build(changed)
        assert calls(plan) == asked(loopback)
    assert calls(make_plan(known)) == Counter()


def test_requests_of_a_scope_are_those_with_a_text_that_the_store_lacks(known: Settings, loopback: Loopback) -> None:
    small = known.changed(embedding={"batch_size": 2})
    write_source(small, "notes", texts(0, 4))
    write_source(
        small, "office", {"a.txt": OFFICE.replace("office", "branch"), "b.txt": RIVER.replace("gauge", "pump")}
    )
    build(small)
    asked(loopback)
    scoped = small.changed(scopes={"notes": {"sources": ["notes"]}})
    planned = make_plan(scoped).steps["scope notes"].calls
    build(scoped)
    made = asked(loopback)
    assert planned == Estimate.exactly(made.total())
    assert made["embed"] > 1


@pytest.mark.long
def test_terms_that_are_paid_for_have_a_price(known: Settings, loopback: Loopback) -> None:
    free = known.changed(llm={"provider": "offline"})
    passages = {row["path"]: row["content"] for row in nameless_chunks()}
    write_source(free, "notes", passages)
    build(free)
    asked(loopback)
    assert calls(make_plan(free)) == Counter(), "auto buys no term"
    wanted = free.changed(extraction={"terms": "on"})
    plan = make_plan(wanted)
    assert plan.steps["embeddings"].cost.low > 0
    build(wanted)
    assert calls(plan) == asked(loopback) == {"embed": 1}


@pytest.mark.long
def test_the_price_of_a_backfill(known: Settings, loopback: Loopback, tmp_path: Path) -> None:
    write_source(known, "notes", texts(0, 6))
    build(known)
    asked(loopback)
    other = edited(known, tmp_path / "prompts", summary_system="Condense these in $language, $max_tokens tokens.")
    assert calls(make_plan(other)) == Counter()
    plan = make_plan(other, None, knowledge_base=True)
    assert plan.steps["summaries"].cost.low > 0
    build(other, backfill=True)
    made = asked(loopback)
    assert calls(plan)["summarise"] == made["summarise"] > 0

    embedding = other.embedding.model_copy(update={"model": "text-embedding-3-large"})
    moved = other.model_copy(update={"embedding": embedding})
    plan = make_plan(moved, None, knowledge_base=True)
    build(moved, backfill=True)
    assert calls(plan) == asked(loopback) == {"embed": 3}


@pytest.mark.long
def test_outdated_chunks_are_asked_about_in_a_backfill_alone(
    known: Settings, loopback: Loopback, tmp_path: Path
) -> None:
    write_source(known, "notes", texts(0, 6))
    build(known)
    other = edited(known, tmp_path / "prompts", entity_types="Types: person, other.")
    assert calls(make_plan(other)) == Counter()
    plan = make_plan(other, ["notes"], backfill=True)
    asked(loopback)
    build(other, "notes", backfill=True)
    assert plan.steps["extraction"].calls == Estimate.exactly(asked(loopback)["extract"])
    assert plan.sources[0].chunks_new == 6


@pytest.mark.long
def test_a_plan_changes_nothing(paid: Settings) -> None:
    write_source(paid, "notes", texts(0, 3))
    build(paid)
    write_source(paid, "notes", texts(1, 5))

    def contents() -> dict[Path, bytes]:
        folders = [paid.home / name for name in ("tables", "accepted", "generations", "PUBLISHED", "NEWEST")]
        paths = [path for folder in folders for path in (folder, *folder.rglob("*")) if path.is_file()]
        return {path: path.read_bytes() for path in paths}

    before = contents()
    make_plan(paid)
    make_plan(paid, backfill=True, knowledge_base=True)
    assert contents() == before


@pytest.mark.long
def test_chunks_that_failed_for_good_are_neither_new_nor_stored(paid: Settings, loopback: Loopback) -> None:
    refuses = True
    loopback.fault = lambda received: Reply.error(400) if refuses and "note 0" in str(received.body) else None
    write_source(paid, "notes", texts(0, 3))
    ingest(find_source(paid, "notes"), SourceTables(Home(paid.home)), Recipes.of(paid))
    refuses = False
    write_source(paid, "notes", texts(0, 4))
    (notes,) = make_plan(paid).sources
    assert (notes.chunks_new, notes.chunks_stored, notes.chunks_failed) == (1, 2, 1)


@pytest.mark.long
def test_of_conversations_that_were_cut_short_what_is_left_is_counted(paid: Settings, loopback: Loopback) -> None:
    broken = True

    def later_rounds_fail(received: Received) -> Reply | None:
        text = str(received.body)
        return Reply.error(503) if broken and ("note 1." in text or "note 2." in text) and "assistant" in text else None

    loopback.fault = later_rounds_fail
    settings = paid.changed(llm={"max_retries": 0})
    write_source(settings, "notes", texts(0, 6))
    ingest(find_source(settings, "notes"), SourceTables(Home(settings.home)), Recipes.of(settings))
    broken = False
    alone = make_plan(settings)
    assert (alone.sources[0].chunks_new, alone.sources[0].chunks_stored) == (0, 6)
    assert alone.steps["extraction"].calls == Estimate.exactly(2)
    write_source(settings, "notes", texts(0, 7))
    beside = make_plan(settings)
    assert (beside.sources[0].chunks_new, beside.sources[0].chunks_stored) == (1, 6)
    assert beside.steps["extraction"].calls is not None
    assert beside.steps["extraction"].calls.low >= 3
    write_source(settings, "notes", texts(0, 6))
    loopback.requests.clear()
    build(settings)
    assert asked(loopback)["extract"] == 2


@pytest.mark.long
def test_a_source_that_would_fail_is_named(paid: Settings) -> None:
    guarded = paid.model_copy(update={"documents": paid.documents.model_copy(update={"accept_deletes": False})})
    write_source(guarded, "notes", texts(0, 8))
    write_source(guarded, "office", texts(8, 9))
    build(guarded)
    write_source(guarded, "notes", texts(0, 1))
    notes, office = make_plan(guarded).sources
    assert "--accept-deletes" in str(notes.problem)
    assert office.problem is None


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_no_number_is_cut_off_in_80_columns(scale: float) -> None:
    def step(value: float) -> PlannedStep:
        cost = Estimate(0.0234 * value, 0.0216 * value, 0.0251 * value)
        tokens = Estimate.exactly(2_210 * value)
        return PlannedStep(cost, cost.times(0.5), tokens, tokens, tokens)

    many = int(scale)
    changes = DocumentChanges(many, many, many)
    source = SourcePlan("a-source-with-a-rather-long-name", changes, chunks_new=many, chunks_stored=many)
    source = replace(source, chunks_failed=many, question_tokens=many)
    plan = Plan([source], True, ["a-model"], {name: step(scale) for name in ("extraction", "summaries", "embeddings")})
    console = Console(width=80, record=True, file=io.StringIO())
    print_plan(console, plan)
    shown = console.export_text()
    assert "…" not in shown
    lines = shown.splitlines()
    assert max(len(line) for line in lines if "between" not in line and "estimated" not in line) <= 80
    amount = "$0.0702", "$0.0648", "$0.0753"
    if scale > 1:
        amount = "$70,200", "$64,800", "$75,300"
    for text in amount:
        assert text in shown
    counted = "2,210 M" if scale > 1 else "2,210"
    assert sum(line.count(counted) for line in lines) == 9
    # The word may be on a line of its own; the number is whole.
    assert shown.count("1,000,000") == 8 if scale > 1 else "1 changed" in shown


def test_documents_are_compared_by_path_and_content() -> None:
    before = pa.table({"path": ["a", "b", "c", "e"], "content_hash": [*"1234"]})
    after = pa.table({"path": ["b", "c", "d", "e"], "content_hash": [*"2915"]})
    assert compare(before, after) == DocumentChanges(added=1, changed=2, removed=1, unchanged=1)
    assert compare(None, after) == DocumentChanges(added=4, changed=0, removed=0)


@pytest.mark.long
def test_what_another_revision_reads_otherwise_counts_as_changed_and_all_that_is_paid_for(
    known: Settings, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_source(known, "notes", {**texts(0, 3), "river.md": RIVER, "edited.md": OFFICE})
    with monkeypatch.context() as older:
        older.setitem(_REVISIONS, "raw_documents", 0)
        read = FORMATS[".md"].read
        older.setitem(FORMATS, ".md", replace(FORMATS[".md"], read=lambda data: read(data + b" As it was read once.")))
        build(known)
    asked(loopback)
    (known.sources / "notes" / "edited.md").write_text(f"{OFFICE} Now.")
    plan = make_plan(known)
    (notes,) = plan.sources
    assert notes.documents == DocumentChanges(changed=2, unchanged=3)
    assert (notes.chunks_new, notes.chunks_stored) == (2, 3)
    assert "2 changed" in printed(plan)
    build(known)
    assert plan.steps["extraction"].calls == Estimate.exactly(asked(loopback)["extract"]) == Estimate.exactly(2)


@pytest.mark.long
def test_a_budget_stops_a_run_that_the_next_one_goes_on_with(paid: Settings, loopback: Loopback) -> None:
    write_source(paid, "notes", texts(0, 12))
    limit = 0.0065
    tight = paid.model_copy(update={"llm": paid.llm.model_copy(update={"max_cost_usd": limit})})
    with pytest.raises(BudgetExceededError, match="--max-cost"):
        run(tight)
    ledger = Ledger(Home(paid.home).ledger)
    answered = len(loopback.requests)
    assert 0 < answered < 24
    last = ledger.entries()["run"].to_pylist()[-1]
    assert 0 < ledger.spent(last) <= limit

    assert build(paid).failed == {}
    assert len(loopback.requests) <= 24 + 8
    bodies = [str(one.body) for one in loopback.requests]
    assert len(set(bodies)) == len(bodies)


def test_a_home_of_a_database_is_planned_without_it(settings: Settings, postgres: SecretStr) -> None:
    settings = settings.changed(database=postgres)
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    (notes,) = make_plan(settings, knowledge_base=True).sources
    assert notes.chunks_new == 1
