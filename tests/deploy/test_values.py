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

from lightrag_dagster.settings import CacheSettings
from tests.deploy.chart import DEPLOYMENT, IMAGE, VALUES, container_context, launcher_config
from tests.deploy.cluster import write_kubeconfig
from tests.deploy.files import image_environment, instructions


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
    volumes = {volume.name: volume for volume in pod.volumes}
    assert set(mounts) == set(volumes)
    assert mounts["cache"].mount_path == DEPLOYMENT["env"]["LIGHTRAG_CACHE__FOLDER"]
    assert mounts["sources"].mount_path == DEPLOYMENT["env"]["LIGHTRAG_SOURCES"]
    assert volumes["sources"].persistent_volume_claim.claim_name == "lightrag-sources"
    assert container.resources.requests == DEPLOYMENT["resources"]["requests"]
    assert container.resources.limits == DEPLOYMENT["resources"]["limits"]


def test_the_cache_stays_below_what_a_pod_may_hold(pod: Any) -> None:
    (size,) = [volume.empty_dir.size_limit for volume in pod.volumes if volume.empty_dir]
    limit = float(DEPLOYMENT["env"]["LIGHTRAG_CACHE__MAX_GB"])
    assert limit == CacheSettings().max_gb
    assert limit * 1e9 * 1.2 < int(size.removesuffix("Gi")) * 2**30


def test_nothing_runs_as_root_or_needs_to(pod: Any) -> None:
    (user,) = instructions("USER")
    assert (pod.security_context.run_as_user, pod.security_context.run_as_non_root) == (int(user), True)
    (container,) = pod.containers
    assert container.security_context.allow_privilege_escalation is False
    services = [VALUES["dagsterWebserver"], VALUES["dagsterDaemon"], DEPLOYMENT]
    for service in services:
        assert service["podSecurityContext"]["runAsUser"] == int(user)
        assert service["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert service["image"] == DEPLOYMENT["image"]
    assert (
        VALUES["dagsterWebserver"]["readinessProbe"]["httpGet"]["port"] == VALUES["dagsterWebserver"]["service"]["port"]
    )
    assert image_environment()["DAGSTER_HOME"] == "/opt/dagster/dagster_home"  # where the chart mounts dagster.yaml
