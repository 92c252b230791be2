"""A disk that is full or cannot be written: one clear line, the old snapshot intact, and no step by hand afterwards."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import LightRAGError, one_line
from lightrag_dagster.orchestration.runner import Outcome
from lightrag_dagster.settings import Settings, load_settings
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source

Way = Callable[[Settings], Outcome]
QUESTION = "Who maintains the gauge at Halden Weir?"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system of its own, which `resize` makes larger."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = _mount(folder, "-t", "tmpfs", "-o", "size=128m", "tmpfs")
    if mounted.returncode:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("room", "way"),
    [(3000, partial(build, graph=True)), (16, run)],  # kilobytes
    ids=["the graph finds too little", "Dagster finds too little"],
)
def test_a_full_disk_costs_nothing_that_was_published(small_disk: Path, tmp_path: Path, room: int, way: Way) -> None:
    settings = load_settings(home=small_disk / "home", sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    first = published(settings)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    clean = settings.model_copy(update={"home": tmp_path / "clean"})
    build(clean, graph=True)

    with _filled(small_disk, room):
        message = _failure(way, settings)
        assert published(settings) == first
        with KnowledgeBase.open(settings=settings) as knowledge:
            assert knowledge.retrieve(QUESTION, mode="mix").entities

    assert message
    assert "\n" not in message
    way(settings)
    assert snapshot_contents(settings) == snapshot_contents(clean)


@pytest.mark.long
def test_a_disk_without_any_room_is_one_sentence_of_each_command(small_disk: Path, tmp_path: Path) -> None:
    settings = load_settings(home=small_disk / "home", sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    subprocess.run(_command(settings, "run"), check=True, capture_output=True)
    write_source(settings, "notes", {"river.md": FLOOD})
    full = f"error: {settings.home}/ledger.sqlite does not fit on the disk; free some space and run again"
    little = f"error: {settings.home}/dagster has "
    for room, said in ((0, full), (160, little)):
        with _filled(small_disk, room):
            for command in ("run", *(() if room else ("status --check",))):
                ended = subprocess.run(_command(settings, command), capture_output=True, text=True, check=False)
                assert (ended.returncode, ended.stdout, ended.stderr[: len(said)]) == (2, "", said)
                assert ended.stderr.count("\n") == 1


def _command(settings: Settings, command: str) -> list[str]:
    places = ["--home", str(settings.home), "--sources", str(settings.sources)]
    return [sys.executable, "-m", "lightrag_dagster", *places, *command.split()]


@pytest.mark.long
def test_a_disk_that_cannot_be_written_is_named(small_disk: Path, tmp_path: Path) -> None:
    settings = load_settings(home=small_disk / "home", sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    first = published(settings)
    write_source(settings, "notes", {"river.md": FLOOD})
    _mount(small_disk, "-o", "remount,ro").check_returncode()

    with pytest.raises(LightRAGError, match=str(settings.home)):
        build(settings, graph=True)

    assert published(settings) == first
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.retrieve(QUESTION, mode="mix").entities
    _mount(small_disk, "-o", "remount,rw").check_returncode()
    build(settings, graph=True)
    assert published(settings) != first


def _failure(way: Way, settings: Settings) -> str | None:
    """Build, and return in one line why that failed; None when it did not."""
    try:
        outcome = way(settings)
    except LightRAGError as error:
        return str(error)
    return "; ".join(outcome.failed.values()) or None


@contextmanager
def _filled(disk: Path, kilobytes: int) -> Iterator[None]:
    """Leave only so many kilobytes free for a block."""
    ballast, state = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(b"\0" * max(0, state.f_bavail * state.f_frsize - kilobytes * 1024))
    try:
        yield
    finally:
        ballast.unlink()


def _mount(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["mount", *arguments, folder], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        return subprocess.CompletedProcess([], 1, "", one_line(missing))
