"""Temporary folders, of which the next one removes those that killed processes have left."""

import fcntl
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lightrag_dagster.errors import StoreError

_NEW_SECONDS = 60.0
"""A folder that was made so recently may not be held yet."""

_OURS = ".temporary"
"""The end of each name: what people name otherwise is theirs."""

_log = logging.getLogger(__name__)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Give a folder for the block, after those with the same prefix are removed whose processes have ended.

    Raises:
        StoreError: no folder for temporary files can be written.
    """
    try:
        folder, process = Path(tempfile.mkdtemp(_OURS, prefix)), os.getpid()
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError(f"no folder for temporary files can be written: {why}; set TMPDIR to one with room") from error
    try:
        with _held(folder):
            for leftover in folder.parent.glob(f"{prefix}*{_OURS}"):
                try:
                    if time.time() - leftover.stat().st_mtime > _NEW_SECONDS:
                        with _held(leftover):
                            shutil.rmtree(leftover)
                except OSError as error:  # it is held, or another user's
                    _log.info("%s stays: %s", leftover, error)
            yield folder
    finally:
        if os.getpid() == process:  # else it is that of the process which this one was forked from
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process; raises OSError while another holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)  # a pipe would wait for a writer
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
