"""The partitioned assets by themselves: what they report, and what is accepted."""

from typing import Any

import dagster as dg

from assets import INGESTION
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.acceptance import accepted
from lightrag_dagster.storage.home import Home
from resources import build_resources
from tests.support import FLOOD, RIVER, write_source


def ingest(settings: Settings, instance: dg.DagsterInstance, source: str) -> dg.ExecuteInProcessResult:
    instance.add_dynamic_partitions("source", [source])
    return dg.materialize(
        INGESTION, partition_key=source, instance=instance, resources=build_resources(settings), raise_on_error=False
    )


def metadata_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    (event,) = result.asset_materializations_for_node("mentions" if asset.endswith("_mentions") else asset)[:1]
    return {name: value.value for name, value in event.metadata.items()}


def test_materialisations_report_rows_schema_and_calls(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "empty.md": ""})

    result = ingest(settings, instance, "notes")

    assert result.success
    documents = metadata_of(result, "raw_documents")
    assert documents["dagster/row_count"] == 3
    assert (documents["processed"], documents["empty"]) == (2, 1)
    assert documents["dagster/column_schema"].columns[0].name == "source"
    extractions = metadata_of(result, "extractions")
    assert (extractions["calls"], extractions["ok"]) == (4, 2)
    assert all(check.passed for check in result.get_asset_check_evaluations())


def test_equal_content_is_the_same_data_version(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    tags = [
        ingest(settings, instance, "notes").asset_materializations_for_node("chunks")[0].tags or {} for _ in range(2)
    ]
    assert tags[0]["dagster/data_version"] == tags[1]["dagster/data_version"]


def test_too_many_failures_are_not_accepted(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "broken.txt": b"\xc3\x28 \xa0\xa1"})

    result = ingest(settings, instance, "notes")

    assert result.success
    failed = {check.check_name: check.metadata for check in result.get_asset_check_evaluations() if not check.passed}
    assert set(failed) == {"failed_documents", "accepted"}
    assert "max_failed_share" in str(failed["accepted"]["reason"].value)
    assert accepted(Home(settings.home), "notes") is None


def test_a_source_that_is_not_configured_fails_with_a_reason(settings: Settings, instance: dg.DagsterInstance) -> None:
    result = ingest(settings, instance, "absent")
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "no such source: absent" in str(failure.step_failure_data.error)
