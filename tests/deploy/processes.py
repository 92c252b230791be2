"""The services of deploy/compose.yaml on loopback: their own commands, variables and health checks.

They are plain processes, of this environment or of the built image. Postgres and the S3 server, which are other
people's images, are the ones that all tests use.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.buckets import serving_buckets
from tests.deploy.files import DEPLOY, ROOT, image_environment, read_services
from tests.deploy.image import USER, Image
from tests.postgres import PostgresServer, serving_postgres

SECONDS = 300.0
"""The longest wait for anything; an idle machine needs a tenth of it."""

SECRETS = {
    "DAGSTER_PASSWORD": "a-long-random-word",
    "KNOWLEDGE_PASSWORD": "a-third-long-random-word",
    "AWS_ACCESS_KEY_ID": "someone",
    "AWS_SECRET_ACCESS_KEY": "another-long-random-word",
}
"""What is in .env."""

_UI, _CODE = "3000", "4000"


class Services:
    """Services of our image; `places` has what is somewhere else here: hosts, ports and folders."""

    def __init__(
        self, folder: Path, places: Mapping[str, str], more: Mapping[str, str], image: Image | None = None
    ) -> None:
        self._image = image
        self._folder = folder
        self._places = places
        self._file = SECRETS | dict(more)
        self._services = read_services(SECRETS)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def graphql(self) -> str:
        """Address of the webserver's API."""
        return f"http://127.0.0.1:{self._places[_UI]}/graphql"

    def start(self, name: str) -> None:
        """Start a service, and wait until its health check passes."""
        service, quiet = self._services[name], subprocess.DEVNULL
        with self._log(name).open("ab") as log:
            self._processes[name] = self._begin(name, service["command"], stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + SECONDS
        while self._begin(name, service["healthcheck"]["test"][1:], stdout=quiet, stderr=quiet).wait(SECONDS):
            assert self._processes[name].poll() is None, f"{name} ended"
            assert time.monotonic() < deadline, f"{name} is not healthy"

    def execute(self, name: str, *command: str) -> str:
        """Return what a command prints in a service, as `docker compose exec` would."""
        process = self._begin(name, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.communicate(timeout=SECONDS)[0].decode()
        assert process.returncode == 0, output
        return output

    def stop(self, name: str) -> None:
        """Stop a service; as Docker does, kill what has not ended after ten seconds."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def stop_all(self) -> None:
        """Stop all services, the last one first."""
        for name in reversed(list(self._processes)):
            self.stop(name)

    def logs(self) -> str:
        """Return the last lines of every service."""
        return "\n".join(f"{name}: {self._log(name).read_text(errors='replace')[-4000:]}" for name in self._processes)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _begin(self, name: str, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        service = self._services[name]
        variables = image_environment() | (self._file if "env_file" in service else {}) | service["environment"]
        here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        words = [replaced(word, self._places) for word in command]
        if self._image:
            here, words = {"PATH": os.environ["PATH"]}, self._image.inside(self._folder, words)
        return subprocess.Popen(
            words,
            env={key: replaced(value, self._places) for key, value in variables.items()} | here,
            cwd=self._folder,
            start_new_session=True,
            **options,
        )


def replaced(text: str, places: Mapping[str, str]) -> str:
    """Return a text with every place replaced by where it is here."""
    pattern = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    return re.sub(rf"(?<!\d)(?:{pattern})(?!\d)", lambda found: places[found[0]], text)


@contextmanager
def serving_compose(folder: Path, sources: Path, *, image: Image | None = None, **more: Any) -> Iterator[Services]:
    """Run the two servers for the block, prepared as compose.yaml prepares them; services are started in it.

    Args:
        folder: Where the services keep files and logs.
        sources: The folder of sources, in that folder.
        image: The image in which the services run; this environment without one.
        more: Further variables of .env.
    """
    ports = {name: str(free_port()) for name in ("5432", _UI, _CODE)}
    with serving_postgres(int(ports["5432"])) as postgres, serving_buckets() as buckets:
        places = ports | {
            "postgres:5432": f"127.0.0.1:{ports['5432']}",
            "s3:8333": urlsplit(buckets.url).netloc,
            "s3://knowledge/home": buckets.new_bucket(),
            "host: code": "host: 127.0.0.1",
            "0.0.0.0": "127.0.0.1",
            "/opt/dagster": str(folder / "opt"),
            "/cache": str(folder / "cache"),
            "/sources": str(sources),
        }
        (folder / "opt" / "dagster_home").mkdir(parents=True)
        for file, name in (("dagster.yaml", "opt/dagster_home/dagster.yaml"), ("workspace.yaml", "opt/workspace.yaml")):
            content = (DEPLOY / file).read_text(encoding="utf-8")
            (folder / name).write_text(replaced(content, places), encoding="utf-8")
        _prepare(postgres)
        services = Services(folder, places, more, image)
        if image:
            (folder / "cache").mkdir()
            subprocess.run(["chown", "--recursive", f"{USER}:{USER}", str(folder)], check=True)
        try:
            yield services
        except BaseException as error:
            error.add_note(services.logs())
            raise
        finally:
            services.stop_all()


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _prepare(postgres: PostgresServer) -> None:
    """Do what the image of Postgres does when it first starts."""
    postgres.script(DEPLOY / "postgres.sql", read_services(SECRETS)["postgres"]["environment"])
