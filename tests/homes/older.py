"""A home in the making, by the command line of an older version."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import obstore
import yaml

from tests.buckets import S3Server
from tests.homes.provider import DIMENSIONS, asked
from tests.loopback import Loopback, Received
from tests.postgres import PostgresServer

SCHEMA = "older_home"
"""The schema of the packed database."""

MODEL, OTHER_MODEL = "gpt-4o-mini", "gpt-4.1-mini"
"""The language model, and the one of a backfill."""

_EMBEDDER = "text-embedding-3-small"
_CONTENTS = Path(__file__).with_name("contents.py")
_CHANGED = 1_700_000_000  # when all documents were changed last, Unix seconds

# Prices are given since published ones change, and costs are part of the content.
_SETTINGS: dict[str, Any] = {
    "llm": {
        "provider": "openai",
        "model": MODEL,
        "max_concurrency": 1,
        "prices": {name: {"input": 1, "output": 4} for name in (MODEL, OTHER_MODEL)},
    },
    "embedding": {
        "provider": "openai",
        "model": _EMBEDDER,
        "dimensions": DIMENSIONS,
        "prices": {_EMBEDDER: {"input": 0.1}},
    },
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
        contents: dict[str, Any] = json.loads(self._execute(str(_CONTENTS)))
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
