"""A stand-in for Kubernetes: an API that takes jobs, and runs the command of each as a process.

It knows what dagster-k8s asks of a cluster: make a job, and tell how it is. Each pod gets the variables that its job
names, and empty folders of its own for `emptyDir`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.files import ROOT, image_environment

_JOB = re.compile(r"/apis/batch/v1/namespaces/[\w-]+/jobs(?:/([\w-]+)(?:/status)?)?")


class Cluster:
    """Jobs by name, and their processes."""

    def __init__(self, folder: Path, maps: Mapping[str, Mapping[str, str]], claims: Mapping[str, Path]) -> None:
        """Know the values of each config map and secret, and the folder of each claim."""
        self._folder = folder
        self._maps = maps
        self._claims = claims
        self.jobs: dict[str, dict[str, Any]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def create(self, job: dict[str, Any]) -> dict[str, Any]:
        """Start the one container of a job."""
        name, pod = job["metadata"]["name"], job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        folders = self._mounts(pod, container)
        variables = image_environment() | self._variables(container)
        for target, folder in folders.items():
            variables = {key: value.replace(target, str(folder)) for key, value in variables.items()}
        here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                container["args"], env=variables | here, cwd=self._folder, stdout=log, stderr=subprocess.STDOUT
            )
        self.jobs[name] = job
        return job

    def status(self, name: str) -> dict[str, Any]:
        """Return a job with its state."""
        code = self._processes[name].poll()
        state = {"active": 1} if code is None else {"succeeded": 1} if code == 0 else {"failed": 1}
        return self.jobs[name] | {"status": state}

    def stop(self) -> None:
        """End what still runs."""
        for process in self._processes.values():
            process.kill()
            process.wait()

    def logs(self) -> str:
        """Return the last lines of every pod."""
        return "\n".join(f"{name}: {(self._folder / f'{name}.log').read_text()[-3000:]}" for name in self.jobs)

    def _mounts(self, pod: Mapping[str, Any], container: Mapping[str, Any]) -> dict[str, Path]:
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        folders = {}
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            if mount["mountPath"] == "/tmp":  # a process has that of this machine
                continue
            if "persistentVolumeClaim" in volume:
                folders[mount["mountPath"]] = self._claims[volume["persistentVolumeClaim"]["claimName"]]
            elif "emptyDir" in volume:
                folders[mount["mountPath"]] = Path(tempfile.mkdtemp(dir=self._folder))
            else:  # dagster.yaml of the instance
                home = Path(tempfile.mkdtemp(dir=self._folder))
                (home / mount["subPath"]).write_text(self._maps[volume["configMap"]["name"]][mount["subPath"]])
                folders[str(Path(mount["mountPath"]).parent)] = home
        return folders

    def _variables(self, container: Mapping[str, Any]) -> dict[str, str]:
        variables: dict[str, str] = {}
        for source in container["envFrom"]:
            variables |= self._maps[next(iter(source.values()))["name"]]
        for variable in container["env"]:
            if "valueFrom" in variable:
                key = variable["valueFrom"]["secretKeyRef"]
                variables[variable["name"]] = self._maps[key["name"]][key["key"]]
            else:
                variables[variable["name"]] = variable["value"]
        return variables


@contextmanager
def serving_cluster(cluster: Cluster) -> Iterator[str]:
    """Serve a cluster's API for the block; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(201, cluster.create(json.loads(body)))

        def do_GET(self) -> None:
            found = _JOB.fullmatch(self.path)
            known = found is not None and found[1] in cluster.jobs
            self._answer(*((200, cluster.status(found[1])) if found and known else (404, {"kind": "Status"})))

        def _answer(self, code: int, content: Mapping[str, Any]) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        cluster.stop()


def write_kubeconfig(folder: Path, address: str) -> Path:
    """Write the file by which clients find a cluster; return it."""
    path = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path
