"""Machines by name, whose processes share one bucket in memory and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from obstore.store import MemoryStore
from pydantic import SecretStr

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home

Machine = Callable[[str], Home]


def machines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return what gives the home of a machine, made when it is first asked for."""
    store = MemoryStore()
    monkeypatch.setattr(Objects, "open", classmethod(lambda cls, uri: cls(uri, store)))
    uri = f"s3://bucket/{folder.name}"

    def make(name: str) -> Home:
        (folder / name / "0").mkdir(parents=True, exist_ok=True)
        return Home(folder / name / "0", SecretStr("postgresql://nowhere"), uri, 1e9)

    return make


def write(home: Home, name: str, text: str) -> Path:
    """Write a file of a home as a step does, and return its path."""
    atomic.write_text(home.root / name, text)
    return home.root / name
