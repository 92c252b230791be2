"""What Dagster loads."""

import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pytest
from dagster._core.instance.config import PoolGranularity
from dagster_k8s import k8s_job_executor
from rich.console import Console

from lightrag_dagster.assets.jobs import BUILDING
from lightrag_dagster.cli.progress import display
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.orchestration.runner import make_report
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.settings.sections import DagsterPart
from lightrag_dagster.storage.home import Home

ROOT = Path(__file__).parents[2]

PARTITIONED = {"raw_documents", "chunks", "extractions", "entity_mentions", "relation_mentions", "parsed"}
UNPARTITIONED = {
    "curation",
    "entities",
    "relations",
    "entity_evidence",
    "relation_evidence",
    "chunk_vectors",
    "entity_vectors",
    "relation_vectors",
    "knowledge_graph",
    "knowledge_base",
    "published_graph",
    "answers",
    "communities",
    "duplicate_candidates",
    "exports",
    "graph_report",
    "status_report",
    "retrieval_evaluation",
}


ABOUT_QUESTIONS = {"answers", "retrieval_evaluation", "ask", "evaluate", "downstream"}


FEW = get_args(DagsterPart)


def configured(settings: Settings, **changes: object) -> Settings:
    """Return settings under which there is something to do for every asset, job and sensor."""
    llm = {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"}
    return settings.changed(questions=settings.home / "questions.yaml", exports=("tables",), llm=llm, **changes)


def test_every_asset_is_described(settings: Settings) -> None:
    definitions = build_definitions(configured(settings))
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    assert set(specs) == PARTITIONED | UNPARTITIONED
    for name, spec in specs.items():
        assert spec.description, name
        assert not spec.owners, name
        assert spec.kinds, name
        assert bool(spec.code_version) == (name != "curation"), name
        assert (spec.partitions_def is not None) == (name in PARTITIONED), name


@pytest.mark.parametrize("namespace", ["", "finance"])
@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({}, ABOUT_QUESTIONS | {"exports", "batches"}),
        ({"dagster": {"without": FEW}}, ABOUT_QUESTIONS | {"exports", "batches", *FEW}),
        ({"exports": ("tables",)}, ABOUT_QUESTIONS | {"batches"}),
        ({"questions": Path("questions.yaml")}, {"exports", "batches"}),
        ({"llm": {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"}}, ABOUT_QUESTIONS | {"exports"}),
    ],
)
def test_what_nothing_is_configured_for_is_left_out(
    settings: Settings, changes: dict[str, object], missing: set[str], namespace: str
) -> None:
    def names(of: Settings) -> set[str]:
        loaded = build_definitions(of).get_repository_def()
        loaded.load_all_definitions()
        automated: list[Any] = [*loaded.get_all_jobs(), *loaded.schedule_defs, *loaded.sensor_defs]
        assets = {key.path[-1] for key in loaded.asset_graph.get_all_asset_keys()}
        return assets | {one.name.removeprefix(f"{namespace}_") for one in automated if not one.name.startswith("__")}

    of_all = settings.changed(namespace=namespace)
    assert names(configured(of_all)) - names(of_all.changed(**changes)) == missing


@pytest.mark.parametrize(
    ("home", "namespace", "expected"),
    [
        ("/srv/a b", "", ("chunks", "file:///srv/a%20b/tables/chunks", "file:///srv/a%20b/generations")),
        ("s3://kb/one", "finance", ("finance.chunks", "s3://kb/one/tables/chunks", "s3://kb/one/generations")),
    ],
)
def test_catalogues_find_tables_by_name_and_address(
    settings: Settings, home: str, namespace: str, expected: tuple[str, str, str]
) -> None:
    database = "postgresql://nowhere" if home.startswith("s3") else ""
    chosen = load_settings(home=home, namespace=namespace, sources=settings.sources, database=database)
    specs = {spec.key.path[-1]: spec.metadata for spec in build_definitions(chosen).resolve_all_asset_specs()}
    found = specs["chunks"]
    assert (found["dagster/table_name"], found["dagster/uri"], specs["entities"]["dagster/uri"]) == expected
    assert "dagster/uri" not in specs["knowledge_base"]


def test_a_prompt_setting_changes_the_code_version_of_what_it_shapes(settings: Settings) -> None:
    german = settings.changed(language="German")
    before, after = (
        {spec.key.to_user_string(): spec.code_version for spec in build_definitions(one).resolve_all_asset_specs()}
        for one in (settings, german)
    )
    changed = {name for name in before if before[name] != after[name]}
    assert "extractions" in changed
    assert "entities" not in changed  # The merge follows the accepted extractions, whichever recipe made them.
    assert not changed & {"raw_documents", "chunks", "entity_mentions"}


@pytest.mark.parametrize("namespace", ["", "finance"])
def test_kinds_and_freshness_follow_the_settings(settings: Settings, namespace: str) -> None:
    settings = settings.changed(namespace=namespace)
    changed = configured(settings, dagster={"fresh_hours": 30})
    offline, online = (
        {spec.key.path[-1]: spec for spec in build_definitions(one).resolve_all_asset_specs()}
        for one in (settings, changed)
    )
    assert not [name for name, spec in offline.items() if "openai" in spec.kinds]
    assert [name for name, spec in online.items() if "openai" in spec.kinds] == ["extractions"]
    due = {name for name in online if online[name].freshness_policy and not offline[name].freshness_policy}
    assert due == {"raw_documents", "knowledge_base"}


def test_a_namespace_prefixes_what_a_deployment_shares(settings: Settings) -> None:
    definitions = build_definitions(configured(settings, namespace="finance"))
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    assert set(specs) == {f"finance/{name}" for name in PARTITIONED | UNPARTITIONED}
    partitions = specs["finance/chunks"].partitions_def
    assert isinstance(partitions, dg.DynamicPartitionsDefinition)
    assert partitions.name == "finance_source"
    repository = definitions.get_repository_def()
    assert {job.name for job in repository.get_all_jobs()} >= {"finance_ingest", "finance_publish", "finance_report"}
    named = [one.name for one in repository.schedule_defs] + [one.name for one in repository.sensor_defs]
    assert len(named) > 2
    assert not [name for name in named if not name.startswith("finance_")]
    assert {key.asset_key.path[0] for key in definitions.resolve_asset_graph().asset_check_keys} == {"finance"}


def test_resources_hold_no_key(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-SECRET")
    definitions = build_definitions(settings)
    assert "sk-test-SECRET" not in repr(definitions.resources)


def test_one_run_at_a_time_asks_a_language_model(settings: Settings, tmp_path: Path) -> None:
    def in_pools(*, pools: bool) -> dict[tuple[str, str], set[str]]:
        definitions, found = build_definitions(configured(settings), pools=pools), dict[tuple[str, str], set[str]]()
        for job in ("ingest", "publish", "ask", "evaluate"):
            for node in definitions.resolve_job_def(job).all_node_defs:
                if isinstance(node, dg.OpDefinition) and node.pool:
                    found.setdefault((job, node.pool), set()).add(node.name)
        return found

    vectors = {"chunk_vectors", "entity_vectors", "relation_vectors"}
    assert in_pools(pools=True) == {
        ("ingest", "llm"): {"extractions"},
        ("publish", "llm"): {"merge"},
        ("publish", "writer"): vectors | {"knowledge_graph", "knowledge_base", "published_graph"},
        ("ask", "llm"): {"answers"},
        ("evaluate", "llm"): {"retrieval_evaluation"},
    }
    assert in_pools(pools=False) == {}, "those of a command, which holds the builder's lock"
    home = Home(tmp_path)
    with open_instance(home):
        pass
    with dg.DagsterInstance.from_config(str(home.dagster)) as daemon:
        limits = daemon.get_concurrency_config().pool_config
        assert (limits.pool_granularity, limits.default_pool_limit) == (PoolGranularity.OP, 1)


def test_a_run_of_any_job_that_hangs_is_ended_but_for_those_of_a_command(settings: Settings) -> None:
    """Dagster's monitoring ends it by this tag, also one whose machine went down, which else counts as running.

    The instance of a home has a bound for runs of the UI, which have no tag.
    """
    definitions = build_definitions(settings)
    hours = {job: int(definitions.resolve_job_def(job).tags["dagster/max_runtime"]) / 3600 for job in BUILDING}
    assert hours == {"ingest": 6, "backfill": 24, "publish": 6}  # nothing would begin a backfill again
    settings.sources.mkdir(exist_ok=True)
    with display(Console(quiet=True)) as shown:
        make_report(settings, shown)
    with open_instance(Home(settings.home)) as instance:
        assert instance.run_monitoring_max_runtime_seconds == 6 * 3600
        assert [one.tags["dagster/max_runtime"] for one in instance.get_runs()] == ["0"]
        assert [one.tags["dagster/max_retries"] for one in instance.get_runs()] == ["0"]


def test_a_failed_step_is_not_tried_again_by_dagster_which_would_have_another_budget(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "dagster.yaml").write_text("run_retries: {enabled: true, max_retries: 2}")
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        instance.add_dynamic_partitions("source", ["gone"])
        job = build_definitions(settings).resolve_job_def("ingest")
        job.execute_in_process(instance=instance, partition_key="gone", raise_on_error=False)
        [failed] = instance.get_runs()
    assert failed.tags["dagster/will_retry"] == "false"


@pytest.mark.parametrize(
    ("name", "executor"),
    [
        ("in_process", dg.in_process_executor),
        ("multiprocess", dg.multiprocess_executor),
        ("kubernetes", k8s_job_executor),
    ],
)
def test_steps_run_where_the_setting_says_but_for_those_of_a_command(
    settings: Settings, instance: dg.DagsterInstance, name: str, executor: dg.ExecutorDefinition
) -> None:
    job = build_definitions(settings.changed(dagster={"executor": name})).resolve_job_def("report")
    assert job.executor_def is executor
    assert job.execute_in_process(instance=instance).success


def test_a_missing_extra_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dagster_k8s", None)
    with pytest.raises(SettingsError, match=r"needs the extra `deploy`; pip install 'lightrag-dagster\[deploy\]'"):
        build_definitions(settings.changed(dagster={"executor": "kubernetes"}))


def test_the_partitioned_job_covers_ingestion(settings: Settings) -> None:
    job = build_definitions(settings).resolve_job_def("ingest")
    assert isinstance(job.partitions_def, dg.DynamicPartitionsDefinition)


def test_loading_the_definitions_opens_no_store() -> None:
    # A process that only lists definitions would else end with lines about what the stores' bindings leave behind.
    statement = (
        "import sys, lightrag_dagster.definitions; print({'duckdb', 'kuzu', 'lancedb', 'openai'} & set(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", statement], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert loaded.stdout == "set()\n"
