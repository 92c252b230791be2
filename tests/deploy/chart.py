"""What Dagster's chart makes of deploy/values.yaml, as far as pods of runs and steps are concerned."""

from typing import Any

from tests.deploy.files import image_environment, read_yaml

NAMESPACE = "knowledge"
USER_VARIABLES = "lightrag-dagster-user-deployments-knowledge-base-user-env"
"""The config map of the deployment's `env`."""

VALUES = read_yaml("values.yaml")
(DEPLOYMENT,) = VALUES["dagster-user-deployments"]["deployments"]
IMAGE = f"{DEPLOYMENT['image']['repository']}:{DEPLOYMENT['image']['tag']}"


def launcher_config() -> dict[str, Any]:
    """Return the configuration of the run launcher in dagster.yaml."""
    given = VALUES["runLauncher"]["config"]["k8sRunLauncher"]
    return {
        "load_incluster_config": True,
        "job_namespace": NAMESPACE,
        "image_pull_policy": given["imagePullPolicy"],
        "service_account_name": "lightrag-dagster",
        "dagster_home": image_environment()["DAGSTER_HOME"],
        "instance_config_map": VALUES["global"]["dagsterInstanceConfigMap"],
        "postgres_password_secret": VALUES["global"]["postgresqlSecretName"],
        "security_context": given["securityContext"],
    }


def container_context() -> dict[str, Any]:
    """Return what the code server says of pods for its runs."""
    pod = {"automount_service_account_token": True, "security_context": DEPLOYMENT["podSecurityContext"]}
    return {
        "k8s": {
            "image_pull_policy": DEPLOYMENT["image"]["pullPolicy"],
            "env_config_maps": [USER_VARIABLES],
            "env_secrets": [one["name"] for one in DEPLOYMENT["envSecrets"]],
            "volume_mounts": DEPLOYMENT["volumeMounts"],
            "volumes": DEPLOYMENT["volumes"],
            "resources": DEPLOYMENT["resources"],
            "namespace": NAMESPACE,
            "service_account_name": "lightrag-dagster-user-deployments-user-deployments",
            "run_k8s_config": {"pod_spec_config": pod},
        }
    }
