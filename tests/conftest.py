"""Every test runs in a folder of its own, without the developer's settings or keys."""

import os
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from lightrag_dagster.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("LIGHTRAG_", "OPENAI_", "DAGSTER_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of an empty home with no sources yet, offline."""
    (tmp_path / "sources").mkdir()
    return load_settings(home=tmp_path / "home", sources=tmp_path / "sources")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that lives as long as the test."""
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral
