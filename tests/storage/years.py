"""Snapshots that differ in one year, built once and copied for each test."""

import shutil
from collections.abc import Callable
from pathlib import Path

from lightrag_dagster.settings import Settings, load_settings
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
        self._ids: list[str] = []

    def copy(self, number: int, target: Path) -> tuple[Settings, list[str]]:
        """Copy the home with so many snapshots, and its sources."""
        while len(self._ids) < number:
            folder = self._folder / str(len(self._ids) + 1)
            settings = self._copied(folder)
            self._ids.append(build_year(settings, FIRST + len(self._ids)))
        shutil.copytree(self._folder / str(number), target, dirs_exist_ok=True)
        return load_settings(home=target / "home", sources=target / "sources"), self._ids[:number]

    def _copied(self, folder: Path) -> Settings:
        if self._ids:
            shutil.copytree(self._folder / str(len(self._ids)), folder)
        return load_settings(home=folder / "home", sources=folder / "sources")
