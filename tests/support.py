"""What tests of the whole pipeline share: making sources, running, and looking at what was published."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from rich.console import Console

from lightrag_dagster.cli.progress import display
from lightrag_dagster.core.identity import digest, table_version
from lightrag_dagster.errors import LightRAGError, ProviderAccessError
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES, PASS_TABLES, kind_of
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.orchestration.runner import Outcome, bring_up_to_date
from lightrag_dagster.pipeline.graph import build_published_graph
from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.pending import accept_pending, pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scopes import pending_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import COMMAND_SECONDS
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot, without_graph
from lightrag_dagster.storage.tables.acceptance import Bounds, accept_all
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest, publish
from tests.graphs import graph_rows

RIVER = (
    "Marta Lindqvist maintains the gauge at Halden Weir. Orrin Instruments built the gauge in 2019. "
    "Marta Lindqvist reports to Jonas Feld in Bergen."
)
FLOOD = (
    "The flood of March 2021 damaged Halden Weir. Jonas Feld closed Station 14 and called Orrin Instruments. "
    "Priya Nair repaired the sensor at Station 14."
)
OFFICE = (
    "Orrin Instruments opened an office in Bergen. Jonas Feld leads the office. Priya Nair joined Orrin Instruments."
)


def write_source(settings: Settings, source: str, files: Mapping[str, str | bytes]) -> Path:
    """Make a source hold exactly these files."""
    folder = settings.sources / source
    folder.mkdir(parents=True, exist_ok=True)
    for existing in [path for path in folder.rglob("*") if path.is_file()]:
        if str(existing.relative_to(folder)) not in files:
            existing.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
    return folder


def run(settings: Settings, *names: str, backfill: bool = False) -> Outcome:
    """Bring the knowledge base up to date, without a terminal; a backfill without names is one of everything."""
    with display(Console(quiet=True)) as shown:
        return bring_up_to_date(settings, names, shown, backfill=backfill, knowledge_base=backfill and not names)


def build(settings: Settings, *names: str, backfill: bool = False, graph: bool = False) -> Outcome:
    """Do the work of `run` by the functions of the build floor alone, without Dagster and its event log.

    For tests whose subject is the data. Batches are not waited for, and no questions are asked of the snapshot. Its
    graph is built with `graph`, which takes a quarter of the time, and by `snapshot_contents`.
    """
    home, recipes, outcome = Home.of(settings), Recipes.of(settings), Outcome()
    account = Account(str(uuid4()))
    with building(home, COMMAND_SECONDS):
        for source in chosen_sources(settings, names):
            tables = SourceTables(home, candidate=backfill)
            try:
                if why_ingest(source, tables, recipes) is not None:
                    ingest(source, tables, recipes, replace(account, source=source.name))
                    outcome.ingested.append(source.name)
                elif backfill and tables.has_candidate(source.name):
                    passes = recipes.pass_names(source.name)
                    accept_all(home, source.name, Bounds.of(settings), passes, candidate=True)
            except ProviderAccessError:
                raise
            except LightRAGError as error:
                outcome.failed[source.name] = str(error)
        accept_pending(settings)
        whole = backfill and not names
        if next_publication(Situation.looking(settings), backfill=whole) is not None or pending_scopes(
            Situation.looking(settings)
        ):
            outcome.published = publish(recipes, backfill=whole, account=account, database=graph)
        if graph and without_graph(home):
            build_published_graph(home)
    outcome.states = states = pending(Situation.looking(settings))
    outcome.rejected = states.rejected | dict(states.scopes)
    outcome.cost_usd = Ledger(home.ledger).spent(account.run)
    return outcome


def first_build(settings: Settings, *, graph: bool = False) -> None:
    """Do `build` for an empty home on a disk; where the same was built before, copy that home in a tenth of the time.

    For settings that ask no model, in tests that have replaced nothing yet. To the home,
    files that were copied are touched ones, which the next run reads again: not for tests of a run without any work.
    """
    files = sorted((str(path.relative_to(settings.sources)), path) for path in settings.sources.rglob("*.*"))
    contents = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files if path.is_file()}
    kept = Path(_first_builds().name) / digest([contents, graph, settings.model_dump_json(exclude={"home", "sources"})])
    if kept.exists():
        shutil.copytree(kept / "home", settings.home)
        shutil.copytree(kept / "sources", settings.sources, dirs_exist_ok=True)  # with their times
        return
    build(settings, graph=graph)
    shutil.copytree(settings.sources, kept / "sources")
    shutil.copytree(settings.home, kept / "home")


@cache
def _first_builds() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="lightrag-first-builds-")


def published(settings: Settings) -> Manifest:
    """Return the manifest of the published snapshot."""
    manifest = published_snapshot(Home.of(settings))
    assert manifest is not None
    return manifest


def snapshot_contents(settings: Settings) -> dict[str, Any]:
    """Return everything that the published snapshot holds, in a form that can be compared."""
    home, manifest = Home.of(settings), build_published_graph(Home.of(settings))
    generation = Generation(home, manifest.snapshot_id)
    merged = [*MERGED_TABLES, *(table for table in MERGED_PASS_TABLES if table in manifest.rows)]
    contents: dict[str, Any] = {name: generation.path(f"{name}.parquet").read_bytes() for name in merged}
    for source, versions in manifest.inputs.sources.items():
        of_passes = [table for table in versions if kind_of(table) in PASS_TABLES]
        for table in ("chunks", "extractions", "entity_mentions", "relation_mentions", "parsed", *of_passes):
            contents[f"{source}/{table}"] = table_version(SourceTables(home).read(table, source, versions[table]))
    for name, entry in manifest.vectors.tables.items():
        contents[name] = open_vectors(home, entry).rows().sort_by("id").to_pylist()
    graph = generation.path("graph.kuzu")
    contents["nodes"] = sorted(map(repr, graph_rows(graph, "MATCH (n) RETURN label(n), n.*")))
    contents["edges"] = sorted(map(repr, graph_rows(graph, "MATCH (a)-[r]->(b) RETURN label(r), a.*, r.*, b.*")))
    return contents


def without_rights(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python without root's rights to list and write what it may not."""
    before = [] if os.geteuid() else ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    if before and not shutil.which("setpriv"):
        pytest.skip("root may list and write anything")
    command = [*before, sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
