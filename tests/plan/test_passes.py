"""The plan of passes, compared with what a loopback server is then asked, and bills."""

import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from lightrag_dagster.cli.plan import print_plan, show_plan
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.plan.sources import PassPlan
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback
from tests.passes import EVENTS, WORKS, answer, asked_of, is_of_pass, model_settings, with_passes, write_schemas
from tests.support import FLOOD, OFFICE, RIVER, build, write_source

NOTES = {"river.txt": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE, "copy.txt": RIVER}


@pytest.fixture
def paid(tmp_path: Path, loopback: Loopback) -> Settings:
    settings = model_settings(tmp_path, loopback)
    write_source(settings, "notes", NOTES)
    return settings


def asked(server: Loopback) -> dict[str, list[int]]:
    """Return the input tokens of the requests that came since the last time, by what they are for."""
    found: dict[str, list[int]] = {}
    for one in server.requests:
        if "messages" in one.body:
            found.setdefault(asked_of(one.body), []).append(answer(one.body).usage["prompt_tokens"])
    server.requests.clear()
    return found


@pytest.mark.long
def test_a_new_pass_over_an_unchanged_corpus_plans_exactly_its_own_calls(
    paid: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    build(paid)
    asked(loopback)
    reading = with_passes(paid, tmp_path / "readings", works=WORKS)

    plan = make_plan(reading)

    (notes,) = plan.sources
    assert not loopback.requests
    assert (notes.chunks_new, notes.chunks_stored) == (0, 3)
    assert notes.passes == {"works": PassPlan(chunks_new=3, question_tokens=notes.passes["works"].question_tokens)}
    assert {name: step.calls for name, step in plan.steps.items() if name in ("extraction", "readings@works")} == {
        "extraction": (0, 0, 0),
        "readings@works": (3, 3, 3),
    }
    build(reading)
    bought = asked(loopback)
    assert {name: len(tokens) for name, tokens in bought.items()} == {"maintains": 3}
    assert notes.passes["works"].question_tokens == pytest.approx(sum(bought["maintains"]), rel=0.02)
    spent = Ledger(Home.of(paid).ledger).by_purpose()["readings@works"]
    assert (spent.calls, spent.input_tokens) == (3, sum(bought["maintains"]))
    assert plan.steps["readings@works"].cost.low <= spent.cost_usd <= plan.steps["readings@works"].cost.high
    again = make_plan(reading)
    assert again.sources[0].passes == {"works": PassPlan(chunks_stored=3)}
    assert again.total.high == 0


@pytest.mark.long
def test_each_pass_is_a_line_and_its_price_follows_what_it_cost_before(
    paid: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    reading = with_passes(paid, tmp_path / "readings", works=WORKS, events=EVENTS)
    plan = make_plan(reading)
    assert {name: one.chunks_new for name, one in plan.sources[0].passes.items()} == {"events": 3, "works": 3}
    assert [name for name in plan.steps if "@" in name] == ["readings@events", "readings@works"]
    printed = io.StringIO()
    print_plan(Console(file=printed, width=160), plan)
    assert re.search(r"notes[ │]+pass works[ │]+3[ │]+0[ │]+0[ │]+1,\d{3}\b", printed.getvalue())
    assert re.search(r"readings@works[ │]+3[ │]+1,\d{3}[ │]+\d+[ │]+\$0\.000\d[ │]+\$0\.000\d", printed.getvalue())
    told = json.loads(json.dumps(plan.to_dict()))
    assert told["sources"][0]["passes"]["works"]["chunks_new"] == 3
    assert told["steps"]["readings@works"]["calls"]["expected"] == 3
    build(reading)
    assert Counter({name: len(tokens) for name, tokens in asked(loopback).items()}) == Counter(
        extract=3, closed=3, maintains=3
    )
    write_source(paid, "notes", NOTES | {"new.txt": OFFICE + " Mara Quill left."})

    more = make_plan(reading)

    build(reading)
    asked_now = {name: len(tokens) for name, tokens in asked(loopback).items() if name != "summarise"}
    assert asked_now == {"extract": 1, "closed": 1, "maintains": 1}
    (notes,) = more.sources
    assert (notes.chunks_new, notes.passes["works"].chunks_new, notes.passes["events"].chunks_new) == (1, 1, 1)
    first, then = (one.steps["readings@works"].output_tokens for one in (plan, more))
    assert first is not None
    assert then is not None
    assert then.expected < first.expected / 5  # by its own answers, which are short


@pytest.mark.long
def test_outdated_readings_are_a_line_of_the_plan(
    paid: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = with_passes(paid, tmp_path / "readings", works=WORKS)
    build(reading)
    write_schemas(tmp_path / "readings", works=WORKS.replace("Somebody", "A woman or a man"))
    monkeypatch.setattr("lightrag_dagster.cli.plan.load_settings", lambda: reading)
    show_plan(Console(width=160), [], backfill=False, as_json=False)
    told = "3 rows of pass works of notes are outdated and stay; `plan --backfill` shows their price."
    assert told in capsys.readouterr().out


@pytest.mark.long
def test_readings_of_a_changed_schema_are_counted_and_stay_until_a_backfill(
    paid: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    reading = with_passes(paid, tmp_path / "readings", works=WORKS, events=EVENTS)
    build(reading)
    asked(loopback)
    changed = WORKS.replace("  leads:", "  directs: {from: person, to: place}\n  leads:")
    write_schemas(tmp_path / "readings", works=changed, events=EVENTS)

    plan, backfill = make_plan(reading), make_plan(reading, backfill=True)

    assert (plan.sources[0].outdated, plan.sources[0].passes["works"].outdated, plan.total.high) == (0, 3, 0)
    assert {name: one.chunks_new for name, one in backfill.sources[0].passes.items()} == {"events": 0, "works": 3}
    assert backfill.steps["readings@works"].calls == (3, 3, 3)
    assert "readings@events" not in backfill.steps
    build(reading)
    assert asked(loopback) == {}
    build(reading, "notes", backfill=True)
    assert {name: len(tokens) for name, tokens in asked(loopback).items()} == {"maintains": 3}
    assert make_plan(reading).sources[0].passes["works"] == PassPlan(chunks_stored=3)


@pytest.mark.long
def test_facts_of_columns_are_read_and_cost_nothing(paid: Settings, tmp_path: Path, loopback: Loopback) -> None:
    file = tmp_path / "deals.jsonl"
    file.write_text('{"id": "1", "text": "A deal.", "customer": "Orrin Instruments", "amount": "12"}\n', "utf-8")
    facts = [{"subject": "customer", "relation": "revenue", "value": "amount", "unit": "EUR"}]
    deals = SourceSettings.model_validate({"uri": str(file), "rows": {"facts": facts}})
    settings = paid.changed(named_sources={"deals": deals})
    build(paid)
    loopback.requests.clear()
    plan = make_plan(settings, ["deals"])
    assert {name: step.calls for name, step in plan.steps.items() if name in ("extraction", "readings@columns")} == {
        "extraction": (1, 1, 1)
    }
    build(settings)
    assert {name: len(tokens) for name, tokens in asked(loopback).items()} == {"extract": 1}
    assert make_plan(settings, ["deals"]).sources[0].passes == {"columns": PassPlan(chunks_stored=1)}


def test_what_a_pass_asks_about_again_is_planned_as_its_own(paid: Settings, tmp_path: Path, loopback: Loopback) -> None:
    loopback.chat = lambda body: answer(body, "no JSON" if is_of_pass(body) else None)
    reading = with_passes(paid, tmp_path / "readings", works=WORKS).changed(documents={"max_failed_share": 1.0})
    build(reading)
    asked(loopback)
    assert make_plan(reading).sources[0].passes == {"works": PassPlan(chunks_failed=3)}

    plan = make_plan(reading.retrying_failed())

    assert {name: step.calls for name, step in plan.steps.items() if name in ("extraction", "readings@works")} == {
        "extraction": (0, 0, 0),
        "readings@works": (3, 3, 3),
    }
    loopback.chat = answer
    build(reading.retrying_failed())
    bought = asked(loopback)
    assert {name: len(tokens) for name, tokens in bought.items()} == {"maintains": 3}
    planned = plan.steps["readings@works"].input_tokens
    assert planned is not None
    assert planned.expected == pytest.approx(sum(bought["maintains"]), rel=0.02)
