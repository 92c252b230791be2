"""Bringing a knowledge base up to date: what is said of sources that are withheld, and what nothing costs."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.errors import BuilderLockedError, ProviderAccessError, ProviderAwayError, SettingsError
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import DocumentSettings, ExtractionSettings, Settings, SourceSettings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.locks.base import waiting_for_locks
from tests.loopback import Loopback, Reply
from tests.loopback_batches import Fate
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, RIVER, build, published, run, write_source

ROOT = Path(__file__).parents[2]


def runs(settings: Settings) -> int:
    with open_instance(Home(settings.home)) as instance:
        return instance.get_runs_count()


@pytest.mark.long  # test_silence.py holds it too
def test_a_source_that_is_withheld_is_named_every_time(settings: Settings) -> None:
    write_source(settings, "good", {"flood.md": FLOOD})
    write_source(settings, "bad", {"river.md": RIVER, "a.txt": b"\xc3\x28", "b.txt": b"\xc3\x28"})
    first = build(settings, graph=True)
    reason = first.rejected["bad"]
    assert reason.startswith("2 of 3 documents of source 'bad' failed (66.7%), more than the 20.0%")
    assert "a.txt, b.txt: not valid UTF-8" in reason
    assert list(published(settings).inputs.sources) == ["good"]

    count = runs(settings)
    again = run(settings)
    assert (again.rejected, again.ingested, again.published) == (first.rejected, [], None)
    assert run(settings, "good").rejected == {}

    # A good file that comes in is withheld with the rest, and that is said too.
    write_source(settings, "bad", {"river.md": RIVER, "c.md": FLOOD, "a.txt": b"\xc3\x28", "b.txt": b"\xc3\x28"})
    assert "2 of 4 documents" in run(settings).rejected["bad"]
    assert runs(settings) == count + 1

    # A raised bound counts at once, and nothing is read again for it.
    more = settings.model_copy(update={"documents": DocumentSettings(max_failed_share=0.5)})
    mended = run(more)
    assert (mended.rejected, mended.ingested) == ({}, [])
    assert sorted(published(settings).inputs.sources) == ["bad", "good"]


BROKEN = {
    "without-extra": {"uri": "s3://bucket/docs"},
    "no-protocol": {"uri": "nosuch://host/docs"},
    "no-driver": {"uri": "$PAGES_URL", "rows": {"query": "SELECT 1"}},
    "not-there": {"uri": "/nowhere/docs"},
    "without-names": {"uri": "https://host/docs"},
    "twice": {"uri": "elsewhere"},
    "no...name": {"uri": "elsewhere"},
    "by-names": {"uri": "docs"},
}


@pytest.fixture
def broken(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """Settings of sources of which each but one cannot be used."""
    for source in ("good", "twice", "by-names"):
        write_source(settings, source, {"flood.md": FLOOD})
    (settings.sources / "by-names").rename(tmp_path / "docs")
    monkeypatch.setitem(sys.modules, "obstore", None)  # as where the extra is not installed
    monkeypatch.setenv("PAGES_URL", "nosuch://host/db")
    named = {name: SourceSettings.model_validate(one) for name, one in BROKEN.items()}
    extraction = ExtractionSettings(methods={"by-names": "mentions"}, names_model="no_such_pipeline")
    return settings.model_copy(update={"named_sources": named, "extraction": extraction})


def test_a_source_that_cannot_be_used_is_named_before_a_run(broken: Settings) -> None:
    assert {name for name, state in pending(Situation.looking(broken)).sources.items() if state.problem} == set(
        BROKEN
    ) - {"by-names"}
    assert {one.source for one in make_plan(broken).sources if one.problem} == set(BROKEN)


@pytest.mark.long
def test_a_source_that_cannot_be_used_costs_itself_alone(broken: Settings) -> None:
    outcome = run(broken)
    assert outcome.published is not None
    assert (list(outcome.published.inputs.sources), outcome.ingested) == (["good"], ["good"])
    assert set(outcome.failed) == set(BROKEN)
    assert "needs the extra `cloud`; pip install 'lightrag-dagster[cloud]'" in outcome.failed["without-extra"]
    assert "no_such_pipeline" in outcome.failed["by-names"]
    assert run(broken, "good").failed == {}
    assert {name for name, state in pending(Situation.looking(broken)).sources.items() if state.problem} == set(BROKEN)


class RemovedMeanwhile:
    """A display of progress, as whose first run begins a folder is removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, name: str) -> None:
        shutil.rmtree(self._folder)

    def start(self, step: str) -> None: ...

    def finish(self) -> None: ...


@pytest.mark.long
def test_a_source_that_is_removed_during_its_first_run_is_named(settings: Settings) -> None:
    write_source(settings, "gone", {"flood.md": FLOOD})
    outcome = bring_up_to_date(settings, ["gone"], RemovedMeanwhile(settings.sources / "gone"))
    assert (outcome.failed, outcome.published) == ({"gone": "no such source: gone; there are none"}, None)


@pytest.mark.long  # test_silence.py holds it too
def test_a_source_whose_calls_all_fail_is_named_every_time(settings: Settings, loopback: Loopback) -> None:
    loopback.chat, loopback.fault = offline_answer, lambda received: Reply.error(429)
    asking = load_settings(
        home=settings.home,
        sources=settings.sources,
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
    )
    write_source(asking, "notes", {"river.md": RIVER})
    for way in (build, run):
        outcome = way(asking)
        assert "1 of 1 chunks of source 'notes' failed (100.0%)" in outcome.rejected["notes"]
        assert "river.md: " in outcome.rejected["notes"]
        assert outcome.published is None
    loopback.fault = lambda received: None
    mended = run(asking)
    assert (mended.rejected, mended.ingested) == ({}, ["notes"])
    assert mended.published is not None


def test_an_endpoint_that_answers_nothing_ends_the_run_and_the_next_one_goes_on(
    settings: Settings, loopback: Loopback
) -> None:
    """No source has enough chunks for it alone; what was paid for before is neither lost nor paid for twice."""
    loopback.chat, answered = offline_answer, 3
    loopback.fault = lambda received: Reply.error(500) if len(loopback.requests) > answered else None
    llm = {"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0, "max_concurrency": 2}
    asking = load_settings(home=settings.home, sources=settings.sources, llm=llm, extraction={"gleaning": 0})
    for source in ("a", "b", "c", "d", "e"):
        write_source(asking, source, {f"{number}.md": f"{RIVER} {source} {number}" for number in range(4)})
    with pytest.raises(ProviderAwayError, match=r"^10 requests in a row to .*HTTP 500.* run again later"):
        run(asking)
    assert 3 + 10 + 1 <= len(loopback.requests) <= 3 + 10 + 1 + 4  # one place asks on while the short one is on its way
    # One that is cancelled beside the tenth may be answered all the same, and counts with its worst case.
    assert answered <= Ledger(Home.of(asking).ledger).by_purpose()["extract"].calls <= answered + 2
    assert str(Looks(Home.of(asking).ledger).read()["d"].error).startswith("10 requests in a row")
    before, answered = len(loopback.requests), 10_000
    assert run(asking).published is not None
    assert sum(role_of(one.body) == "extract" for one in loopback.requests[before:]) == 5 * 4 - 3


@pytest.mark.long
def test_checks_that_cannot_be_read_end_a_run_before_a_model_is_asked(
    settings: Settings, loopback: Loopback, tmp_path: Path
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    asking = settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini"}, checks=tmp_path / "gone")
    with pytest.raises(SettingsError, match=r"setting checks: .*gone cannot be listed"):
        run(asking)
    assert loopback.requests == []


@pytest.mark.long
def test_only_what_failed_for_good_needs_an_option_to_be_asked_again(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = offline_answer
    asking = load_settings(
        home=settings.home,
        sources=settings.sources,
        llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
    )
    write_source(asking, "notes", {"river.md": RIVER})
    loopback.fault = lambda received: Reply.error(307, location="http://127.0.0.1:1/v1")
    with pytest.raises(ProviderAccessError, match="redirects to another address; set OPENAI_BASE_URL"):
        run(asking)
    loopback.fault = lambda received: Reply.error(418)
    assert run(asking).rejected["notes"].endswith("correct them or raise the bound, and run again")
    loopback.fault = lambda received: None
    mended = run(asking)
    assert (mended.rejected, mended.ingested) == ({}, ["notes"])

    write_source(asking, "letters", {"flood.md": FLOOD})
    loopback.fault = lambda received: Reply.error(400)
    refused = run(asking).rejected["letters"]
    assert refused.endswith("and run again, with `--retry-failed` to ask again about chunks that failed for good")
    loopback.fault = lambda received: None
    assert run(asking).rejected["letters"] == refused
    assert run(asking.retrying_failed()).rejected == {}


@pytest.mark.long
def test_a_plain_run_collects_what_another_one_retried_by_batch(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = offline_answer
    llm = {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"}
    asking = load_settings(home=settings.home, sources=settings.sources, llm=llm, extraction={"gleaning": 0})
    write_source(asking, "notes", {"river.md": RIVER})
    fates = [Fate(failed={0: (400, "content_filter")})]
    loopback.batches.spoil = lambda batch: fates.pop(0) if fates else Fate()
    assert run(asking).waiting == ["notes"]
    assert "content filter" in run(asking).rejected["notes"]
    assert run(asking).ingested == []
    assert run(asking.retrying_failed()).waiting == ["notes"]
    mended = run(asking)
    assert (mended.ingested, mended.waiting, mended.rejected) == (["notes"], [], {})
    assert mended.published is not None


@pytest.mark.long
def test_the_month_of_one_source_that_is_spent_stops_no_other(settings: Settings, loopback: Loopback) -> None:
    """Each `run` until the end of the month ended there; sources before it were never published."""
    loopback.chat = offline_answer
    llm = {"provider": "openai", "model": "gpt-4o-mini", "max_cost_per_source_month_usd": 1.0}
    limited = settings.changed(llm=llm, extraction={"gleaning": 0})
    for source in ("board", "handbook", "notes"):
        write_source(limited, source, {"river.md": f"{RIVER} So says the {source}."})
    spent = Usage(calls=1, cost_usd=1.0)
    Ledger(Home(limited.home).ledger).add(Account("before", "handbook").entry("extract", "gpt-4o-mini", spent))

    outcome = run(limited)

    assert outcome.ingested == ["board", "notes"]
    assert list(outcome.failed) == ["handbook"]
    assert "raise llm.max_cost_per_source_month_usd, or run again next month" in outcome.failed["handbook"]
    assert not outcome.transient
    assert list(published(limited).inputs.sources) == ["board", "notes"]


@pytest.mark.long
def test_what_filed_questions_cost_is_told(settings: Settings, loopback: Loopback, tmp_path: Path) -> None:
    loopback.chat = lambda body: offline_answer(body) if role_of(body) == "extract" else "Priya Nair did [1]."
    (questions := tmp_path / "questions.yaml").write_text("- question: Who repaired the gauge at Halden Weir?\n")
    paid = settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini"}, extraction={"gleaning": 0})
    write_source(paid, "notes", {"river.md": RIVER})
    first = run(paid)
    outcome = run(paid.changed(questions=questions))
    assert first.cost_usd > 0
    assert "questions" not in first.notes
    assert outcome.notes["questions"] == [
        f"Of the cost, ${outcome.cost_usd:.4f} is for filed questions and gold passages."
    ]


@pytest.mark.long
def test_a_backfill_that_is_not_accepted_says_so_and_can_be_resumed(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = offline_answer
    llm = {"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0}
    asking = load_settings(home=settings.home, sources=settings.sources, llm=llm)
    write_source(asking, "notes", {"river.md": RIVER})
    build(asking)
    before = published(asking)
    as_json = load_settings(
        home=settings.home, sources=settings.sources, llm=llm, extraction={"answer_format": "json_object"}
    )
    loopback.fault = lambda received: Reply.error(429)

    failed = run(as_json, "notes", backfill=True)

    assert "of the backfill, 1 of 1 chunks of source 'notes' failed (100.0%)" in failed.rejected["notes"]
    assert (failed.outdated, failed.published, published(as_json)) == ({"notes": 1}, None, before)
    # A night in between has nothing to do, and mentions it.
    night = run(as_json)
    assert (night.ingested, night.rejected) == ([], {})
    assert "`lightrag-dagster backfill --source notes` resumes it" in night.notes["notes"][0]
    loopback.fault = lambda received: None
    mended = run(as_json, "notes", backfill=True)
    assert (mended.rejected, mended.outdated, mended.notes) == ({}, {}, {})
    assert published(as_json) != before


@pytest.mark.long
def test_new_modification_times_publish_nothing(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    build(settings)
    before = published(settings)
    for path in settings.sources.rglob("*.md"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    outcome = build(settings)
    assert (outcome.ingested, outcome.published) == (["notes"], None)
    assert published(settings) == before


@pytest.mark.long
def test_a_source_that_is_being_ingested_is_left_to_that(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    statement = (
        "import sys; from pathlib import Path; from lightrag_dagster.storage.home import Home;"
        "from lightrag_dagster.storage.locking import ingesting\n"
        "with ingesting(Home(Path(sys.argv[1])), 'notes', 0):\n    print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", statement, str(settings.home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(BuilderLockedError), ingesting(Home(settings.home), "notes", 0):
        pytest.fail("two at once")
    with waiting_for_locks(0.1):
        outcome = run(settings)
    holder.communicate("")
    assert list(outcome.failed) == ["notes"]
    assert f"process {holder.pid} on {socket.gethostname()} is ingesting source 'notes'" in outcome.failed["notes"]
    assert outcome.ingested == ["office"]


@pytest.mark.long
def test_a_new_instance_gets_the_partitions_although_nothing_changed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    (tmp_path / "of_the_team").mkdir()
    (tmp_path / "of_the_team" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "of_the_team"))
    assert run(settings).ingested == []
    with open_instance(Home(settings.home)) as instance:
        assert instance.get_dynamic_partitions("source") == ["notes"]
        assert instance.get_runs_count() == 0


@pytest.mark.long
def test_with_nothing_to_do_dagster_is_not_imported(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    run(settings)  # makes Dagster's instance
    statement = (
        "import sys; from lightrag_dagster.cli import main; sys.argv = ['lightrag-dagster', 'run']\n"
        "try: main()\n"
        "except SystemExit as ended: code = ended.code\n"
        "print(code, {'dagster', 'duckdb', 'lancedb', 'kuzu', 'openai', 'pandas'} & set(sys.modules))"
    )
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "LIGHTRAG_HOME": str(settings.home),
        "LIGHTRAG_SOURCES": str(settings.sources),
    }
    done = subprocess.run(
        [sys.executable, "-c", statement], capture_output=True, text=True, env=environment, check=True, timeout=120
    )
    assert "Nothing changed" in done.stdout
    assert done.stdout.endswith("0 set()\n")
