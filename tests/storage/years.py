"""Snapshots that differ in one year, built once and copied for each test."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lightrag_dagster.settings import Settings, load_settings
from tests.once import made_once
from tests.support import FLOOD, RIVER, build, published, write_source

FIRST = 2001

Years = Callable[[int], tuple[Settings, list[str]]]
"""Gives a home of the test with so many snapshots, from 2001 on, and their ids."""


def build_year(settings: Settings, year: int, **more: str | bytes) -> str:
    """Publish a snapshot in which the gauge was built in that year, at the station of its last digits."""
    river = RIVER.replace("2019", f"{year} at Station {year - 2000}")
    write_source(settings, "notes", {"river.md": river, "flood.txt": FLOOD} | more)
    build(settings)
    return published(settings).snapshot_id


class History:
    """A folder a number of snapshots, each made from the one before when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def copy(self, number: int, target: Path) -> tuple[Settings, list[str]]:
        """Copy the home with so many snapshots, and its sources."""
        made = self._made(number)
        for name in ("home", "sources"):
            shutil.copytree(made / name, target / name)
        return _settings_in(target), (made / "ids").read_text().split()

    def _made(self, number: int) -> Path:
        return made_once(self._folder / str(number), partial(self._make, number))

    def _make(self, number: int, folder: Path) -> None:
        settings, ids = self.copy(number - 1, folder) if number > 1 else (_settings_in(folder), [])
        ids.append(build_year(settings, FIRST + len(ids)))
        (folder / "ids").write_text(" ".join(ids))


def _settings_in(folder: Path) -> Settings:
    return load_settings(home=folder / "home", sources=folder / "sources")
