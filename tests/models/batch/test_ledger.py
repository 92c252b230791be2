import time
from dataclasses import replace
from pathlib import Path

import pytest

from lightrag_dagster.errors import OutputLimitError, PermanentProviderError, ProviderError, TransientProviderError
from lightrag_dagster.models.batch.ledger import (
    COLLECTED,
    ENDED,
    PREPARED,
    UNDER_WAY,
    Batch,
    BatchLedger,
    Item,
    Verdict,
)


def batch(name: str, source: str = "s", state: str = UNDER_WAY) -> Batch:
    return Batch(name, "run", source, "host", "m", 2, 100, 0.5, prepared_at=1.0, state=state)


@pytest.mark.parametrize(
    ("states", "due"),
    [
        ({"a": [UNDER_WAY]}, {}),
        ({"a": [ENDED]}, {"a": ["a0"]}),
        ({"a": [COLLECTED]}, {"a": ["a0"]}),
        ({"a": [ENDED, UNDER_WAY]}, {}),
        ({"a": [ENDED, PREPARED]}, {"a": ["a0", "a1"]}),
        ({"a": [PREPARED]}, {"a": ["a0"]}),  # its process died
        ({"a": [PREPARED], "b": [UNDER_WAY]}, {}),  # it waits for room
        ({"a": [ENDED], "b": [UNDER_WAY]}, {"a": ["a0"]}),
    ],
)
def test_a_source_can_go_on_when_nothing_of_it_is_under_way(
    tmp_path: Path, states: dict[str, list[str]], due: dict[str, list[str]]
) -> None:
    with BatchLedger(tmp_path / "batches.sqlite") as ledger:
        for source, each in states.items():
            for number, state in enumerate(each):
                ledger.add(batch(f"{source}{number}", source, state), [])
        assert ledger.due() == due
        assert set(ledger.waiting()) == set(states)


@pytest.mark.parametrize("kind", [TransientProviderError, PermanentProviderError, OutputLimitError])
def test_what_became_of_requests_survives_the_process(tmp_path: Path, kind: type[ProviderError]) -> None:
    path = tmp_path / "batches.sqlite"
    with BatchLedger(path) as ledger:
        ledger.add(batch("one"), ["answered", "again", "failed"])
        ledger.collected(batch("one"), {"again": Verdict(1), "failed": Verdict(1, kind("no"))}, cost_usd=0.25)
    with BatchLedger(path) as ledger:
        assert ledger.item("answered") is None
        assert ledger.item("again") == Item(None, None)
        failed = ledger.item("failed")
        assert failed is not None
        assert (type(failed.failure), str(failed.failure)) == (kind, "no")
        (kept,) = ledger.batches(COLLECTED)
        assert kept.cost_usd == 0.25
        ledger.add(batch("two"), ["again"])
        assert ledger.items(batch("two")) == {"again": 1}
        ledger.finish("s")
        assert ledger.item("failed") is None
        assert ledger.items(batch("two")) == {"again": 1}


def test_room_is_learnt_from_a_refusal_and_grows_with_what_is_accepted(tmp_path: Path) -> None:
    now = time.time()
    with BatchLedger(tmp_path / "batches.sqlite") as ledger:
        assert ledger.learnt_room("host", "m") is None
        refused = replace(batch("refused", state=ENDED), status="failed", ended_at=now - 60)
        ledger.add(refused, [])
        ledger.collected(refused, {}, room=1000)
        assert ledger.learnt_room("host", "m") == 1000
        assert ledger.learnt_room("host", "another") is None
        ledger.add(replace(batch("earlier"), status="completed", prepared_at=now - 120), [])
        ledger.add(replace(batch("unsure"), status="validating", prepared_at=now), [])
        assert ledger.learnt_room("host", "m") == 1000
        ledger.add(replace(batch("accepted"), status="in_progress", prepared_at=now), [])
        assert ledger.learnt_room("host", "m") == 1100


def test_an_update_loses_against_somebody_who_moved_the_batch_on(tmp_path: Path) -> None:
    with BatchLedger(tmp_path / "batches.sqlite") as ledger:
        ledger.add(batch("one"), [])
        ledger.update(batch("one"), state=ENDED, status="completed")
        ledger.update(batch("one"), state=UNDER_WAY, status="in_progress")
        assert [one.status for one in ledger.batches(ENDED)] == ["completed"]
        assert ledger.batches(UNDER_WAY) == []
