"""The report, for people who look at the Dagster UI rather than a terminal."""

import shutil
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest

from lightrag_dagster.assets.checks import build_checks
from lightrag_dagster.assets.metadata import COMMAND_TAG
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.status_report import status_report
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import EmbeddingSettings, Settings
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.assets.markdown import cells
from tests.support import FLOOD, RIVER, build, write_source


def report(settings: Settings, instance: dg.DagsterInstance) -> tuple[dict[str, object], dg.AssetCheckEvaluation]:
    (all_published,) = [one for one in build_checks(Namespace()) if one.node_def.name == "status_report_all_published"]
    result = dg.materialize(
        [status_report.within(Namespace()), all_published],
        instance=instance,
        resources={"lightrag": LightRAG(settings)},
    )
    (event,) = result.asset_materializations_for_node("status_report")
    (check,) = result.get_asset_check_evaluations()
    return {name: value.value for name, value in event.metadata.items()}, check


@pytest.mark.long
def test_the_report_names_what_is_pending_and_outdated(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    metadata, check = report(settings, instance)
    assert (metadata["outdated_rows"], check.passed) == (0, False)
    assert cells(str(metadata["sources"]))[5:7] == ["notes", "pending: raw_documents, never made"]

    build(settings)
    metadata, check = report(settings, instance)
    assert (metadata["outdated_rows"], metadata["rejected"], check.passed) == (0, 0, True)

    german = settings.changed(language="German")
    metadata, check = report(german, instance)
    assert (metadata["outdated_rows"], check.passed) == (2, True)
    assert cells(str(metadata["sources"]))[5:] == ["notes", "published", "2 processed", "2 ok", "2 extractions"]

    other = settings.model_copy(update={"embedding": EmbeddingSettings(dimensions=512)})
    metadata, check = report(other, instance)
    assert (metadata["outdated_rows"], metadata["outdated_of_knowledge_base"], check.passed) == (0, "vectors", True)


def test_a_rejected_source_is_an_error(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "broken.txt": b"\xc3\x28"})
    build(settings)
    metadata, check = report(settings, instance)
    assert (metadata["rejected"], check.passed, check.severity) == (1, False, dg.AssetCheckSeverity.ERROR)
    assert "broken.txt: not valid UTF-8" in str(check.metadata["notes"].value)
    assert check.metadata["reason"].value == (check.description or "").replace("\\", "")


def test_it_shows_what_was_spent(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    metadata, _ = report(settings, instance)
    assert (metadata["cost_usd_this_month"], metadata["cost_usd"]) == (0.0, 0.0)
    ledger = Ledger(Home.of(settings).ledger)
    for run, source, usd in (("one", "notes", 0.1), ("two", "notes", 0.1), ("three", "", 0.1)):
        ledger.add(Entry(run, "extract", source, "m", 1, 0, 7, 0, 0, usd))
    metadata, _ = report(settings, instance)
    assert (metadata["cost_usd_this_month"], metadata["cost_usd"]) == (0.3, 0.3)


@pytest.mark.parametrize(
    ("command", "day", "below", "is_read"),
    [
        ("morning", 0, "", True),
        ("morning", 1, "", False),
        ("report", 0, "", False),
        ("morning", 0, "scopes/board", True),
    ],
)
def test_published_files_are_read_once_a_week(
    settings: Settings,
    instance: dg.DagsterInstance,
    published_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    day: int,
    below: str,
    is_read: bool,
) -> None:
    monkeypatch.setattr(
        import_module("lightrag_dagster.assets.status_report"), "VERIFYING_DAY", (datetime.now(UTC).weekday() + day) % 7
    )
    home = Path(shutil.copytree(published_home, tmp_path / "published"))
    settings = settings.changed(home=home, scopes={"board": {"sources": ("notes",)}} if below else {})
    shutil.copytree(published_home, home / below, dirs_exist_ok=True)
    (damaged,) = (home / below).glob("generations/*/entities.parquet")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    made = dg.materialize(
        [status_report.within(Namespace())],
        instance=instance,
        resources={"lightrag": LightRAG(settings)},
        tags={COMMAND_TAG: command},
        raise_on_error=False,
    )
    assert made.success is not is_read
    said = [str(event) for event in made.get_step_failure_events()]
    assert not is_read or f"{damaged} has other content" in said[0]
