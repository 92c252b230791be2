"""What takes seconds to make is made by the first worker that needs it, for all of them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder of all workers of this session."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder with what a function makes in an empty one; to be copied, since other workers copy it too."""
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            begun = folder.with_name(f"{folder.name}.begun")
            shutil.rmtree(begun, ignore_errors=True)  # of a worker whose fixture failed
            begun.mkdir()
            make(begun)
            begun.rename(folder)
    return folder
