"""The page in a real browser without network: search, clicks, evidence, filter, keyboard, darkness, a small screen."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.report.bounds import BOUNDS
from lightrag_dagster.report.page import page_of
from lightrag_dagster.report.writing import Report
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from tests.query.published import publish_sources
from tests.report.browser import driver, launched, opened
from tests.report.homes import report
from tests.report.poison import CANARIES, poisoned
from tests.support import FLOOD, OFFICE, RIVER, build, write_source

pytestmark = pytest.mark.long

NOTES = {"river.md": RIVER, "flood.txt": FLOOD}


@pytest.fixture(scope="module")
def playwright() -> Iterator[Any]:
    with driver() as found:
        yield found


@pytest.fixture(scope="module")
def browser(playwright: Any) -> Iterator[Any]:
    with launched(playwright) as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home of two sources, with a snapshot before."""
    folder = tmp_path_factory.mktemp("report")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"office.md": OFFICE})
    build(settings)
    write_source(settings, "notes", NOTES)
    build(settings)
    return Home.of(settings)


@pytest.fixture(scope="module")
def made(home: Home) -> Report:
    return report(home)


@pytest.fixture(scope="module")
def file(made: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("page") / "report.html"
    found.write_text(made.html)
    return found


def place_of(page: Any, node: int) -> tuple[float, float]:
    """Return where a node is drawn, in the window."""
    found = page.evaluate(
        f"""() => {{
            const box = document.getElementById("graph").getBoundingClientRect();
            const at = picture.graphToViewport(drawnGraph.getNodeAttributes("{node}"));
            return [box.x + at.x, box.y + at.y];
        }}"""
    )
    return found[0], found[1]


def test_search_a_row_its_evidence_and_a_neighbour(browser: Any, file: Path) -> None:
    with opened(browser, file) as seen:
        assert "Jonas Feld" in seen.rows()
        seen.page.fill("#search", "HALD")
        assert seen.rows()[0] == "Halden Weir"
        seen.page.fill("#search", "lindq")
        assert seen.rows() == ["Marta Lindqvist"]
        assert seen.text("#found").startswith("1 of ")
        seen.page.click("#rows button")
        panel = seen.text("#panel")
        assert panel.startswith("Marta Lindqvist")
        assert "Marta Lindqvist maintains the gauge at Halden Weir." in panel
        assert "notes · river.md" in panel
        assert seen.page.evaluate("[...nodesInFocus].length") > 1
        assert not seen.page.is_visible("#list")
        seen.page.click("#panel .neighbours button >> nth=0")
        assert not seen.text("#panel").startswith("Marta Lindqvist")
        seen.page.click("#panel .close")
        assert seen.page.is_visible("#list")
        assert seen.page.evaluate("nodeInFocus") is None


def test_a_click_on_a_node_shows_its_evidence(browser: Any, file: Path, made: Report) -> None:
    with opened(browser, file) as seen:
        number = made.data["entities"]["name"].index("Jonas Feld")
        seen.page.mouse.click(*place_of(seen.page, number))
        seen.page.wait_for_selector("#panel h2")
        panel = seen.text("#panel")
        assert panel.startswith("Jonas Feld")
        assert "Evidence, newest first" in panel
        assert "Jonas Feld leads the office." in panel
        assert seen.page.evaluate("nodeInFocus") == str(number)


def test_the_filter_of_sources_hides_entities_relations_and_quotes(browser: Any, file: Path) -> None:
    with opened(browser, file) as seen:
        everything = seen.rows()
        assert "Halden Weir" in everything
        seen.page.click("#rows button:text-is('Jonas Feld')")
        before = seen.page.locator("#panel blockquote").all_inner_texts()
        seen.page.uncheck("#sources label:has-text('notes') input")
        after = seen.page.locator("#panel blockquote").all_inner_texts()
        assert set(after) < set(before)
        assert not [one for one in seen.page.locator("figcaption").all_inner_texts() if "notes" in one]
        assert "quotes are of sources that are not chosen" in seen.text("#panel")
        seen.page.click("#panel .close")
        left = seen.rows()
        assert "Halden Weir" not in left
        assert "Jonas Feld" in left
        assert set(left) < set(everything)
        seen.page.check("#sources label:has-text('notes') input")
        assert seen.rows() == everything
        assert "A view, not protection" in seen.text("#filters")


def test_all_of_it_by_keyboard(browser: Any, file: Path) -> None:
    with opened(browser, file) as seen:
        seen.press("Tab")
        assert seen.focused() == "To the search"
        seen.press("Enter")
        seen.page.keyboard.type("jonas")
        seen.press("Enter")
        assert seen.text("#panel").startswith("Jonas Feld")
        assert seen.focused() == "Jonas Feld", "the heading of what was chosen"
        seen.press("Tab")
        assert seen.focused() == "Close"
        seen.press("Tab", "Enter")
        assert not seen.text("#panel").startswith("Jonas Feld")
        seen.press("Escape")
        assert seen.page.is_visible("#list")
        seen.page.fill("#search", "")
        seen.press("ArrowDown", "ArrowDown")
        assert seen.focused() == seen.rows()[1]
        seen.press("ArrowUp", "ArrowUp")
        assert seen.focused() == "search"
        visited = list[str]()
        for _ in range(60):
            seen.press("Tab")
            visited.append(seen.focused())
        assert any(one.startswith("Documents:") for one in visited)
        seen.page.focus("#graph")
        before = seen.page.evaluate("picture.getCamera().getState()")
        seen.press("ArrowRight", "+")
        seen.page.wait_for_timeout(400)
        after = seen.page.evaluate("picture.getCamera().getState()")
        assert after["x"] > before["x"]
        assert after["ratio"] < before["ratio"]
        outline = seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", "what has the focus is to be seen"


def test_the_table_is_sorted_by_each_column(browser: Any, file: Path) -> None:
    with opened(browser, file) as seen:
        seen.page.click("#columns button:has-text('Name')")
        assert seen.rows() == sorted(seen.rows(), key=str.lower)
        assert seen.page.get_attribute("#columns th >> nth=0", "aria-sort") == "ascending"
        seen.page.click("#columns button:has-text('Name')")
        assert seen.rows() == sorted(seen.rows(), key=str.lower, reverse=True)
        seen.page.click("#columns button:has-text('Passages')")
        counts = [int(one) for one in seen.page.locator("#rows td:last-child").all_inner_texts()]
        assert counts == sorted(counts, reverse=True)


def test_changes_and_what_was_left_out(browser: Any, file: Path) -> None:
    with opened(browser, file) as seen:
        assert "Documents: 1 added" in seen.text("#changes")
        seen.page.click("#changes summary:has-text('Documents')")
        seen.page.wait_for_selector("#changes .changed:has-text('notes/flood.txt')")
        seen.page.click("#changes summary:has-text('Entities')")
        seen.page.click("#changes .changed button:text-is('Priya Nair')")
        assert seen.text("#panel").startswith("Priya Nair")
        assert seen.text("#left-out") == "nothing"
        assert "no filter holds for it, so protect it like the home" in seen.text("#about")
        seen.page.uncheck("#sources label:has-text('notes') input")
        seen.page.click("#changes .changed button:text-is('Priya Nair')")
        seen.page.wait_for_timeout(600)  # a move to a hidden node would have ended
        assert seen.page.evaluate("Object.values(picture.getCamera().getState()).every(Number.isFinite)")


def test_dark_mode_and_a_change_to_it(browser: Any, file: Path) -> None:
    with opened(browser, file, color_scheme="dark") as seen:
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        assert seen.page.evaluate(ground) == "rgb(22, 24, 29)"
        assert seen.page.evaluate("picture.getSetting('labelColor').color") == "#e8eaed"
        seen.page.emulate_media(color_scheme="light")
        assert seen.until(ground, "rgb(255, 255, 255)")
        assert seen.until("picture.getSetting('labelColor').color", "#1c2127")


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_is_wider_than_the_screen(browser: Any, file: Path, width: int) -> None:
    with opened(browser, file, viewport={"width": width, "height": 740}) as seen:
        wide = "document.documentElement.scrollWidth"
        assert seen.page.evaluate(wide) <= width
        seen.page.fill("#search", "jonas")
        seen.page.click("#rows button")
        assert seen.page.evaluate(wide) <= width
        for summary in seen.page.locator("summary").all():
            summary.click()
        assert seen.page.evaluate(wide) <= width


def test_canaries_in_every_field_never_run(browser: Any, made: Report, tmp_path: Path) -> None:
    file = tmp_path / "poisoned.html"
    file.write_text(page_of(CANARIES[0], poisoned(made.data)))
    with opened(browser, file) as seen:
        assert CANARIES[0] in seen.text("h1")
        for row in range(len(seen.rows())):
            seen.page.click(f"#rows button >> nth={row}")
            assert seen.page.locator("#panel figure").count()
            seen.press("Escape")
        for summary in seen.page.locator("summary").all():
            summary.click()
        assert seen.page.evaluate("window.hit") is None
        assert seen.page.locator("a").count() == 1, "none but that to the search"
        assert seen.page.locator("main img, main svg, main iframe").count() == 0


def test_a_path_of_the_web_alone_is_a_link(browser: Any, made: Report, tmp_path: Path) -> None:
    paths = ["https://river.example/a?b=<c>", "javascript:window.hit=1", "data:text/html,<script>window.hit=1</script>"]
    data = {**made.data, "documents": {**made.data["documents"]}}
    data["documents"]["path"] = [*paths, *data["documents"]["path"]][: len(data["documents"]["path"])]
    file = tmp_path / "links.html"
    file.write_text(page_of("Links", data))
    with opened(browser, file) as seen:
        found = set()
        for row in range(len(seen.rows())):
            seen.page.click(f"#rows button >> nth={row}")
            for link in seen.page.locator("#panel a").all():
                found.add((link.get_attribute("href"), link.get_attribute("rel")))
            seen.press("Escape")
        assert found == {(paths[0], "noopener noreferrer")}
        assert seen.page.evaluate(f"placeOf('{paths[0]}…').tagName") == "SPAN", "a path that is cut leads elsewhere"


def test_documents_with_hostile_names_and_texts(browser: Any, tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    names = ["<img src=x onerror=window.hit=1>.md", "javascript:window.hit=1;.md"]
    publish_sources(settings, {"notes": dict.fromkeys(names, f"{RIVER} Jonas Feld wrote {CANARIES[1]} here.")})
    file = tmp_path / "hostile.html"
    file.write_text(report(Home.of(settings)).html)
    with opened(browser, file) as seen:
        for row in range(len(seen.rows())):
            seen.page.click(f"#rows button >> nth={row}")
            assert "window.hit=1" in seen.text("#panel")
            seen.press("Escape")
        assert seen.page.evaluate("window.hit") is None


def test_communities_are_nodes_and_list_their_members(browser: Any, home: Home, tmp_path: Path) -> None:
    found = report(home, bounds=replace(BOUNDS, entities=4))
    file = tmp_path / "communities.html"
    file.write_text(found.html)
    with opened(browser, file) as seen:
        seen.page.mouse.click(*place_of(seen.page, 0))
        seen.page.wait_for_selector("#panel h2")
        panel = seen.text("#panel")
        assert f"entities: {found.data['drawn']['size'][0]}" in panel
        members = found.data["drawn"]["members"][0]
        assert [found.data["entities"]["name"][one] in panel for one in members] == [True] * len(members)
        seen.press("Escape")
        seen.page.click("#rows button >> nth=0")
        assert seen.page.evaluate("nodeInFocus") == str(found.data["drawn"]["node_of"][0])
        assert "nodes are communities" in seen.text("#left-out")


def test_without_webgl_the_table_still_works(playwright: Any, file: Path) -> None:
    with (
        launched(playwright, "--no-sandbox", "--disable-gpu", "--disable-3d-apis") as browser,
        # By sigma, as it is read.
        opened(browser, file, fails="reading 'getParameter'") as seen,
    ):
        assert seen.page.get_attribute("html", "data-first-frame") == "none"
        assert "draws no WebGL" in seen.text("#no-picture")
        seen.page.fill("#search", "jonas")
        seen.press("Enter")
        assert seen.text("#panel").startswith("Jonas Feld")
