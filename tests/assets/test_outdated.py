"""The check `outdated`: rows, what they cost, and the partitions to choose."""

from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.outdated import judged_outdated
from lightrag_dagster.assets.status_report import status_report
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from tests.loopback import Loopback
from tests.support import FLOOD, RIVER, build, write_source

ODD = 'a "b", c'


def asking(settings: Settings, **more: Any) -> Settings:
    """Return settings of a model whose answers cost a dollar for each of their tokens."""
    prices = {"gpt-4o-mini": {"input": 0, "output": 1_000_000}}
    llm = {"provider": "openai", "model": "gpt-4o-mini", "prices": prices}
    return settings.changed(llm=llm, extraction={"gleaning": 0}, **more)


def judged(settings: Settings, *sources: str) -> list[dg.AssetCheckResult]:
    return list(judged_outdated(LightRAG(settings), sources, False).values())


def values(result: dg.AssetCheckResult) -> dict[str, Any]:
    return {name: value.value for name, value in result.metadata.items()}


@pytest.mark.long
def test_rows_of_another_prompt_are_counted_with_what_they_cost(settings: Settings, loopback: Loopback) -> None:
    usual = asking(settings)
    write_source(usual, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    write_source(usual, ODD, {"a.md": "Orrin Instruments opened an office."})
    paid = build(usual).cost_usd
    assert [(one.passed, one.metadata) for one in judged(usual, "notes", ODD)] == [(True, {})] * 2

    german = asking(settings, language="German")
    notes, odd = judged(german, "notes", ODD)
    assert (notes.passed, notes.severity) == (False, dg.AssetCheckSeverity.WARN)
    found = values(notes)
    assert (found["extractions"], found["partitions_to_copy"]) == (2, '"a \\"b\\", c", notes')
    assert found["cost_usd_when_made"] + values(odd)["cost_usd_when_made"] == pytest.approx(paid)
    assert r"2 of extractions are outdated, and cost \$" in str(notes.description)

    build(german, "notes", backfill=True)
    assert judged(german, "notes")[0].passed
    smaller = asking(settings, language="German", chunking={"size": 50, "overlap": 0})
    (found,) = map(values, judged(smaller, "notes"))
    assert (found["chunks"], found["partitions_to_copy"]) == (2, '"a \\"b\\", c", notes')


@pytest.mark.long
def test_the_morning_looks_at_every_partition(settings: Settings, instance: dg.DagsterInstance) -> None:
    for source in ("notes", "letters", "not yet a partition"):
        write_source(settings, source, {"river.md": RIVER + source})
    build(settings)
    instance.add_dynamic_partitions("source", ["notes", "letters"])
    for language, expected in (("English", set()), ("German", {"notes", "letters"})):
        result = dg.materialize(
            [status_report.within(Namespace())],
            instance=instance,
            resources={"lightrag": LightRAG(settings.changed(language=language))},
        )
        checks = result.get_asset_check_evaluations()
        assert {(one.check_name, one.partition, one.passed) for one in checks} == {
            ("outdated", name, False) for name in expected
        }
