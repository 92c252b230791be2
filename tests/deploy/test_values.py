"""values.yaml by the types of `dagster-k8s`: the pods that runs and steps get."""

from pathlib import Path
from typing import Any

import pytest
from dagster._config import process_config
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.storage.dagster_run import DagsterRun
from dagster_k8s import K8sRunLauncher
from dagster_k8s.container_context import K8sContainerContext
from dagster_k8s.job import construct_dagster_k8s_job
from kubernetes.client import ApiClient

from lightrag_dagster.settings import CacheSettings
from tests.deploy.chart import DEPLOYMENT, IMAGE, USER_VARIABLES, VALUES, container_context, launcher_config
from tests.deploy.cluster import write_kubeconfig
from tests.deploy.files import image_environment, instructions, read_yaml
from tests.deploy.restricted import as_kubernetes_reads, faults

MANIFESTS = {one["metadata"]["name"]: one for one in read_yaml("kubernetes.yaml")["items"]}
SERVICES = {"webserver": VALUES["dagsterWebserver"], "daemon": VALUES["dagsterDaemon"], "code server": DEPLOYMENT}


WRITABLE = {"/tmp", f"{image_environment()['DAGSTER_HOME']}/storage"}
"""Folders of each pod that can be written, beside the cache."""


@pytest.fixture
def pod(tmp_path: Path) -> Any:
    """The template of the pod of a run."""
    here = {"load_incluster_config": False, "kubeconfig_file": str(write_kubeconfig(tmp_path, "http://127.0.0.1:1"))}
    launcher = K8sRunLauncher(**launcher_config() | here)
    repository = RepositoryPythonOrigin(
        "python", ModuleCodePointer("m", "f"), IMAGE, container_context=container_context()
    )
    run = DagsterRun("ingest", job_code_origin=JobPythonOrigin("ingest", repository))
    context = K8sContainerContext.create_for_run(run, launcher, include_run_tags=True)
    job = construct_dagster_k8s_job(
        context.get_k8s_job_config(repository.container_image, launcher),
        args=["dagster"],
        job_name="run",
        user_defined_k8s_config=context.run_k8s_config,
    )
    return job.spec.template.spec


def test_the_launcher_takes_the_values() -> None:
    assert VALUES["runLauncher"]["type"] == K8sRunLauncher.__name__
    assert process_config(K8sRunLauncher.config_type(), launcher_config()).success  # type: ignore[no-untyped-call]


def test_a_run_has_the_image_secrets_and_folders_of_the_code_server(pod: Any) -> None:
    (container,) = pod.containers
    assert container.image == IMAGE
    sources = [one.secret_ref or one.config_map_ref for one in container.env_from]
    assert {one.name for one in sources} > {"lightrag"}
    assert {one.value_from.secret_key_ref.name for one in container.env if one.value_from} == {"lightrag-postgres"}
    mounts = {mount.name: mount for mount in container.volume_mounts}
    assert {mount.mount_path for mount in container.volume_mounts if mount.name == "scratch"} == WRITABLE
    volumes = {volume.name: volume for volume in pod.volumes}
    assert set(mounts) == set(volumes)
    assert mounts["cache"].mount_path == DEPLOYMENT["env"]["LIGHTRAG_CACHE__FOLDER"]
    assert mounts["sources"].mount_path == DEPLOYMENT["env"]["LIGHTRAG_SOURCES"]
    assert volumes["sources"].persistent_volume_claim.claim_name == "lightrag-sources"
    assert container.resources.requests == DEPLOYMENT["resources"]["requests"]
    assert container.resources.limits == DEPLOYMENT["resources"]["limits"]


def test_the_cache_stays_below_what_a_pod_may_hold(pod: Any) -> None:
    (size,) = [volume.empty_dir.size_limit for volume in pod.volumes if volume.name == "cache"]
    limit = float(DEPLOYMENT["env"]["LIGHTRAG_CACHE__MAX_GB"])
    assert limit == CacheSettings().max_gb
    assert limit * 1e9 * 1.2 < int(size.removesuffix("Gi")) * 2**30


def specs(run: Any) -> dict[str, Any]:
    """Return every pod that the files make, by its name, as a manifest has it: of the chart, of runs, and of the jobs.

    The chart gives its two init containers the context of the container beside them.
    """
    pods = {
        name: {
            "securityContext": service["podSecurityContext"],
            "volumes": service["volumes"],
            "containers": [{key: service[key] for key in ("securityContext", "resources", "volumeMounts")}],
        }
        for name, service in SERVICES.items()
    }
    pods["run"] = ApiClient().sanitize_for_serialization(run)
    jobs = (one for one in MANIFESTS.values() if one["kind"] == "CronJob")
    return pods | {one["metadata"]["name"]: one["spec"]["jobTemplate"]["spec"]["template"]["spec"] for one in jobs}


def test_every_pod_is_as_the_standard_restricted_asks(pod: Any) -> None:
    (user,) = instructions("USER")
    pods = specs(pod)
    assert set(pods) == {*SERVICES, "run", "lightrag-backup", "lightrag-gc"}
    for name, spec in pods.items():
        assert faults(spec) == [], name
        assert spec["securityContext"]["runAsUser"] == int(user), name


def test_services_are_of_one_image_and_ports_are_open_to_it() -> None:
    for service in SERVICES.values():
        assert service["image"] == DEPLOYMENT["image"]
    webserver = VALUES["dagsterWebserver"]
    assert webserver["readinessProbe"]["httpGet"]["port"] == webserver["service"]["port"]
    assert image_environment()["DAGSTER_HOME"] == "/opt/dagster/dagster_home"  # where the chart mounts dagster.yaml


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_has_the_fields_of_its_kind_and_no_others(name: str) -> None:
    assert as_kubernetes_reads(MANIFESTS[name]) == MANIFESTS[name]


def test_the_jobs_are_of_the_image_and_environment_of_the_code_server() -> None:
    for one in (MANIFESTS["lightrag-backup"], MANIFESTS["lightrag-gc"]):
        (container,) = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        assert container["image"] == IMAGE
        sources = [next(iter(source.values()))["name"] for source in container["envFrom"]]
        assert sources == [USER_VARIABLES, *(secret["name"] for secret in DEPLOYMENT["envSecrets"])]
        assert DEPLOYMENT["env"]["LIGHTRAG_CACHE__FOLDER"] in {
            mount["mountPath"] for mount in container["volumeMounts"]
        }
