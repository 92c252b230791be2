"""Sources that can tell what changed, as a person meets them."""

import json
from pathlib import Path

import dagster as dg
import pytest
from rich.console import Console

from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.plan.plan import Plan
from lightrag_dagster.plan.sources import SourcePlan
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from tests.cli.test_cli import command
from tests.support import FLOOD, RIVER, build

_CONFIG = """\
named_sources:
  tickets:
    uri: {lake}/{{partition}}.jsonl
    asset: crawl/tickets
    rows: {{}}
  orders:
    uri: {lake}/orders.jsonl
    rows: {{watermark: changed}}
"""
_WATERMARK = "orders has the watermark changed: documents that are gone upstream stay; a backfill reads all rows."


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of rows, read by the sources of a lightrag.yaml."""
    folder = tmp_path / "lake"
    folder.mkdir()
    row = {"id": "1", "text": FLOOD, "changed": 1}
    (folder / "orders.jsonl").write_text(json.dumps(row))
    (tmp_path / "lightrag.yaml").write_text(_CONFIG.format(lake=folder))
    monkeypatch.setenv("LIGHTRAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return folder


def make(lake: Path, day: str, text: str) -> None:
    """Write the rows of a partition, and have the home's Dagster know of it."""
    (lake / f"{day}.jsonl").write_text(json.dumps({"id": "a", "text": text}))
    with open_instance(Home.of(load_settings())) as instance:
        instance.report_runless_asset_event(dg.AssetMaterialization(["crawl", "tickets"], partition=day))


def test_a_plan_names_watermarks(capsys: pytest.CaptureFixture[str]) -> None:
    plans = [SourcePlan("orders", watermark="changed"), SourcePlan("notes")]
    print_plan(Console(width=200), Plan(plans, history=False, unknown_prices=[], steps={}))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("orders", "notes"))]
    assert lines == [_WATERMARK]


@pytest.mark.long
def test_plan_and_status_tell_of_new_partitions_and_of_a_watermark(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lake: Path
) -> None:
    make(lake, "2026-01-01", RIVER)
    code, output, _ = command(capfd, monkeypatch, "plan")
    assert (code, _WATERMARK in output.splitlines()) == (0, True)
    assert "1 added" in output
    build(load_settings())
    assert _WATERMARK in command(capfd, monkeypatch, "status")[1].splitlines()
    make(lake, "2026-01-02", FLOOD)
    states = json.loads(command(capfd, monkeypatch, "status", "--json")[1])["sources"]
    found = {name: one["state"] for name, one in states.items()}
    assert found == {"orders": "published", "tickets": "pending: raw_documents, input changed"}
    assert {name: one["watermark"] for name, one in states.items()} == {"orders": "changed", "tickets": None}


@pytest.mark.long
def test_a_run_follows_the_partitions(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lake: Path
) -> None:
    make(lake, "2026-01-01", RIVER)
    assert command(capfd, monkeypatch, "run")[0] == 0
    make(lake, "2026-01-02", "Ulla Berg leads the Halden office.")
    (lake / "2026-01-01.jsonl").unlink()
    assert "1 added" in command(capfd, monkeypatch, "plan")[1]
    assert command(capfd, monkeypatch, "run")[0] == 0
    query = "select path from raw_documents where source = 'tickets' order by path"
    listed = command(capfd, monkeypatch, "sql", query, "--format", "csv")[1].splitlines()
    assert listed[1:] == ["2026-01-01/a", "2026-01-02/a"]
    code, output, error = command(capfd, monkeypatch, "backfill", "--source", "tickets")
    assert (code, "1 skipped" in output) == (0, True), output + error
    query = "select path, status from raw_documents where source = 'tickets' order by path"
    listed = command(capfd, monkeypatch, "sql", query, "--format", "csv")[1].splitlines()
    assert listed[1:] == ["2026-01-01,skipped", "2026-01-01/a,stale", "2026-01-02/a,processed"]


@pytest.mark.long
def test_a_backfill_accepts_deletes_as_a_run_does(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lake: Path
) -> None:
    def write(*ids: str) -> None:
        rows = ({"id": one, "text": f"{FLOOD} {one}", "changed": int(one)} for one in ids)
        (lake / "orders.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def ask(*words: str) -> tuple[int, str]:
        code, output, _ = command(capfd, monkeypatch, *words)
        return code, " ".join(output.split())

    make(lake, "2026-01-01", RIVER)
    write("1", "2", "3")
    assert ask("run")[0] == 0
    write("3")
    assert ask("run", "--accept-deletes")[0] == 0, "a watermark tells nothing of rows that are gone"
    query = "sql", "select path from raw_documents where source = 'orders' order by path", "--format", "csv"
    assert ask(*query)[1] == "path 1 2 3"
    for _ in range(2):
        code, output = ask("backfill", "--source", "orders")
        assert (code, "source 'orders' lost 2 of 3 documents at once (2 deleted)" in output) == (1, True)
        assert "run again with --source orders --accept-deletes" in output
    code, output = ask("backfill", "--source", "orders", "--accept-deletes")
    assert (code, "withheld" in output, "Published gen-" in output) == (0, False, True)
    assert ask(*query)[1] == "path 3"
    assert "orders" not in ask("backfill")[1]
