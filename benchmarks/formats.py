"""How fast each format with a parser is read, by that alone and as a run reads it, in a process of its own.

    python -m benchmarks.formats tests/readers/samples
    python -m benchmarks.formats FOLDER --seconds 5

The files of each suffix in a folder are read over and over for some seconds. Printed are files a second, megabytes of
files a second and, for formats that have them, pages, slides or sheets a second.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.readers.content import Limits, ReadingOptions
from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.formats import FORMATS
from lightrag_dagster.readers.isolation import extract_isolated
from lightrag_dagster.settings import DocumentSettings

WIDTHS = (7, 17, 8, 10, 20, 10)

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


def _line(suffix: str, cells: Sequence[str]) -> str:
    return f"{suffix:8}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each format and each way of reading")
    arguments = parser.parse_args()
    settings = DocumentSettings()
    options, limits = ReadingOptions(), Limits(settings.max_seconds, settings.max_memory_mb)
    print(_line("", ("files", "alone: files/s", "MB/s", "pages/s", "in a run: files/s", "pages/s")))
    for suffix, found in FORMATS.items():
        files = {path: path.read_bytes() for path in sorted(arguments.folder.glob(f"*{suffix}"))}
        if not files or not found.isolated:
            continue
        alone = speed(files, extract_text, arguments.seconds)
        run = speed(files, lambda data, name: extract_isolated(data, name, options, limits), arguments.seconds)
        numbers = (alone.files, alone.megabytes, alone.pages, run.files, run.pages)
        cells = [
            f"{len(files)}",
            *(f"{number:.{places}f}" for number, places in zip(numbers, (0, 1, 0, 0, 0), strict=True)),
        ]
        print(_line(suffix, cells), flush=True)


if __name__ == "__main__":
    main()
