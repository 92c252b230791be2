"""I1, rebuild parity: whatever happened to a home, it ends as a clean build of its final state would."""

import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as bounds
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lightrag_dagster import Filters, Keywords, KnowledgeBase
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.curation.desk.taking import take, undo
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import copy_decisions
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.models.rules import OfflineChatModel
from lightrag_dagster.orchestration.runner import Outcome
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.estimates import Estimate
from lightrag_dagster.plan.plan import Plan, make_plan
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.connectors import folder as folder_origin
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, newest_snapshot
from lightrag_dagster.storage.tables import shards
from tests.loopback import Loopback, Received, Reply
from tests.models.models import asks_for_facts, role_of
from tests.support import build, published, run, snapshot_contents, write_source

# Few names in many texts, so that entities have several descriptions, of which more than two are summarised.
SENTENCES = (
    "Marta Lindqvist maintains the gauge at Halden Weir.",
    "Orrin Instruments built the gauge at Halden Weir in 2019.",
    "Marta Lindqvist reports to Jonas Feld in Bergen.",
    "The flood of March 2021 damaged Halden Weir, and Jonas Feld closed Station 14.",
    "Priya Nair repaired the sensor at Station 14 for Orrin Instruments.",
    "ORRIN INSTRUMENTS opened an office in Bergen, which Jonas Feld leads.",
    "Priya Nair joined Orrin Instruments and met Marta Lindqvist at Station 14.",
    "Halden Weir lies north of Bergen, where Priya Nair lives.",
)
SOURCES = ("archive", "notes", "office")
PATHS = ("a.txt", "b.md", "deeper/a.txt", "deeper/c.md")
BRIEF_MARK = "Condense them"
BRIEF = f"{BRIEF_MARK}, in $language, into at most $max_tokens tokens."
PROMPTS = (None, "Types: person, organization, place, thing.", "Types: person, other.")
SHARD_ROWS = shards.ROWS
SCHEMA = """\
types: [person, company, place]
relations:
  leads: {from: person, to: place, dated: yes, single: yes}
  built: {from: company, to: place, dated: yes}
"""
PASSES: tuple[dict[str, str], ...] = (
    {},
    {"offices": SCHEMA},
    {"offices": SCHEMA.replace("single: yes", "single: no"), "weirs": SCHEMA},
    {"offices": SCHEMA + "  repaired: {from: person, to: place}\n"},
    {"offices": SCHEMA + "sources: [notes]\n", "weirs": SCHEMA.replace("from: person", "from: [person, company]")},
)
FACTS = {
    1: ("Orrin Instruments", "company", "built", "Halden Weir", "in 2019"),
    4: ("Priya Nair", "person", "repaired", "Station 14", ""),
    5: ("Jonas Feld", "person", "leads", "Bergen", ""),
    3: ("Jonas Feld", "person", "leads", "Station 14", "March 2021"),
    7: ("Priya Nair", "person", "leads", "Bergen", "since 1850"),
}
"""Sentence → subject, its type, relation, object and time of the row that the model answers."""
EMBEDDERS = (("openai", 64), ("offline", 256), ("offline", 512))

texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)
sources, paths = st.sampled_from(SOURCES), st.sampled_from(PATHS)
decisions = st.sampled_from(
    [
        Decision(action="merge", names=("Marta Lindqvist", "Priya Nair"), into="Marta Lindqvist"),
        Decision(action="merge", names=("Priya Nair", "Jonas Feld", "Orrin Instruments")),
        Decision(action="apart", names=("Marta Lindqvist", "Jonas Feld")),
        Decision(action="rename", names=("Halden Weir",), into="Halden Dam"),
        Decision(action="retype", names=("Bergen",), type="city"),
        Decision(action="describe", names=("Orrin Instruments",), text="A maker of gauges."),
        Decision(action="describe", names=("Orrin Instruments", "Bergen"), text="Has an office there."),
        Decision(action="remove", names=("March 2021",)),
        Decision(action="remove", names=("Priya Nair", "Station 14")),
        Decision(action="split", names=("Orrin Instruments",), into="Orrin Norway", sources=("office",)),
        Decision(action="split", names=("Priya Nair",), into="Another Priya", paths=("deeper/*",)),
        Decision(action="split", names=("Halden Weir",), into="Halden (place)", types=("location",)),
        Decision(action="add", names=("Ulla Berg",), type="person", text="She keeps the archive."),
        Decision(action="add", names=("Ulla Berg", "Jonas Feld"), keywords="knows"),
    ]
)
numbers = st.integers(0, len(SOURCES) * len(PATHS) - 1)


class Model:
    """What the loopback server answers: the offline rules, coloured by the model's name, but for what fails."""

    def __init__(self) -> None:
        self.failing: str | None = None

    def chat(self, body: dict[str, Any]) -> str:
        messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
        if messages[-1].content == "Hello":
            return "Hello"  # which is asked after many requests in a row that failed
        if asks_for_facts(body):
            passage = messages[-1].content
            rows = [
                dict(zip(("subject", "subject_type", "relation", "object", "when"), said, strict=True))
                | {"words": SENTENCES[at], "object_type": "place", "model": body["model"]}
                for at, said in FACTS.items()
                if SENTENCES[at] in passage
            ]
            return json.dumps({"facts": rows})
        summary = "Description" in messages[-1].content
        request = ChatRequest("summarise" if summary else "extract", messages)
        text = run_sync(OfflineChatModel().complete(request)).text
        if not summary and "Halden Weir" in text:
            text = f"relation<|#|>Halden Weir<|#|>\n{text}"  # which is counted in `parsed`
        if BRIEF_MARK in messages[0].content:
            text = f"In brief: {text}"
        return text.replace("Bergen", "Bergen (Norway)") if body["model"] == "second" else text

    def fault(self, received: Received) -> Reply | None:
        asked = received.body.get("messages", [{}])[-1].get("content", "")
        return Reply.error(503) if self.failing and self.failing in asked else None


Way = Callable[..., Outcome]
Thing = TypeVar("Thing", str, tuple[str, str])


def _chosen(things: Iterable[Thing], number: int) -> Thing:
    """Return one of the things by a number that may be larger than there are things."""
    ordered = sorted(things)
    return ordered[number % len(ordered)]


def _planned(plan: Plan, step: str) -> Estimate | None:
    """Return the calls that a plan expects of a step; None where it says that they are not known."""
    return plan.steps[step].calls if step in plan.steps else Estimate.exactly(0)


class Histories(RuleBasedStateMachine):
    """Random histories of one home; `teardown` compares it with a clean build."""

    def __init__(self, folder: Path, server: Loopback, bring_up_to_date: Way) -> None:
        super().__init__()
        self.folder = folder
        self.bring_up_to_date = bring_up_to_date
        self.model, self.server = Model(), server
        server.chat, server.fault = self.model.chat, self.model.fault
        self.files: dict[str, dict[str, str | bytes]] = {}
        self.options: dict[str, Any] = {"model": "first", "size": 1200, "prompt": None}
        self.options |= {"brief": False, "embedder": EMBEDDERS[0], "passes": {}}

    @initialize(text=texts)
    def begin(self, text: str) -> None:
        self._put("notes", "a.txt", text)
        self._run()

    @rule(source=sources, path=paths, text=texts)
    def write(self, source: str, path: str, text: str) -> None:
        self._put(source, path, text)

    @rule(number=numbers, source=sources, path=paths)
    def rename_or_move(self, number: int, source: str, path: str) -> None:
        old_source, old_path = self._file(number)
        self._put(source, path, self.files[old_source][old_path])
        if (old_source, old_path) != (source, path):
            self._drop(old_source, old_path)

    @rule(number=numbers, source=sources, path=paths)
    def copy(self, number: int, source: str, path: str) -> None:
        old_source, old_path = self._file(number)
        self._put(source, path, self.files[old_source][old_path])

    @precondition(lambda self: sum(map(len, self.files.values())) > 1)
    @rule(number=numbers)
    def delete(self, number: int) -> None:
        self._drop(*self._file(number))

    @precondition(lambda self: len(self.files) > 1 and any(self.files.values()))
    @rule(number=numbers)
    def remove_source(self, number: int) -> None:
        empty_others = [name for name in self.files if any(self.files[other] for other in self.files if other != name)]
        if empty_others:
            source = _chosen(empty_others, number)
            write_source(self._settings(), source, {})
            self._remove_folder(source)
            del self.files[source]

    @rule(prompt=st.sampled_from(PROMPTS))
    def edit_prompt(self, prompt: str | None) -> None:
        self.options["prompt"] = prompt

    @rule(brief=st.booleans())
    def edit_summary_prompt(self, brief: bool) -> None:
        self.options["brief"] = brief

    @rule(embedder=st.sampled_from(EMBEDDERS))
    def change_embedder(self, embedder: tuple[str, int]) -> None:
        self.options["embedder"] = embedder

    @rule()
    def backfill_everything(self) -> None:
        self._run(backfill=True)

    @rule(size=st.sampled_from((20, 1200)))
    def change_chunk_size(self, size: int) -> None:
        self.options["size"] = size

    @rule(model=st.sampled_from(("first", "second")))
    def change_model(self, model: str) -> None:
        self.options["model"] = model

    @rule(rows=st.sampled_from((1, 2, SHARD_ROWS)))
    def change_rows_a_shard(self, rows: int) -> None:
        shards.ROWS = rows

    @rule(passes=st.sampled_from(PASSES))
    def change_passes(self, passes: dict[str, str]) -> None:
        self.options["passes"] = passes

    @rule(sentence=st.sampled_from(SENTENCES))
    def fail_on(self, sentence: str) -> None:
        self.model.failing = sentence
        self._run()

    @rule()
    def recover(self) -> None:
        self.model.failing = None

    @rule()
    def run_all(self) -> None:
        self._run()

    @rule(number=numbers)
    def run_one(self, number: int) -> None:
        self._run(_chosen(self.files, number))

    @rule(number=numbers)
    def backfill_one(self, number: int) -> None:
        self._run(_chosen(self.files, number), backfill=True)

    @rule(number=numbers)
    def roll_back(self, number: int) -> None:
        snapshots.rollback(self._home, _chosen([one.snapshot_id for one in list_snapshots(self._home)], number))

    @precondition(lambda self: bool(snapshots.held_snapshot(self._home)))
    @rule()
    def release(self) -> None:
        snapshots.release(self._home)

    @rule(decision=decisions)
    def decide(self, decision: Decision) -> None:
        with suppress(DecisionError):  # it contradicts another one
            take(self._settings(), [decision])

    @rule()
    def undo_decision(self) -> None:
        with suppress(DecisionError):  # none is in force
            undo(self._settings())

    def teardown(self) -> None:
        if not self.files:
            return
        self.model.failing = None
        self._run(backfill=True)
        if snapshots.held_snapshot(self._home):
            snapshots.release(self._home)
        shards.ROWS = SHARD_ROWS
        clean = self._settings("clean")
        copy_decisions(self._home, Home(clean.home))
        build(clean)
        assert snapshot_contents(self._settings()) == snapshot_contents(clean)
        assert contexts(self._settings()) == contexts(clean)

    @property
    def _home(self) -> Home:
        return Home(self._settings().home)

    def _file(self, number: int) -> tuple[str, str]:
        return _chosen([(source, path) for source in self.files for path in self.files[source]], number)

    def _put(self, source: str, path: str, text: str | bytes) -> None:
        self.files.setdefault(source, {})[path] = text
        write_source(self._settings(), source, self.files[source])

    def _drop(self, source: str, path: str) -> None:
        del self.files[source][path]
        write_source(self._settings(), source, self.files[source])

    def _remove_folder(self, source: str) -> None:
        folder = self.folder / "sources" / source
        for below in sorted(folder.rglob("*"), reverse=True):
            below.rmdir()
        folder.rmdir()

    @invariant()
    def plan_equals_what_the_next_run_asks(self) -> None:
        """Try the next run on a copy of the home, so that the history itself stays as it is."""
        trial = self._settings("trial")
        shutil.rmtree(trial.home, ignore_errors=True)
        shutil.copytree(self._home.root, trial.home)
        self._run_as_planned(build, trial)

    def _run(self, *names: str, backfill: bool = False) -> None:
        self._run_as_planned(self.bring_up_to_date, self._settings(), *names, backfill=backfill)

    def _run_as_planned(self, way: Way, settings: Settings, *names: str, backfill: bool = False) -> None:
        done = len(self.server.requests)
        plan = make_plan(settings, names, backfill=backfill, knowledge_base=backfill and not names)
        assert len(self.server.requests) == done
        assert way(settings, *names, backfill=backfill).failed == {}
        if not names:
            states = pending(Situation.looking(settings))
            assert states.publish is None
            left = {str(state.ingest) for state in states.sources.values() if state.busy}
            assert all("failed that may succeed now" in reason for reason in left), left
        asked = self.server.requests[done:]
        bodies = [one.body for one in asked if "messages" in one.body and not asks_for_facts(one.body)]
        extracting = [body for body in bodies if role_of(body) == "extract"]
        first = [body for body in extracting if len(body["messages"]) == 2]
        assert sum(one.chunks_new for one in plan.sources) == len(first)
        if first:
            return
        # All that is merged is known, so the plan of what follows is exact, but for summaries of summaries.
        assert _planned(plan, "extraction") == Estimate.exactly(len(extracting))
        summaries, embeddings = _planned(plan, "summaries"), _planned(plan, "embeddings")
        if summaries is None or embeddings is None:
            assert any("messages" in one.body and asks_for_facts(one.body) for one in asked)
            return
        assert summaries.low <= len(bodies) - len(extracting) <= summaries.high
        newest = newest_snapshot(Home(settings.home))
        if newest and summaries.low == summaries.high and newest.inputs.embedder.provider == "openai":
            vectors = [one for one in asked if "messages" not in one.body]
            assert embeddings == Estimate.exactly(len(vectors))

    def _settings(self, home: str = "home") -> Settings:
        (self.folder / "sources").mkdir(parents=True, exist_ok=True)
        prompts = self.folder / "prompts"
        prompts.mkdir(exist_ok=True)
        edited = {"entity_types": self.options["prompt"], "summary_system": BRIEF if self.options["brief"] else None}
        for name, text in edited.items():
            (prompts / f"{name}.md").unlink(missing_ok=True)
            if text:
                (prompts / f"{name}.md").write_text(text)
        readings = self.folder / "readings"
        shutil.rmtree(readings, ignore_errors=True)
        readings.mkdir()
        for name, text in self.options["passes"].items():
            (readings / f"{name}.yaml").write_text(text)
        provider, dimensions = self.options["embedder"]
        return load_settings(
            home=self.folder / home,
            sources=self.folder / "sources",
            prompts=prompts,
            readings=readings,
            chunking={"size": self.options["size"], "overlap": 5},
            documents={"accept_deletes": True, "max_failed_share": 1.0},
            extraction={"max_rejected_share": 1.0},
            llm={"provider": "openai", "model": self.options["model"], "max_retries": 0},
            merging={"summary_min_descriptions": 3},
            embedding={"provider": provider, "dimensions": dimensions},
        )


@pytest.fixture(autouse=True)
def _rows_a_shard() -> Iterator[None]:
    yield
    shards.ROWS = SHARD_ROWS


@pytest.fixture(autouse=True)
def _stamps_count_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let unchanged files stay unread, although they are seconds old."""
    monkeypatch.setattr(folder_origin, "STABLE_AFTER", 0.05)


def _histories(count: int, steps: int, make: Callable[[], Histories]) -> None:
    run_state_machine_as_test(
        cast(type[RuleBasedStateMachine], make),
        settings=bounds(
            max_examples=count,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.explicit, Phase.generate),
            suppress_health_check=list(HealthCheck),
        ),
    )


STEPS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("write", ("notes", "b.md", f"{SENTENCES[0]} {SENTENCES[1]} {SENTENCES[6]}")),
    ("write", ("office", "a.txt", f"{SENTENCES[5]} {SENTENCES[3]}")),
    ("change_rows_a_shard", (2,)),
    ("edit_summary_prompt", (True,)),
    ("run_one", (0,)),
    ("change_passes", (PASSES[2],)),
    ("rename_or_move", (1, "office", "deeper/a.txt")),
    ("copy", (0, "archive", "b.md")),
    ("edit_prompt", (PROMPTS[1],)),
    ("plan_equals_what_the_next_run_asks", ()),
    ("run_all", ()),
    ("change_rows_a_shard", (1,)),
    ("change_chunk_size", (20,)),
    ("change_embedder", (EMBEDDERS[2],)),
    ("delete", (3,)),
    ("change_passes", (PASSES[4],)),
    ("roll_back", (0,)),
    ("plan_equals_what_the_next_run_asks", ()),
    ("run_one", (1,)),
    ("release", ()),
    ("change_model", ("second",)),
    ("change_rows_a_shard", (SHARD_ROWS,)),
    ("decide", (Decision(action="merge", names=("Marta Lindqvist", "Jonas Feld"), into="M. Lindqvist"),)),
    ("decide", (Decision(action="split", names=("Bergen",), into="Bergen office", sources=("office",)),)),
    ("plan_equals_what_the_next_run_asks", ()),
    ("run_all", ()),
    ("decide", (Decision(action="add", names=("Ulla Berg",), type="person", text="She keeps the archive."),)),
    ("decide", (Decision(action="remove", names=("Station 14",)),)),
    ("backfill_one", (2,)),
    ("undo_decision", ()),
    ("remove_source", (1,)),
    ("backfill_everything", ()),
    ("write", ("notes", "b.md", f"{SENTENCES[2]} {SENTENCES[1]}")),
    ("change_passes", (PASSES[3],)),
    ("change_chunk_size", (1200,)),
    ("fail_on", (SENTENCES[1],)),
    ("recover", ()),
)


def contexts(settings: Settings) -> list[str]:
    """Return what questions find in the whole snapshot, and in one of its sources."""
    keywords = Keywords(low_level=("Jonas Feld", "Ulla Berg"), high_level=("flood", "office"))
    with KnowledgeBase.open(settings=settings) as knowledge:
        held = sorted(knowledge.sql("SELECT DISTINCT source FROM raw_documents")["source"].to_pylist())
        return [
            knowledge.context("Who leads the office in Bergen?", mode=mode, filters=filters, keywords=keywords)
            for mode in ("fusion", "mix")
            for filters in (Filters(), *(Filters(sources=source) for source in held[:1]))
        ]


CHEAP = {"write", "rename_or_move", "copy", "delete", "decide", "undo_decision"}


def follow(home: Histories, rules: Collection[str]) -> None:
    home.begin(SENTENCES[0])
    for name, arguments in STEPS:
        if name in rules:
            getattr(home, name)(*arguments)


def test_a_history_of_few_rules_ends_as_a_clean_build(tmp_path: Path, loopback: Loopback) -> None:
    home = Histories(tmp_path, loopback, build)
    follow(home, CHEAP)
    home.teardown()


@pytest.mark.long
def test_a_text_of_two_sources_is_planned_in_both(tmp_path: Path, loopback: Loopback) -> None:
    home = Histories(tmp_path, loopback, build)
    home.begin(" ".join(SENTENCES[one] for one in (0, 4, 3)))
    home.copy(number=0, source="office", path="a.txt")
    for size in (20, 1200):
        home.change_chunk_size(size)
        home.backfill_everything()


@pytest.mark.long
def test_a_history_of_every_rule_ends_as_a_clean_build(tmp_path: Path, loopback: Loopback) -> None:
    home = Histories(tmp_path, loopback, build)
    follow(home, {name for name, _ in STEPS})
    home.plan_equals_what_the_next_run_asks()
    home.bring_up_to_date = run  # Dagster finds and ends what was begun without it
    home.teardown()
    assert home.options["passes"]
    assert published(home._settings()).rows["merged_facts"] > 2


@pytest.mark.long
def test_many_histories_end_as_a_clean_build(tmp_path_factory: pytest.TempPathFactory, loopback: Loopback) -> None:
    _histories(60, 20, lambda: Histories(tmp_path_factory.mktemp("history"), loopback, build))


@pytest.mark.long
def test_histories_through_dagster_end_as_a_clean_build(
    tmp_path_factory: pytest.TempPathFactory, loopback: Loopback
) -> None:
    _histories(10, 20, lambda: Histories(tmp_path_factory.mktemp("history"), loopback, run))
