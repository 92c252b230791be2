from typing import Any

import pytest
from sqlalchemy import update

from lightrag_dagster.errors import OutputLimitError, PermanentProviderError, ProviderError, TransientProviderError
from lightrag_dagster.models.batch.ledger import (
    BATCHES,
    COLLECTED,
    ENDED,
    MAX_ATTEMPTS,
    PREPARED,
    UNDER_WAY,
    Batch,
    BatchLedger,
    WaitingExtraction,
)
from lightrag_dagster.storage.database.address import Address


def waiting(source: str = "s", run: str = "run", *, backfill: bool = False) -> WaitingExtraction:
    return WaitingExtraction(source, backfill, run)


def batch(
    name: str, state: str = UNDER_WAY, awaited: tuple[WaitingExtraction, ...] = (waiting(),), **values: Any
) -> Batch:
    return Batch(name=name, run="run", source="s", host="host", model="m", state=state, waiting=list(awaited), **values)


@pytest.mark.parametrize(
    ("states", "due"),
    [
        ({"a": [UNDER_WAY]}, {}),
        ({"a": [ENDED]}, {"a": ["a0 ended"]}),
        ({"a": [COLLECTED]}, {"a": ["a0 collected"]}),
        ({"a": [ENDED, UNDER_WAY]}, {}),
        ({"a": [COLLECTED, UNDER_WAY]}, {}),
        ({"a": [ENDED, PREPARED]}, {"a": ["a0 ended", "a1 prepared"]}),
        ({"a": [PREPARED]}, {"a": ["a0 prepared"]}),  # its process died
        ({"a": [PREPARED], "b": [UNDER_WAY]}, {}),  # it waits for room
        ({"a": [COLLECTED, PREPARED], "b": [UNDER_WAY]}, {}),
        ({"a": [ENDED], "b": [UNDER_WAY]}, {"a": ["a0 ended"]}),
    ],
)
def test_an_extraction_can_continue_when_none_of_its_batches_is_under_way(
    address: Address, states: dict[str, list[str]], due: dict[str, list[str]]
) -> None:
    with BatchLedger(address) as ledger:
        for source, each in states.items():
            ledger.save(*(batch(f"{source}{number}", state, (waiting(source),)) for number, state in enumerate(each)))
        assert ledger.due() == {waiting(source): names for source, names in due.items()}
        assert {one.source for one in ledger.waiting()} == set(states)


def test_an_extraction_continues_when_no_report_comes_of_one_of_its_batches(address: Address) -> None:
    """Its run finds out why."""
    with BatchLedger(address) as ledger:
        ledger.save(batch("a", reported_at=1.0), batch("b", reported_at=9.0))
        assert (ledger.due(1.0), ledger.due(2.0)) == ({}, {waiting(): ["a under way", "b under way"]})


def test_an_extraction_waits_for_the_batches_it_asked_for_and_remembers_those_collected(address: Address) -> None:
    other = waiting("other", backfill=True)
    with BatchLedger(address) as ledger:
        ledger.save(batch("done", COLLECTED), batch("unwanted"), batch("shared", UNDER_WAY, (other,)))
        ledger.wait(waiting(run="later"), {"shared"})
        found = {one.name: one.waiting for one in ledger.batches()}
        assert found == {"done": [waiting(run="later")], "unwanted": [], "shared": [other, waiting(run="later")]}
        ledger.wait(waiting(run="later"), set())
        assert ledger.waiting() == [other]


@pytest.mark.parametrize("kind", [TransientProviderError, PermanentProviderError, OutputLimitError])
def test_a_failure_is_final_when_it_is_permanent_or_came_too_often(address: Address, kind: type[ProviderError]) -> None:
    failed = {"key": (kind.__name__, "no")}
    for number in range(MAX_ATTEMPTS):
        with BatchLedger(address) as ledger:
            passes = kind is TransientProviderError and number < MAX_ATTEMPTS
            assert bool(ledger.failures(waiting())) == (number > 0 and not passes)
            ledger.save(batch(str(number), COLLECTED, unanswered=failed))
    with BatchLedger(address) as ledger:
        failures = ledger.failures(waiting(run="any"))
        assert [(key, type(error), str(error)) for key, error in failures.items()] == [("key", kind, "no")]
        assert ledger.failures(waiting(backfill=True)) == {}
        ledger.wait(waiting(), set())
        assert ledger.failures(waiting()) == {}
        assert [one.unanswered for one in ledger.batches()] == [{}] * MAX_ATTEMPTS


def test_a_poll_does_not_undo_what_another_process_saved_since(address: Address) -> None:
    with BatchLedger(address) as ledger:
        ledger.save(batch("one"))
        (read,) = ledger.batches()
        ledger.save(batch("one", ENDED, status="completed"))
        ledger.replace(read, read.model_copy(update={"status": "in_progress"}))
        assert [(one.state, one.status) for one in ledger.batches()] == [(ENDED, "completed")]
        (read,) = ledger.batches()
        ledger.replace(read, read.model_copy(update={"state": COLLECTED}))
        assert [one.name for one in ledger.batches(COLLECTED)] == ["one"]


def test_of_batches_only_those_that_are_waited_for_are_read(address: Address) -> None:
    with BatchLedger(address) as ledger:
        ledger.save(batch("a", ENDED), batch("old", COLLECTED, ()), batch("other", awaited=(waiting('o_"%/é'),)))
        with ledger.begin() as connection:
            connection.execute(update(BATCHES).where(BATCHES.c.name == "old").values(document="none"))
        assert ledger.waiting() == [waiting('o_"%/é'), waiting()]
        assert ledger.waiting(source='o_"%/é') == [waiting('o_"%/é')]
        assert ledger.due() == {waiting(): ["a ended"]}
        assert ledger.failures(waiting()) == {}
        ledger.wait(waiting(), set())
        assert ledger.waiting() == [waiting('o_"%/é')]
        assert ledger.names(ENDED, COLLECTED) == ["a", "old"]


def test_a_request_is_in_its_batch_until_that_is_collected(address: Address) -> None:
    with BatchLedger(address) as ledger:
        ledger.add(batch("a"), ["k", "l"])
        ledger.add(batch("b", PREPARED), ["l", "m"])
        ledger.save(batch("c", COLLECTED))
        assert [ledger.keys_of(batch(name)) for name in "abc"] == [{"k", "l"}, {"m"}, set()]
        found = [ledger.batch_of(key) for key in "klmn"]
        assert [one and one.name for one in found] == ["a", "a", "b", None]
        ledger.save(batch("a", COLLECTED))
        assert ledger.batch_of("k") is None
        assert ledger.keys_of(batch("a")) == set()


def test_a_batch_that_an_older_version_wrote_is_replaced(address: Address) -> None:
    """Its document has fewer fields than the same batch has now."""
    with BatchLedger(address) as ledger:
        ledger.save(batch("a"))
        (old,) = ledger.batches()
        with ledger.begin() as connection:
            earlier = old.model_dump_json(exclude={"purpose", "answered"}).replace(',"",false]', "]")
            connection.execute(update(BATCHES).values(document=earlier))
        assert ledger.batches() == [old]
        assert ledger.waiting() == ledger.waiting(source="s") == [waiting()]
        assert ledger.waiting(source="another") == []
        ledger.replace(old, old.model_copy(update={"state": ENDED}))
        ledger.replace(old, old.model_copy(update={"state": COLLECTED}))
        assert [one.state for one in ledger.batches()] == [ENDED]
