"""Runs and steps as pods, by values.yaml, on a stand-in for Kubernetes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.settings import Settings, load_settings
from tests.assets.test_daemon import until
from tests.buckets import S3Server
from tests.deploy.chart import DEPLOYMENT, IMAGE, USER_VARIABLES, VALUES, container_context, launcher_config
from tests.deploy.cluster import Cluster, serving_cluster, write_kubeconfig
from tests.deploy.files import ROOT
from tests.deploy.processes import SECONDS, free_port
from tests.postgres import PostgresServer, new_schema
from tests.support import RIVER, build, published, write_source


@pytest.fixture
def home(buckets: S3Server, postgres: SecretStr, tmp_path: Path) -> Settings:
    """Settings of a home in a bucket, of a machine that is none of the pods."""
    cache = {"folder": tmp_path / "cache"}
    settings = load_settings(home=buckets.new_bucket(), database=postgres, sources=tmp_path / "sources", cache=cache)
    write_source(settings, "notes", {"river.md": RIVER})
    return settings


def instance_config(postgres: PostgresServer, kubeconfig: Path) -> dict[str, Any]:
    """Return dagster.yaml as the chart writes it, but for where the servers are, and without a queue."""
    url = postgres.url(new_schema()).replace("postgresql://", f"{VALUES['postgresql']['postgresqlScheme']}://")
    here = {"load_incluster_config": False, "kubeconfig_file": str(kubeconfig)}
    return {
        "storage": {"postgres": {"postgres_url": url}},
        "run_launcher": {"module": "dagster_k8s", "class": "K8sRunLauncher", "config": launcher_config() | here},
        "run_coordinator": {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"},
        "compute_logs": {
            "module": "dagster._core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
        },
        "telemetry": VALUES["telemetry"],
    }


@pytest.mark.long
def test_each_step_is_a_pod_with_an_empty_disk(
    tmp_path: Path, home: Settings, buckets: S3Server, postgres_server: PostgresServer
) -> None:
    assert home.database is not None
    more = {"LIGHTRAG_HOME": str(home.home), "LIGHTRAG_DAGSTER__EXECUTOR": "kubernetes"}
    instance_map = VALUES["global"]["dagsterInstanceConfigMap"]
    maps: dict[str, dict[str, str]] = {
        USER_VARIABLES: DEPLOYMENT["env"] | more,
        "lightrag": buckets.environment | {"LIGHTRAG_DATABASE": home.database.get_secret_value()},
        VALUES["global"]["postgresqlSecretName"]: {"postgresql-password": "in the URL"},
    }
    (tmp_path / "pods").mkdir()
    cluster = Cluster(tmp_path / "pods", maps, {"lightrag-sources": home.sources})
    with serving_cluster(cluster) as address:
        config = yaml.safe_dump(instance_config(postgres_server, write_kubeconfig(tmp_path, address)))
        maps[instance_map] = {"dagster.yaml": config}
        (tmp_path / "dagster_home").mkdir()
        (tmp_path / "dagster_home" / "dagster.yaml").write_text(config, encoding="utf-8")
        with (
            serving_code(tmp_path, maps) as port,
            dg.DagsterInstance.from_config(str(tmp_path / "dagster_home")) as instance,
        ):
            instance.add_dynamic_partitions("source", ["notes"])
            try:
                launch(tmp_path, port, instance, "ingest", {"dagster/partition": "notes"})
                launch(tmp_path, port, instance, "publish", {})
            except BaseException as error:
                error.add_note(cluster.logs())
                raise
            finished = dg.DagsterEventType.STEP_SUCCESS
            steps = [event for run in instance.get_runs() for event in instance.all_logs(run.run_id, of_type=finished)]
            failed = [one for run in instance.get_runs() for one in failed_checks(instance, run.run_id)]
    labels = [job["spec"]["template"]["metadata"]["labels"] for job in cluster.jobs.values()]
    kinds = [label["app.kubernetes.io/component"] for label in labels]
    assert (kinds.count("run_worker"), kinds.count("step_worker")) == (2, len(steps))
    assert len(steps) > 10
    assert failed == []
    alone = home.changed(home=tmp_path / "alone", database=None)
    build(alone)
    with KnowledgeBase.open(settings=home) as knowledge:
        assert knowledge.snapshot_id == published(alone).snapshot_id
        assert "Marta Lindqvist" in knowledge.query("Who maintains the gauge at Halden Weir?").text


@contextmanager
def serving_code(folder: Path, maps: dict[str, dict[str, str]]) -> Iterator[int]:
    """Run the code server with the deployment's arguments; yield its port."""
    port = free_port()
    said = {"DAGSTER_CLI_API_GRPC_CONTAINER_CONTEXT": json.dumps(container_context()), "DAGSTER_CURRENT_IMAGE": IMAGE}
    paths = {"LIGHTRAG_CACHE__FOLDER": str(folder / "code-cache"), "LIGHTRAG_SOURCES": str(folder / "sources")}
    command = ["dagster", "api", "grpc", "-h", "127.0.0.1", "-p", str(port), *DEPLOYMENT["dagsterApiGrpcArgs"]]
    environment = surroundings(folder) | maps[USER_VARIABLES] | maps["lightrag"] | said | paths
    server = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)
    try:
        check = ["dagster", "api", "grpc-health-check", "-p", str(port)]
        until(
            lambda: subprocess.run(check, env=surroundings(folder), capture_output=True).returncode == 0,
            "no code server",
        )
        yield port
    finally:
        server.kill()
        server.wait()


def failed_checks(instance: dg.DagsterInstance, run_id: str) -> list[str | None]:
    entries = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    evaluations = [entry.get_dagster_event().asset_check_evaluation_data for entry in entries]
    return [one.description for one in evaluations if not one.passed]


def surroundings(folder: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(ROOT), "DAGSTER_HOME": str(folder / "dagster_home")}


def launch(folder: Path, port: int, instance: dg.DagsterInstance, job: str, tags: Mapping[str, str]) -> None:
    """Launch a job as the UI would, and wait until its run has succeeded."""
    location = {"host": "127.0.0.1", "port": port, "location_name": DEPLOYMENT["name"]}
    (folder / "workspace.yaml").write_text(yaml.safe_dump({"load_from": [{"grpc_server": location}]}))
    command = ["dagster", "job", "launch", "-w", "workspace.yaml", "-j", job, "--tags", json.dumps(tags)]
    subprocess.run(command, cwd=folder, env=surroundings(folder), check=True, timeout=SECONDS)

    def ended() -> bool:
        (run,) = instance.get_runs(dg.RunsFilter(job_name=job))
        assert run.status is not dg.DagsterRunStatus.FAILURE
        return run.status is dg.DagsterRunStatus.SUCCESS

    until(ended, f"the run of {job} did not succeed")
