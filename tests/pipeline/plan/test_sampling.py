"""Plans that go through a sample, compared with plans of the same home that go through everything."""

import random
from pathlib import Path
from typing import Any

import pytest
from lightrag_dagster.pipeline.plan.questions import Questions, scaled

from lightrag_dagster.pipeline.plan.estimates import Estimate
from lightrag_dagster.pipeline.plan.plan import Plan, make_plan
from lightrag_dagster.settings import Settings, load_settings
from tests.support import FLOOD, OFFICE, RIVER, build, write_source

SAMPLE = 20


@pytest.fixture
def free(tmp_path: Path) -> Settings:
    """Settings of a home of 60 chunks that the offline rules built."""
    (tmp_path / "sources").mkdir()
    settings = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        documents={"accept_deletes": True},
        merging={"summary_min_descriptions": 2},
    )
    passages = (RIVER, FLOOD, OFFICE)
    notes = {f"{number}.txt": f"{passages[number % 3]} {'Note. ' * (number % 7)}{number}." for number in range(60)}
    write_source(settings, "notes", dict(notes))
    build(settings)
    return settings


def paid(settings: Settings, model: str = "gpt-4o-mini") -> Settings:
    """Return the settings after a move to a paid model and embedder."""
    embedding = {"provider": "openai", "model": "text-embedding-3-small", "dimensions": 8}
    return settings.changed(llm={"provider": "openai", "model": model}, embedding=embedding)


def sampled_plan(sample: int, settings: Settings, *arguments: Any, **options: Any) -> Plan:
    """Return a plan that goes through so many chunks, and groups of descriptions, where there are more."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lightrag_dagster.pipeline.plan.plan.SAMPLE", sample)
        return make_plan(settings, *arguments, **options)


def is_within(sampled: Plan, exact: Plan) -> bool:
    pairs = [(step.cost, exact.steps[name].cost) for name, step in sampled.steps.items()]
    pairs.append((sampled.total, exact.total))
    return all(one.low - 1e-12 <= other.expected <= one.high + 1e-12 for one, other in pairs)


def test_a_sample_gives_a_range_that_holds_what_all_chunks_give(free: Settings) -> None:
    settings = paid(free)
    exact = make_plan(settings, backfill=True, knowledge_base=True)
    assert not exact.sampled
    assert exact.sources[0].looked_at is None

    sampled = sampled_plan(SAMPLE, settings, backfill=True, knowledge_base=True)

    assert sampled.sampled
    (notes,), (counted,) = sampled.sources, exact.sources
    assert (notes.looked_at, notes.chunks_new, notes.chunks_stored) == (SAMPLE, counted.chunks_new, 0)
    assert notes.question_tokens != counted.question_tokens
    assert notes.question_tokens == pytest.approx(counted.question_tokens, rel=0.05)
    assert sampled.steps.keys() == exact.steps.keys() == {"extraction", "summaries", "embeddings"}
    assert exact.steps["embeddings"].cost.expected > 0
    assert is_within(sampled, exact)
    as_large = sampled_plan(60, settings, backfill=True, knowledge_base=True)
    assert as_large.steps["extraction"] == exact.steps["extraction"]


def test_a_first_run_is_sampled_too(free: Settings, tmp_path: Path) -> None:
    settings = paid(free).model_copy(update={"home": tmp_path / "other"})
    exact, sampled = make_plan(settings), sampled_plan(SAMPLE, settings)
    assert (exact.sampled, sampled.sampled) == (False, True)
    assert sampled.sources[0].chunks_new == exact.sources[0].chunks_new == 60
    assert is_within(sampled, exact)


@pytest.mark.parametrize("copied", [60, 45, 5])
def test_chunks_that_two_sources_share_are_asked_once(free: Settings, tmp_path: Path, copied: int) -> None:
    names = sorted(path.name for path in (free.sources / "notes").iterdir())[:copied]
    texts = {name: (free.sources / "notes" / name).read_text() for name in names}
    write_source(free, "others", texts | {f"more {number}.txt": f"{OFFICE} More {number}." for number in range(30)})
    settings = paid(free).model_copy(update={"home": tmp_path / "other"})
    exact, sampled = make_plan(settings), sampled_plan(SAMPLE, settings)
    assert [one.chunks_new for one in sampled.sources] == [one.chunks_new for one in exact.sources] == [60, 30]
    assert is_within(sampled, exact)


def test_outdated_summaries_and_vectors_are_sampled(free: Settings) -> None:
    settings = paid(free)
    exact = make_plan(settings, None, knowledge_base=True)
    sampled = sampled_plan(5, settings, None, knowledge_base=True)
    assert (exact.sampled, sampled.sampled) == (False, True)
    assert exact.steps["summaries"].cost.expected > 0
    assert is_within(sampled, exact)


def test_what_the_store_answers_whole_is_counted_whole(free: Settings) -> None:
    plan = sampled_plan(SAMPLE, free.changed(extraction={"gleaning": 0}), backfill=True, knowledge_base=True)
    assert plan.sources[0].chunks_stored + plan.sources[0].chunks_new == 60
    assert (plan.sampled, plan.total) == (False, Estimate.exactly(0))


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
    assert Questions.sampled([3, 4], [5], 2, 2) == Questions.counted([3, 4], [5])
    assert scaled([], 10, 1000) == Estimate.exactly(0)
