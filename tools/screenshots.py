"""Take the screenshots of docs/images again: `python -m tools.screenshots`, from the root, in five minutes.

It needs a browser and programs that are not among those of the tests:

    apt install chromium pngquant
    .venv/bin/pip install create-dagster playwright
"""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot
from tests.assets.test_daemon import until
from tests.end_to_end.company import Company, Served
from tests.end_to_end.test_a_project import answer, unfinished
from tests.loopback import serving

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DOCUMENTS = {"contracts": ("board", "handbook", "incidents"), "manuals": ("field-notes", "feldberichte")}
DAYS = ("2026-01-01", "2026-01-02", "2026-01-05")
WIDTH = 1280


def main() -> None:
    """Build the project, let it have a night, and look at it."""
    with tempfile.TemporaryDirectory() as folder, serving() as provider:
        provider.chat = answer
        company = found(Path(folder), {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "none"})
        with company.serving() as served:
            until(lambda: served.ask("{ version }"), "the web server does not answer")
            have_a_night(company, served)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                for name, (path, height, prepare) in SHOTS.items():
                    page = browser.new_page(viewport={"width": WIDTH, "height": height})
                    page.goto(f"{served.address}{path}")
                    prepare(page)
                    page.wait_for_timeout(8000)  # for what the page still asks the server
                    page.screenshot(path=IMAGES / f"{name}.png")
                    page.close()
    files = [str(IMAGES / f"{name}.png") for name in SHOTS]
    subprocess.run(["pngquant", "--force", "--ext", ".png", "--quality", "60-90", *files], check=True)


def found(folder: Path, variables: dict[str, str]) -> Company:
    """Make the company's project with the sample documents."""
    company = Company(folder, variables)
    for name, sources in DOCUMENTS.items():
        company.add(name, "llm: {provider: openai, model: gpt-4o-mini}", "nightly: '* * * * *'")
        for source in sources:
            shutil.copytree(ROOT / "examples" / "sources" / source, company.root / "documents" / name / source)
    return company


def have_a_night(company: Company, served: Served) -> None:
    """Wait until both are published and reported, with a changed document in between for a second night."""
    for name in DOCUMENTS:
        served.start(f"{name}_nightly")
    until(lambda: all(published(company, name) for name in DOCUMENTS), "not all was published")
    company.run("dg", "launch", "--job", "contracts_report")
    company.write("contracts/handbook/office.md", "Orrin Instruments opened an office in Bergen.")
    before = published(company, "contracts")
    until(lambda: published(company, "contracts") != before, "the second night was not published")
    for day in DAYS:
        company.run("dg", "launch", "--assets", "briefing", "--partition", day)
    company.run("dg", "launch", "--job", "contracts_report")
    until(lambda: not unfinished(served), "runs do not end")


def published(company: Company, name: str) -> str | None:
    manifest = published_snapshot(Home(company.home(name)))
    whole = manifest is not None and set(manifest.inputs.sources) == set(DOCUMENTS[name])
    return manifest.snapshot_id if manifest and whole else None


def widen(page: Page) -> None:
    """Hide the navigation."""
    page.get_by_text("Hide navigation").click()


def see_costs(page: Page) -> None:
    """Show the end of the metadata."""
    widen(page)
    page.get_by_text("cost_usd_this_month").first.scroll_into_view_if_needed()


def see_plots(page: Page) -> None:
    """Show the plots of the metadata instead of its table."""
    widen(page)
    page.get_by_text("Plots", exact=True).first.click()
    page.get_by_text("cost_usd_this_month").first.scroll_into_view_if_needed()


SHOTS: dict[str, tuple[str, int, Callable[[Page], None]]] = {
    "lineage": ("/asset-groups", 560, widen),
    "partitions": ("/assets/contracts/raw_documents?view=partitions&partition=handbook", 720, widen),
    "runs": ("/runs", 720, widen),
    "report": ("/assets/contracts/status_report?view=overview", 900, see_costs),
    "costs": ("/assets/contracts/status_report?view=overview", 720, see_plots),
}
"""Path of the page, its height in pixels, and what to do before its picture is taken."""


if __name__ == "__main__":
    main()
