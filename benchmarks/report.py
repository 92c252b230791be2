"""How long a report takes to write, its size, and when its first frame is there in Chromium without a graphics card.

    apt-get install -y chromium
    pip install playwright
    python -m benchmarks.report HOME --count 2500

HOME is made from made-up passages unless it is there, with the rules, without a model. They name fewer new things than
those of `benchmarks.passages` do by default, so that about 10,000 entities have 30,000 relations. Prints seconds of the
writer, bytes, and of some openings of the file the milliseconds from its navigation until the picture was painted, and
until search was there; each in a new browser, with two processors if the machine has no more.
"""

import argparse
import shutil
import statistics
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import passages
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.report.writing import Report, report_of
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home

NEW_SHARE = 0.33
WITHOUT_CARD = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--count", type=int, default=2500, help="passages of a new home")
    parser.add_argument("--times", type=int, default=5, help="openings in the browser")
    parser.add_argument("--out", type=Path, default=Path("report.html"))
    given = parser.parse_args()
    if not given.home.exists():
        build(given.home, given.count)
    report, seconds = timed(given.home)
    given.out.write_text(report.html, encoding="utf-8")
    print({**report.contents.figures, "drawn": report.data["drawn"]["kind"]})
    print(f"written in {seconds:.1f} s, {given.out.stat().st_size:,} bytes")
    for note in report.notes:
        print(f"note: {note}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = [opened(driver, given.out.resolve()) for _ in range(given.times)]
    for name in ("firstFrame", "ready"):
        times = sorted(int(one[name]) for one in found)
        print(f"{name}: median {statistics.median(times):,.0f} ms, {times[0]:,} to {times[-1]:,} ms")


def build(home: Path, count: int) -> None:
    """Write passages beside a home and publish them."""
    from tests.support import build as run

    passages.NEW_SHARE = NEW_SHARE
    sources = home.with_name(f"{home.name}-sources")
    passages.write_sources(sources, count, seed=0, sources=3)
    run(load_settings(home=home, sources=sources))


def timed(home: Path) -> tuple[Report, float]:
    started = time.perf_counter()
    with closing(open_snapshot(Home(home), None)) as snapshot:
        report = report_of(snapshot)
        report.html  # noqa: B018 - composed anew each time, and part of the work
    return report, time.perf_counter() - started


def opened(driver: Any, file: Path) -> dict[str, str]:
    """Return the times that the page wrote down."""
    browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=WITHOUT_CARD)
    try:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready][data-first-frame]", state="attached", timeout=120_000)
        found: dict[str, str] = page.evaluate("({...document.documentElement.dataset})")
        return found
    finally:
        browser.close()


if __name__ == "__main__":
    main()
