"""Plans that read a sample of the documents, compared with plans of the same home that read all."""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.plan.estimates import Estimate
from lightrag_dagster.plan.plan import Plan, make_plan
from lightrag_dagster.plan.sample import SampledDocuments, in_all, scaled
from lightrag_dagster.plan.sources import DocumentChanges
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.support import FLOOD, OFFICE, RIVER, build, write_source

SAMPLE = 20


@pytest.fixture
def free(tmp_path: Path) -> Settings:
    """Settings of a source of 60 documents, of one chunk or several, by the offline rules."""
    (tmp_path / "sources").mkdir()
    settings = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        documents={"accept_deletes": True},
        merging={"summary_min_descriptions": 2},
        chunking={"size": 120, "overlap": 5},
    )
    write_source(settings, "notes", dict(notes(60)))
    return settings


def notes(number: int) -> dict[str, str | bytes]:
    passages = (RIVER, FLOOD, OFFICE)
    return {f"{one}.txt": f"{passages[one % 3]} {'Note. ' * (one % 7 * 40)}{one}." for one in range(number)}


def paid(settings: Settings) -> Settings:
    """Return the settings after a move to a paid model and embedder."""
    embedding = {"provider": "openai", "model": "text-embedding-3-small", "dimensions": 8}
    return settings.changed(llm={"provider": "openai", "model": "gpt-4o-mini"}, embedding=embedding)


def sampled_plan(sample: int, settings: Settings, *arguments: Any, **options: Any) -> Plan:
    """Return a plan that reads so many documents where there are more."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lightrag_dagster.plan.sources.SAMPLE", sample)
        return make_plan(settings, *arguments, **options)


def is_within(sampled: Plan, exact: Plan) -> bool:
    pairs = [(step.cost, exact.steps[name].cost) for name, step in sampled.steps.items()]
    pairs.append((sampled.total, exact.total))
    return all(one.low - 1e-12 <= other.expected <= one.high + 1e-12 for one, other in pairs)


def test_a_sample_gives_a_range_that_holds_what_all_documents_give(free: Settings) -> None:
    settings = paid(free)
    exact, sampled = make_plan(settings), sampled_plan(SAMPLE, settings)
    assert (exact.sampled, sampled.sampled) == (False, True)
    (counted,), (about,) = exact.sources, sampled.sources
    assert (counted.looked_at, about.looked_at) == (None, SAMPLE)
    assert counted.documents == about.documents == DocumentChanges(added=60)
    assert counted.chunks_new > 60
    assert about.chunks_new != counted.chunks_new
    assert about.chunks_new == pytest.approx(counted.chunks_new, rel=0.2)
    assert about.question_tokens == pytest.approx(counted.question_tokens, rel=0.2)
    assert is_within(sampled, exact)


def make_old(settings: Settings) -> None:
    """Let every later change of the documents show in their times."""
    for path in (settings.sources / "notes").iterdir():
        os.utime(path, (1e9, 1e9))


@pytest.mark.long
@pytest.mark.parametrize("old", [True, False])
def test_documents_that_did_not_change_are_not_in_the_sample(free: Settings, *, old: bool) -> None:
    if old:
        make_old(free)
    build(free)
    write_source(free, "notes", notes(60) | {"7.txt": f"{OFFICE} It is another text now."})
    plan = sampled_plan(SAMPLE, paid(free))
    assert not plan.sampled
    assert plan.sources[0].documents == DocumentChanges(changed=1, unchanged=59)
    assert plan.sources[0].chunks_new == 1


@pytest.mark.long
def test_of_many_changed_documents_the_number_is_estimated(free: Settings) -> None:
    make_old(free)
    build(free)
    changed = {name: f"{text!s} And more." for name, text in notes(50).items()}
    write_source(free, "notes", notes(60) | changed | {"new.txt": RIVER})
    settings = paid(free)
    exact, sampled = make_plan(settings), sampled_plan(SAMPLE, settings)
    documents = sampled.sources[0].documents
    assert exact.sources[0].documents == DocumentChanges(added=1, changed=50, unchanged=10)
    assert (documents.added, documents.removed) == (1, 0)
    assert documents.changed == pytest.approx(50, abs=3)
    assert documents.changed + documents.unchanged == 60
    assert sampled.sources[0].chunks_new == pytest.approx(exact.sources[0].chunks_new, rel=0.3)


@pytest.mark.long
def test_outdated_chunks_are_counted_whole_however_many(free: Settings) -> None:
    build(free)
    settings = paid(free)
    exact, other = make_plan(settings, backfill=True), sampled_plan(SAMPLE, settings, backfill=True)
    assert not other.sampled
    assert other.sources == exact.sources
    assert other.steps == exact.steps
    assert other.sources[0].chunks_new > 60


@pytest.mark.long
def test_what_the_store_answers_whole_is_read_whole(free: Settings, tmp_path: Path) -> None:
    build(free)
    other = free.changed(home=tmp_path / "other")
    other.home.mkdir()
    shutil.copy(Home.of(free).root / "responses.sqlite", other.home)
    exact, plan = make_plan(other), sampled_plan(SAMPLE, other)
    assert (plan.sampled, plan.total) == (False, Estimate.exactly(0))
    assert plan.sources == exact.sources
    assert (plan.sources[0].chunks_new, plan.sources[0].looked_at) == (0, None)
    assert plan.sources[0].chunks_stored > 60


def test_a_sum_over_a_sample_stands_for_all_but_what_is_outside_is_exact() -> None:
    sample = SampledDocuments(frozenset({"a", "b"}), 10)
    assert sample.factor == 5
    assert in_all({"a": 2, "b": 2}, None) == Estimate.exactly(4)
    found = in_all({"a": 2, "b": 2, "c": 100}, sample)
    assert found.expected == 120
    assert 104 <= found.low <= found.expected <= found.high


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98, 1.0])
def test_eight_of_ten_ranges_hold_the_sum(share: float) -> None:
    chance = random.Random(1)
    tokens = [chance.randint(800, 1600) if chance.random() < share else 0 for _ in range(5_000)]
    held = 0
    for _ in range(200):
        estimate = scaled([one for one in chance.sample(tokens, 500) if one], 500, len(tokens))
        held += estimate.low <= sum(tokens) <= estimate.high
    assert held >= 150


def test_a_sample_of_everything_is_exact() -> None:
    assert scaled([3, 4], 2, 2) == Estimate.exactly(7)
    assert scaled([], 10, 1000) == Estimate.exactly(0)
