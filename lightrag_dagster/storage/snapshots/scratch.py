"""Files that the steps of some work hand on to each other, where each step may run in another process.

If all processes share a disk they are in a folder of it. If they share only a bucket, the files lie below
`scratch/` in it, and each process has a folder in its cache: a step fetches what it reads and uploads what it wrote.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files.atomic import disk_errors
from lightrag_dagster.storage.files.bucket import BucketFiles
from lightrag_dagster.storage.files.cache import is_claimed
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import generations


@dataclass(frozen=True)
class SharedFolder:
    """Scratch on a disk that all processes share."""

    folder: Path
    """The folder in which this process reads and writes the files."""

    def inputs(self, paths: Iterable[Path]) -> list[Path]:
        """Return where this process reads files of the home, given their paths in the process that began the work."""
        return list(paths)

    def files(self, name: str) -> list[Path]:
        """Return the files in a sub-folder, of all processes; a step may have to fetch them first."""
        return sorted(path for path in (self.folder / name).glob("*") if path.is_file())

    @contextmanager
    def step(self, reads: Sequence[Path]) -> Iterator[None]:
        """Have the files that a step reads in the folder for the block, and pass on what it wrote after it.

        Raises:
            StoreError: the disk or the bucket refuses, or a file is gone.
        """
        yield


@dataclass(frozen=True)
class BucketScratch:
    """Scratch in a bucket; `home` is that of the process which began the work, without its database.

    A process works on one step at a time.
    """

    home: Home
    name: str

    @property
    def folder(self) -> Path:
        """See `SharedFolder.folder`."""
        return self._here.scratch / self.name

    @property
    def _here(self) -> Home:
        """The home as this process knows it."""
        assert self.home.bucket is not None
        return self.home if is_claimed(self.home.root) else Home.of_worker(self.home.bucket)

    def inputs(self, paths: Iterable[Path]) -> list[Path]:
        """See `SharedFolder.inputs`; they are fetched. Raises StoreError."""
        here = self._here
        return here.files.open(here.root / path.relative_to(self.home.root) for path in paths)

    def files(self, name: str) -> list[Path]:
        """See `SharedFolder.files`; raises StoreError."""
        return sorted(self._here.files.list_folder(self.folder / name))

    @contextmanager
    def step(self, reads: Sequence[Path]) -> Iterator[None]:
        """See `SharedFolder.step`."""
        here, folder = self._here, self.folder
        assert isinstance(here.files, BucketFiles)
        mirror = here.files.mirror
        with disk_errors(f"the cache {folder}"):
            _clear(folder, mirror.held(reads))
        for path in here.files.open(reads):
            if not path.exists():
                gone = f"{here.name}/{mirror.name(path)}"
                raise StoreError(f"{gone} is gone; another builder may have started meanwhile; run again")
        yield
        files = [path for path in folder.rglob("*") if path.is_file()]
        held = mirror.held(files)
        mirror.upload([path for path in files if path not in held])


Scratch = SharedFolder | BucketScratch
"""The files of some work; pickled, it leads to the same files in another process."""


@contextmanager
def open_scratch(home: Home, *, shares_disk: bool) -> Iterator[Scratch]:
    """Give scratch that is empty, and removed after the block; call it while holding the builder's lock.

    Args:
        home: The home in which the work is done.
        shares_disk: All processes that work see the disk of this one.

    Raises:
        StoreError: the disk or the bucket refuses.
    """
    if shares_disk or home.bucket is None:
        with generations.scratch_folder(home) as folder:
            yield SharedFolder(folder)
        return
    scratch = BucketScratch(home.for_worker(), uuid4().hex)
    try:
        yield scratch
    finally:
        with suppress(StoreError):  # the next builder removes it
            home.files.remove_folder(scratch.folder)


def _clear(folder: Path, kept: set[Path]) -> None:
    """Remove from a process's folder what other steps and other work left there."""
    for other in folder.parent.glob("*"):
        if other != folder:
            shutil.rmtree(other)
    for path in list(folder.rglob("*")):
        if path.is_file() and path not in kept:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
