"""How much of the wanted text of web pages is read, and how much of the unwanted, over labelled pages.

    python -m benchmarks.pages TRAFILATURA/tests
    python -m benchmarks.pages TRAFILATURA/tests --write before.json      # then, with other code:
    python -m benchmarks.pages TRAFILATURA/tests --before before.json

The folder is `tests` of a checkout of trafilatura (https://github.com/adbar/trafilatura), which is in no distribution:
`evaldata.json` names passages of each page that a reader should keep (`with`) and leave out (`without`), and `cache`
and `eval` have the pages. Printed are the shares of both, the time, and each page of which nothing wanted is kept.
"""

import argparse
import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lightrag_dagster.core.text.sanitise import sanitise
from lightrag_dagster.readers.extraction import extract_text

_MARKS = re.compile(r"[*`|\\\[\]]|^ *(?:#+|[-+>]|\d+\.) ", re.MULTILINE)


@dataclass
class Result:
    """What was read of all pages: counts of passages, seconds, lost words, and each page's kept passages."""

    wanted: int = 0
    wanted_read: int = 0
    unwanted: int = 0
    unwanted_read: int = 0
    seconds: float = 0.0
    words: int = 0
    lost: int = 0
    pages: dict[str, list[str]] = field(default_factory=dict)
    emptied: list[str] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)


def measure(folder: Path) -> Result:
    """Read every labelled page of a folder and look for its passages."""
    result = Result()
    labels: Mapping[str, Mapping[str, Any]] = json.loads((folder / "evaldata.json").read_text("utf-8"))
    for label in labels.values():
        name = label["file"]
        path = next(path for place in ("cache", "eval") if (path := folder / place / name).is_file())
        data = path.read_bytes()
        started = time.process_time()
        try:
            read = extract_text(data, name)
        except ValueError:
            read = None
        result.slowest[name] = time.process_time() - started
        text = _plain(read.text if read else "")
        wanted = [passage for passage in label["with"] if _plain(passage) in text]
        unwanted = [passage for passage in label["without"] if _plain(passage) in text]
        result.wanted += len(label["with"])
        result.wanted_read += len(wanted)
        result.unwanted += len(label["without"])
        result.unwanted_read += len(unwanted)
        result.pages[name] = [*wanted, *(f"unwanted: {passage}" for passage in unwanted)]
        result.emptied += [] if wanted else [name]
        if read and read.losses:
            result.words += read.losses.words
            result.lost += read.losses.lost
    result.seconds = sum(result.slowest.values())
    return result


def _plain(text: str) -> str:
    """Return a text without marks of Markdown, in which its passages may be found."""
    return " ".join(_MARKS.sub("", sanitise(text)).split())


def _print(title: str, result: Result) -> None:
    wanted, unwanted = result.wanted_read / result.wanted, result.unwanted_read / result.unwanted
    print(f"{title}: {result.wanted_read:,} of {result.wanted:,} wanted passages ({wanted:.1%}), ", end="")
    print(f"{result.unwanted_read:,} of {result.unwanted:,} unwanted ({unwanted:.1%}), ", end="")
    print(f"{result.seconds / len(result.pages):.3f} s a page, ", end="")
    print(f"{result.lost:,} of {result.words:,} words lost")
    print(f"  pages that lose everything wanted: {', '.join(result.emptied) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path, help="keep the result in a file")
    parser.add_argument("--before", type=Path, help="compare with a result that was kept")
    arguments = parser.parse_args()
    result = measure(arguments.folder)
    if arguments.write:
        arguments.write.write_text(json.dumps(asdict(result), ensure_ascii=False), "utf-8")
    if arguments.before:
        before = Result(**json.loads(arguments.before.read_text("utf-8")))
        _print("before", before)
        for name, kept in result.pages.items():
            earlier = before.pages[name]
            for sign, passages in (("-", set(earlier) - set(kept)), ("+", set(kept) - set(earlier))):
                for passage in sorted(passages):
                    print(f"  {sign} {name}: {_plain(passage)[:100]}")
        ratios = {name: seconds / max(before.slowest[name], 0.02) for name, seconds in result.slowest.items()}
        slower = sorted((ratio, name) for name, ratio in ratios.items())[-5:]
        print("  slowest against before:", ", ".join(f"{name} {ratio:.1f} x" for ratio, name in reversed(slower)))
    _print("now", result)


if __name__ == "__main__":
    main()
