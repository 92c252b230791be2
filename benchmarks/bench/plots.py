"""The plots of the report, as SVG; matplotlib is a dependency of the benchmark alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench.cells import MEGABYTE, Rows, Value, cpu, p50, price, where, written
from benchmarks.bench.changes import DELETE, INDEX

_COLOURS = {"LightRAG": "#b5533c", "ours": "#2b6cb0"}
_LINES: dict[str, tuple[str, str, Value]] = {
    "lightrag-index.svg": ("Index: processor, seconds", INDEX, cpu),
    "lightrag-delete.svg": ("Delete one, by a command: processor, seconds", DELETE, cpu),
    "lightrag-written.svg": ("Index: megabytes written", INDEX, lambda row: written(row) / MEGABYTE),
    "lightrag-dollars.svg": ("Index: dollars", INDEX, price),
}
_MODES = "lightrag-questions.svg"


def plots(stored: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Write the plots into a folder, and return their titles by file.

    A plot over passages is left out unless there are two numbers of them.
    """
    rows, made = where(stored["operations"], latency=0.0, way="command"), dict[str, str]()
    for name, (title, operation, value) in _LINES.items():
        of_it = where(rows, operation=operation)
        if len({row["count"] for row in of_it}) > 1:
            _over_passages(of_it, title, value, folder / name)
            made[name] = title
    if asked := stored["questions"]:
        most = max(row["count"] for row in asked)
        made[_MODES] = f"Questions at {most} passages: p50, milliseconds"
        _by_mode(where(asked, count=most), made[_MODES], folder / _MODES)
    return made


def _over_passages(rows: Rows, title: str, value: Value, file: Path) -> None:
    counts = sorted({row["count"] for row in rows})
    with _axes(title, file) as axes:
        for system, colour in _COLOURS.items():
            medians = [_median(where(rows, system=system, count=count), value) for count in counts]
            axes.loglog(counts, medians, "o-", label=system, color=colour)
        axes.set_xlabel("passages")
        axes.set_xticks(counts, map(str, counts))
        axes.minorticks_off()


def _by_mode(rows: Rows, title: str, file: Path) -> None:
    modes = list(dict.fromkeys(row["mode"] for row in rows))
    places = np.arange(len(modes))
    with _axes(title, file) as axes:
        for side, (system, colour) in enumerate(_COLOURS.items()):
            times = [_median(where(rows, system=system, mode=mode), p50) for mode in modes]
            axes.bar(places + 0.4 * side, times, 0.4, label=system, color=colour)
        axes.set_xticks(places + 0.2, modes, rotation=30, ha="right")


@contextmanager
def _axes(title: str, file: Path) -> Iterator[Any]:
    """Yield the axes of a figure, which is written when the block ends."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    yield axes
    axes.set_title(title)
    axes.legend()
    figure.savefig(file, metadata={"Date": None})


def _median(rows: Rows, value: Value) -> float:
    return float(np.median([value(row) for row in rows])) if rows else float("nan")
