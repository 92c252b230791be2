"""Two knowledge bases in one Dagster deployment: each finds and changes only what is its own."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.assets.runs import pretend
from tests.loopback import Loopback
from tests.loopback_batches import Fate
from tests.models.models import offline_answer
from tests.support import RIVER, published, run, write_source


def knowledge_base(folder: Path, name: str) -> Settings:
    """Return settings of a knowledge base with one source, offline."""
    settings = load_settings(home=folder / name / "home", sources=folder / name / "sources", namespace=name)
    write_source(settings, f"{name}-notes", {"river.md": RIVER})
    return settings


@pytest.fixture
def finance(tmp_path: Path) -> Settings:
    return knowledge_base(tmp_path, "finance")


@pytest.fixture
def contracts(tmp_path: Path) -> Settings:
    return knowledge_base(tmp_path, "contracts")


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """The instance that both knowledge bases share."""
    with open_instance(Home(tmp_path / "deployment")) as instance:
        yield instance


def evaluate(settings: Settings, instance: dg.DagsterInstance, sensor: str) -> list[dg.RunRequest]:
    """Evaluate a sensor as the daemon does."""
    definitions = build_definitions(settings)
    sensor_def = definitions.get_repository_def().get_sensor_def(Namespace(settings.namespace).named(sensor))
    context = dg.build_sensor_context(
        instance,
        definitions=definitions,
        resources={Namespace(settings.namespace).resource: LightRAG(settings)},
        instance_ref=instance.get_ref(),
    )
    return list(sensor_def.evaluate_tick(context).run_requests or [])


def ingest(settings: Settings, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    name = settings.namespace
    job = build_definitions(settings).resolve_job_def(f"{name}_ingest")
    return job.execute_in_process(instance=instance, partition_key=f"{name}-notes")


@pytest.mark.long
def test_everything_runs_under_the_prefix(finance: Settings) -> None:
    outcome = run(finance)

    assert (outcome.ingested, outcome.failed) == (["finance-notes"], {})
    assert published(finance).rows["entities"] > 0
    with open_instance(Home(finance.home)) as instance:
        assert "lightrag_dagster" in instance.managed_python_loggers
        assert instance.get_dynamic_partitions("finance_source") == ["finance-notes"]
        assert {one.job_name for one in instance.get_runs()} == {"finance_ingest", "finance_publish"}
        made = {key.to_user_string() for key in instance.all_asset_keys()}
        assert {
            "finance/raw_documents",
            "finance/relation_mentions",
            "finance/entities",
            "finance/knowledge_base",
        } <= made
        assert [name for name in made if not name.startswith("finance/")] == []
        kinds = {dg.DagsterEventType.ASSET_CHECK_EVALUATION}
        checks = [
            entry.get_dagster_event().asset_check_evaluation_data
            for one in instance.get_runs()
            for entry in instance.all_logs(one.run_id, of_type=kinds)
        ]
    assert {(one.check_name, one.asset_key.path[0], one.partition, one.passed) for one in checks} == {
        ("words_read", "finance", "finance-notes", True),
        ("types_known", "finance", "finance-notes", True),
        ("accepted", "finance", "finance-notes", True),
        ("names_found", "finance", "finance-notes", True),
        ("names_grounded", "finance", "finance-notes", True),
        ("outdated", "finance", "finance-notes", True),
        ("hold_together", "finance", None, True),
        ("gates", "finance", None, True),
        ("integrity", "finance", None, True),
        ("decisions_match", "finance", None, True),
        ("complete", "finance", None, True),
        ("texts_read", "finance", None, True),
    }
    assert run(finance).ingested == []


@pytest.mark.long
def test_neither_touches_the_partitions_and_runs_of_the_other(
    finance: Settings, contracts: Settings, deployment: dg.DagsterInstance
) -> None:
    for settings in (finance, contracts, finance):
        evaluate(settings, deployment, "source_partitions")
    for settings in (finance, contracts):
        name = settings.namespace
        assert deployment.get_dynamic_partitions(f"{name}_source") == [f"{name}-notes"]
        assert evaluate(settings, deployment, "publish_accepted") == []
        assert ingest(settings, deployment).success
    pretend(deployment, dg.DagsterRunStatus.STARTED, job="finance_ingest", steps={"finance_chunks"}, launched=True)

    assert evaluate(finance, deployment, "publish_accepted") == []
    assert len(evaluate(contracts, deployment, "publish_accepted")) == 1

    write_source(finance, "new", {"river.md": RIVER})
    evaluate(finance, deployment, "source_partitions")
    assert set(deployment.get_dynamic_partitions("finance_source")) == {"finance-notes", "new"}
    assert deployment.get_dynamic_partitions("contracts_source") == ["contracts-notes"]


@pytest.mark.long
def test_batches_that_are_done_are_those_of_the_knowledge_base(
    finance: Settings, contracts: Settings, deployment: dg.DagsterInstance, loopback: Loopback
) -> None:
    loopback.chat = offline_answer
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    online = {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"}
    both = [settings.changed(llm=online) for settings in (finance, contracts)]
    for settings in both:
        evaluate(settings, deployment, "source_partitions")
        assert ingest(settings, deployment).success
    for settings in both:
        requests = [one for _ in range(3) for one in evaluate(settings, deployment, "batches")]
        name = settings.namespace
        assert {(one.job_name, one.partition_key) for one in requests} == {(f"{name}_ingest", f"{name}-notes")}


@pytest.mark.parametrize(
    ("prefix", "name", "key"), [("", "source", "chunks"), ("finance", "finance_source", "finance/chunks")]
)
def test_names(prefix: str, name: str, key: str) -> None:
    namespace = Namespace(prefix)
    assert namespace.named("source") == namespace.sources.name == name
    assert namespace.without(name) == "source"
    assert namespace.key("chunks").to_user_string() == key


def test_a_project_keeps_its_own_executor_resource_and_jobs(finance: Settings, contracts: Settings) -> None:
    @dg.asset
    def theirs(lightrag: dg.ResourceParam[str]) -> None: ...

    project = dg.Definitions(
        assets=[theirs],
        jobs=[dg.define_asset_job("their_job", [theirs])],
        resources={"lightrag": "theirs"},
        executor=dg.multiprocess_executor,
    )
    merged = dg.Definitions.merge(project, build_definitions(finance), build_definitions(contracts))
    dg.Definitions.validate_loadable(merged)
    executors = {name: merged.resolve_job_def(name).executor_def for name in ("their_job", "finance_ingest")}
    assert executors == {"their_job": dg.multiprocess_executor, "finance_ingest": dg.in_process_executor}
    steps = merged.resolve_implicit_global_asset_job_def().all_node_defs
    names = {step.name for step in steps}
    assert {"theirs", "finance_chunks", "contracts_chunks", "finance_merge", "contracts_merge"} <= names
    pools = {step.pool for step in steps if isinstance(step, dg.OpDefinition)}
    assert pools == {None, "finance_llm", "finance_writer", "contracts_llm", "contracts_writer"}


@pytest.mark.parametrize("prefix", ["", "finance"])
def test_a_function_gets_the_resource_of_its_namespace(prefix: str) -> None:
    def function(context: int, lightrag: str) -> tuple[int, str]:
        """Return what was given."""
        return context, lightrag

    namespace = Namespace(prefix)
    bound = namespace.bound(function)
    assert bound(1, **{namespace.resource: "ours"}) == (1, "ours")
    assert list(inspect.signature(bound).parameters) == ["context", namespace.resource]
    assert (bound.__name__, bound.__doc__) == (function.__name__, function.__doc__)
