"""The machine that a benchmark ran on, and how busy others kept it meanwhile."""

import os
import platform
import resource
import time
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)
"""Columns of /proc/stat in which nothing ran: idle, and waiting for a disk."""


def machine(folder: Path) -> dict[str, Any]:
    """Return what times depend on; homes are in `folder`."""
    return {
        "processors": len(os.sched_getaffinity(0)),
        "model": _processor(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "file_system": _file_system(folder),
    }


class Others:
    """The processors' time that other programs take from now on."""

    def __init__(self) -> None:
        self._started, self._busy, self._own = time.perf_counter(), _busy(), _own()

    def processors(self) -> float:
        """Return how many processors they kept busy on average; 0.1 of two is next to nothing."""
        seconds = time.perf_counter() - self._started
        return max(0.0, (_busy() - self._busy) - (_own() - self._own)) / seconds


def _busy() -> float:
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    return sum(int(ticks) for place, ticks in enumerate(fields) if place not in _IDLE) / _TICKS


def _own() -> float:
    """Return the processor's time of this process and of those it waited for."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in each)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _file_system(folder: Path) -> str:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [(mount[1], mount[2]) for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    return max(holding, key=lambda mount: len(mount[0]))[1]
