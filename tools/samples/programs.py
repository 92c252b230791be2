"""Programs that write samples, and what all of these say."""

import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parents[2] / "tests/readers/samples"
WRITTEN = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)

ROWS = [
    ("Station", "Level (m)", "Read"),
    ("Steinhag", 1.42, WRITTEN.replace(tzinfo=None)),
    ("Corley | weir", 0.97, None),
]


def run(*command: str) -> None:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(int(WRITTEN.timestamp())), "LC_ALL": "C.UTF-8"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def pandoc(text: str, to: Path, *options: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "story.md"
        source.write_text(text, encoding="utf-8")
        run("pandoc", "--standalone", str(source), "-o", str(to), *options)


def office(source: Path, to: Path, filter_name: str = "") -> None:
    """Convert by LibreOffice."""
    with tempfile.TemporaryDirectory() as folder:
        kind = to.suffix[1:] + (f":{filter_name}" if filter_name else "")
        run("soffice", "--headless", "--convert-to", kind, "--outdir", folder, str(source))
        shutil.move(Path(folder) / source.with_suffix(to.suffix).name, to)
