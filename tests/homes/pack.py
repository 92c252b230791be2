"""Pack small homes that an older version built, with what it asks for and publishes next; README.md says how to run it.

The older version runs in processes of its own; the servers that it talks to are those of today's tests, in this one.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import obstore
import yaml

from tests.buckets import S3Server, serving_buckets
from tests.homes.provider import DIMENSIONS, asked, serve_homes
from tests.loopback import Loopback, Received, serving
from tests.loopback_batches import Fate
from tests.postgres import PostgresServer, serving_postgres
from tests.support import FLOOD, OFFICE, RIVER

SCHEMA = "older_home"
"""The schema of the packed database."""

_HERE = Path(__file__).parent
_SAMPLES = _HERE.parent / "documents_samples"
_CHANGED = 1_700_000_000  # when all documents were changed last, Unix seconds

# Dagster's event log is not needed, a cache is filled again, and process ids are those of this machine.
_LEFT_OUT = shutil.ignore_patterns("dagster", "cache", "*.pid")

_MODELS = ("gpt-4o-mini", "gpt-4.1-mini")
_EMBEDDER = "text-embedding-3-small"

# Prices are given since published ones change, and costs are part of the content.
_SETTINGS: dict[str, Any] = {
    "llm": {
        "provider": "openai",
        "max_concurrency": 1,
        "prices": {name: {"input": 1, "output": 4} for name in _MODELS},
    },
    "embedding": {"provider": "openai", "dimensions": DIMENSIONS, "prices": {_EMBEDDER: {"input": 0.1}}},
    "merging": {"summary_min_descriptions": 3},
}


class Older:
    """A home in the making: its folder, the older version's Python, and the provider that this asks."""

    def __init__(self, python: str, folder: Path, provider: Loopback) -> None:
        self.folder = folder
        self.provider = provider
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "cache"),
            "LIGHTRAG_CONFIG": str(folder / "lightrag.yaml"),
            "LIGHTRAG_HOME": str(folder / "home"),
            "LIGHTRAG_SOURCES": str(folder / "sources"),
            "LIGHTRAG_CACHE__FOLDER": str(folder / "cache"),
            "OPENAI_BASE_URL": provider.url,
            "OPENAI_API_KEY": "none",
        }
        self._python = python
        self.configure()

    def configure(self, **sections: Mapping[str, Any]) -> None:
        """Write the settings: the usual ones, and some more."""
        settings = _SETTINGS | {name: _SETTINGS.get(name, {}) | dict(section) for name, section in sections.items()}
        (self.folder / "lightrag.yaml").write_text(yaml.safe_dump(settings))

    def write(self, source: str, files: Mapping[str, str | bytes]) -> None:
        """Add documents to a source, or replace them."""
        folder = self.folder / "sources" / source
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = folder / name
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            os.utime(path, (_CHANGED, _CHANGED))

    def commit(self) -> str:
        """Return the commit of the older version."""
        place = self._execute("-c", "import lightrag_dagster; print(lightrag_dagster.__path__[0])").strip()
        found = subprocess.run(["git", "-C", place, "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=True)
        return found.stdout.strip()

    def run(self, *arguments: str, **settings: str) -> str:
        """Run a command to its end, and return what it printed."""
        return self._execute("-m", "lightrag_dagster", *arguments, **settings)

    def run_and_kill(self, answers: int, *arguments: str) -> None:
        """Run a command, and kill it when it has this many answers of the language model and asks for the next."""
        self.provider.requests.clear()
        victim = self._start("-m", "lightrag_dagster", *arguments)

        def strike(received: Received) -> None:
            if sum(one.path.endswith("/chat/completions") for one in self.provider.requests) > answers:
                victim.kill()

        self.provider.fault = strike
        printed, _ = victim.communicate()
        assert victim.returncode < 0, printed
        self.provider.fault = lambda received: None

    def contents(self) -> dict[str, Any]:
        """Return the content of the published snapshot."""
        contents: dict[str, Any] = json.loads(self._execute(str(_HERE / "contents.py")))
        return contents

    def follow(self, *arguments: str) -> dict[str, Any]:
        """Run a command, and return it with what it asked for and what is published then."""
        self.provider.requests.clear()
        self.run(*arguments)
        return {"command": arguments, "asked": asked(self.provider.requests), "contents": self.contents()}

    def _execute(self, *arguments: str, **settings: str) -> str:
        process = self._start(*arguments, **settings)
        printed, _ = process.communicate()
        assert process.returncode == 0, printed
        return printed

    def _start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """Start the older version's Python, in a folder that holds no other version's modules."""
        return subprocess.Popen(
            [self._python, *arguments],
            cwd=self.folder, env=self.environment | settings, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip


def build_two_sources(older: Older) -> None:
    """Build a home of several media types, with a duplicate, a failed document, and all that is paid for."""
    older.configure(
        documents={"describe_figures": True, "max_failed_share": 0.5},
        chunking={"rules": [{"path": "notes/*.txt", "method": "semantic"}]},
    )
    older.write(
        "notes", {"river.md": RIVER, "flood.txt": FLOOD, "again.txt": FLOOD, "broken.pdf": b"%PDF-1.7 and then"}
    )
    page = f"<html><head><title>Office</title></head><body><h1>Office</h1><p>{OFFICE}</p></body></html>"
    letter = f"From: Jonas Feld <jonas@feld.example>\nSubject: Office\nDate: 1 Mar 2021 10:00 +0000\n\n{OFFICE}"
    people = "name,place\nMarta Lindqvist,Halden Weir\nPriya Nair,Station 14\n"
    older.write("office", {"page.html": page, "letter.eml": letter, "people.csv": people})
    older.write("office", {name: (_SAMPLES / name).read_bytes() for name in ("reportlab.pdf", "figures.docx")})
    older.run("run")


def build_open_batch(older: Older) -> None:
    """Build a home with a published source, and another whose extraction waits for a batch at the provider."""
    older.configure(llm={"mode": "batch"}, extraction={"gleaning": 0})
    older.write("notes", {"river.md": RIVER, "flood.txt": FLOOD})
    older.run("run", LIGHTRAG_LLM__MODE="realtime")
    older.write("office", {"office.txt": OFFICE, "plan.md": f"# Plan\n\n{OFFICE} {RIVER}"})
    older.provider.batches.spoil = lambda batch: Fate(looks=1000)
    assert "Waiting for batches: office" in older.run("run")
    for batch in older.provider.batches.batches.values():
        batch.fate = Fate()  # answered from now on


def build_unfinished_backfill(older: Older) -> None:
    """Build a home with a published source whose backfill, by another model, was killed after three answers."""
    older.write("notes", {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    older.run("run")
    older.configure(llm={"model": _MODELS[1]})
    older.run_and_kill(3, "backfill", "--source", "notes")


def build_held_rollback(older: Older) -> None:
    """Build a home of three snapshots: a rollback holds the second, and the third was published while it did."""
    for place in ("Bergen", "Oslo", "Paris"):
        older.write("notes", {"river.md": RIVER.replace("Bergen", place)})
        older.run("run")
        if place == "Oslo":
            older.run("rollback", json.loads(older.run("status", "--json"))["snapshot_id"])


class Packed(NamedTuple):
    """A way to build a home, and the commands that come next, of which is recorded what the older version did."""

    build: Callable[[Older], None]
    following: tuple[tuple[str, ...], ...] = (("run",),)
    in_bucket: bool = False


HOMES = {
    "disk": Packed(build_two_sources),
    "bucket": Packed(build_two_sources, in_bucket=True),
    "open_batch": Packed(build_open_batch, (("run", "--wait"),)),
    "unfinished_backfill": Packed(build_unfinished_backfill, (("run",), ("backfill", "--source", "notes"))),
    "held_rollback": Packed(build_held_rollback, (("run",), ("release",))),
}


class Cloud:
    """A bucket and a database, in which a home is in place of the disk."""

    def __init__(self, buckets: S3Server, postgres: PostgresServer) -> None:
        self._buckets = buckets
        self._postgres = postgres
        self._uri = buckets.new_bucket()
        places = {"LIGHTRAG_HOME": self._uri, "LIGHTRAG_DATABASE": postgres.url(SCHEMA)}
        self.environment = buckets.environment | places

    def save(self, folder: Path) -> None:
        """Write the objects of the bucket as files, and the database as SQL."""
        store = self._buckets.store(self._uri)
        for key in self._buckets.keys(self._uri):
            path = folder / "bucket" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(obstore.get(store, key).bytes())
        (folder / "postgres.sql").write_text(self._postgres.dump(SCHEMA))


def pack(name: str, python: str, work: Path) -> Path:
    """Build a home in an empty folder, and return its archive, which is here."""
    packed, folder = HOMES[name], work / "packed"
    folder.mkdir()
    kept, archive = work / "kept", _HERE / f"{name}.tar.xz"
    with ExitStack() as servers:
        provider = servers.enter_context(serving())
        serve_homes(provider)
        older, cloud = Older(python, folder, provider), None
        if packed.in_bucket:
            cloud = Cloud(servers.enter_context(serving_buckets()), servers.enter_context(serving_postgres()))
            older.environment |= cloud.environment
        packed.build(older)
        shutil.copytree(folder, kept, symlinks=True, ignore=_LEFT_OUT)
        if cloud:
            cloud.save(kept)
        record = {
            "commit": older.commit(),
            "host": provider.host,
            "batches": [asdict(batch) for batch in provider.batches.batches.values()],
            "contents": older.contents(),
            "steps": [older.follow(*command) for command in packed.following],
        }
    (kept / "record.json").write_text(json.dumps(record, indent=1))
    with tarfile.open(archive, "w:xz", preset=9) as members:
        for path in sorted(kept.iterdir()):
            members.add(path, path.name, filter=_of_nobody)
    return archive


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    for chosen in sys.argv[2:] or HOMES:
        with TemporaryDirectory(prefix="older-home-") as temporary:
            written = pack(chosen, sys.argv[1], Path(temporary))
        sys.stdout.write(f"{written.name}: {written.stat().st_size:,} bytes\n")
