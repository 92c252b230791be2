"""How fast each format with a parser is read, by that alone and as a run reads it, in a process of its own.

    python -m benchmarks.formats tests/readers/samples
    python -m benchmarks.formats FOLDER --seconds 5
    python -m benchmarks.formats FOLDER --losses

The files of each suffix in a folder are read over and over for some seconds. Printed are files a second, megabytes of
files a second and, for formats that have them, pages, slides or sheets a second. With `--losses`, the files of a folder
and those below it are read once, and printed are seconds of the processor, and how many the check for lost words takes.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.readers.content import Limits, ReadingOptions
from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.formats import FORMATS
from lightrag_dagster.readers.isolation import extract_isolated
from lightrag_dagster.readers.losses import find_losses
from lightrag_dagster.settings import DocumentSettings

WIDTHS = (7, 17, 8, 10, 20, 10)
_LOSSES = (7, 10, 10, 9)

Read = Callable[[bytes, str], ExtractedText]


class Speed(NamedTuple):
    """Files, megabytes and pages a second."""

    files: float
    megabytes: float
    pages: float


def speed(files: dict[Path, bytes], read: Read, seconds: float) -> Speed:
    """Read files over and over; what is imported or started with the first ones is not counted."""
    for path, data in files.items():
        read(data, path.name)
    count = size = pages = 0
    started = time.perf_counter()
    for path, data in itertools.cycle(files.items()):
        pages += len(read(data, path.name).pages)
        count, size = count + 1, size + len(data)
        if (took := time.perf_counter() - started) >= seconds:
            break
    return Speed(count / took, size / took / 1e6, pages / took)


def check_seconds(paths: Iterable[Path]) -> tuple[float, float]:
    """Return the seconds that reading files takes, and those of them that the check for lost words takes."""
    total = check = 0.0
    for path in paths:
        data, found = path.read_bytes(), FORMATS[path.suffix.lower()]
        with suppress(Exception):  # a file that cannot be read, or not compared
            started = time.process_time()
            extract_text(data, path.name)
            total += time.process_time() - started
            content = found.read(data)
            parts = [content.text] if isinstance(content.text, str) else content.text
            started = time.process_time()
            find_losses(found.words(data) if found.words else (), (*parts, *content.left_out))
            check += time.process_time() - started
    return total, check


def _print_losses(folder: Path) -> None:
    print(_line("", ("files", "seconds", "check", "share"), _LOSSES))
    sums = [0.0, 0.0]
    for suffix, found in FORMATS.items():
        paths = [path for path in sorted(folder.rglob(f"*{suffix}")) if path.is_file()] if found.words else []
        check_seconds(paths[:1])  # what is imported with it is not counted
        total, check = check_seconds(paths)
        sums = [sums[0] + total, sums[1] + check]
        if paths:
            print(_line(suffix, (f"{len(paths)}", f"{total:.2f}", f"{check:.2f}", f"{check / total:.1%}"), _LOSSES))
    print(_line("all", ("", f"{sums[0]:.2f}", f"{sums[1]:.2f}", f"{sums[1] / sums[0]:.1%}"), _LOSSES))


def _line(suffix: str, cells: Sequence[str], widths: Sequence[int] = WIDTHS) -> str:
    return f"{suffix:8}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _print_speeds(folder: Path, seconds: float) -> None:
    settings = DocumentSettings()
    options, limits = ReadingOptions(), Limits(settings.max_seconds, settings.max_memory_mb)
    print(_line("", ("files", "alone: files/s", "MB/s", "pages/s", "in a run: files/s", "pages/s")))
    for suffix, found in FORMATS.items():
        files = {path: path.read_bytes() for path in sorted(folder.glob(f"*{suffix}"))}
        if not files or not found.isolated:
            continue
        alone = speed(files, extract_text, seconds)
        run = speed(files, lambda data, name: extract_isolated(data, name, options, limits), seconds)
        numbers = (alone.files, alone.megabytes, alone.pages, run.files, run.pages)
        cells = [
            f"{len(files)}",
            *(f"{number:.{places}f}" for number, places in zip(numbers, (0, 1, 0, 0, 0), strict=True)),
        ]
        print(_line(suffix, cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each format and each way of reading")
    parser.add_argument("--losses", action="store_true", help="the share of the check for lost words")
    arguments = parser.parse_args()
    if arguments.losses:
        _print_losses(arguments.folder)
    else:
        _print_speeds(arguments.folder, arguments.seconds)


if __name__ == "__main__":
    main()
