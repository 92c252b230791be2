"""Functions that a part of `pipeline` still calls; `Files` is what they lead to."""

from collections.abc import Sequence
from pathlib import Path

from lightrag_dagster.storage.files.files import Files
from lightrag_dagster.storage.home import Home


def refresh(home: Home) -> None:
    """See `Files.refresh`."""
    Files(home).refresh()


def fetch(home: Home, paths: Sequence[Path]) -> None:
    """See `Files.open`."""
    Files(home).open(paths)


def fetch_folder(home: Home, folder: Path) -> None:
    """See `Files.open_folder`."""
    Files(home).open_folder(folder)


def upload(home: Home, paths: Sequence[Path]) -> None:
    """See `Files.keep`."""
    Files(home).keep(paths)


def count_rows(home: Home, paths: Sequence[Path]) -> int:
    """See `Files.count_rows`."""
    return Files(home).count_rows(paths)
