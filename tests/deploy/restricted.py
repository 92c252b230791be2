"""What Kubernetes reads of a manifest, and what its Pod Security Standard "restricted" asks of a pod."""

from collections.abc import Mapping
from typing import Any

from kubernetes.client import ApiClient

_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
_CONFINED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,  # ours, not the standard's
    "capabilities": {"drop": ["ALL"]},
}


def as_kubernetes_reads(manifest: Mapping[str, Any]) -> Any:
    """Return a manifest without the fields that its kind has not."""
    client = ApiClient()
    return client.sanitize_for_serialization(client._ApiClient__deserialize(manifest, f"V1{manifest['kind']}"))


def faults(spec: Mapping[str, Any]) -> list[str]:
    """Return what a pod has, or lacks, against the standard, and against our own bounds."""
    found = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    context = spec["securityContext"]
    if context.get("runAsNonRoot") is not True or not context.get("runAsUser"):
        found.append("it may run as root")
    if context.get("seccompProfile") != {"type": "RuntimeDefault"}:
        found.append("no profile of seccomp")
    found += [kind for volume in spec["volumes"] for kind in volume if kind not in {"name", *_VOLUMES}]
    for container in spec["containers"]:
        if container["securityContext"] != _CONFINED:
            found.append(f"a container has {container['securityContext']}")
        if "memory" not in container["resources"].get("limits", {}):
            found.append("a container without a limit of memory")
        if "/tmp" not in {mount["mountPath"] for mount in container["volumeMounts"]}:
            found.append("a container that can write no temporary file")
    return found
