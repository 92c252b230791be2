"""Debian's Chromium, driven by Playwright, in which a page has no network."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WITHOUT_CARD = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""Draw by software; and a container has no sandbox of its own."""


def driver() -> Any:
    """Return what starts Playwright, or skip the tests with the command that installs what is missing."""
    if shutil.which("chromium") is None:
        pytest.skip("needs Debian's package: apt-get install -y chromium")
    return pytest.importorskip("playwright.sync_api", reason="needs: pip install playwright").sync_playwright()


@contextmanager
def launched(playwright: Any, *arguments: str) -> Iterator[Any]:
    """Start the browser."""
    path = shutil.which("chromium")
    browser = playwright.chromium.launch(executable_path=path, args=list(arguments or WITHOUT_CARD))
    try:
        yield browser
    finally:
        browser.close()


class Opened:
    """A page that was opened, with all that it asked for, said and did wrong."""

    def __init__(self, browser: Any, file: Path, **how: Any) -> None:
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | how))
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.route("**/*", self._routed)
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready][data-first-frame]", state="attached", timeout=60_000)

    def _routed(self, route: Any) -> None:
        self.asked.append(route.request.url)
        if route.request.url.startswith("file:") and len(self.asked) == 1:
            route.continue_()
        else:
            route.abort()

    def text(self, selector: str) -> str:
        found: str = self.page.inner_text(selector)
        return found

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        """Return the text, or the id, of what has the focus."""
        found: str = self.page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id")
        return found

    def until(self, expression: str, value: object) -> bool:
        """Wait until an expression has a value, at most ten seconds; the page forbids the driver's own wait."""
        for _ in range(100):
            if self.page.evaluate(expression) == value:
                return True
            self.page.wait_for_timeout(100)
        return False

    def rows(self) -> list[str]:
        found: list[str] = self.page.locator("#rows th button").all_inner_texts()
        return found

    def close(self) -> None:
        self.context.close()


@contextmanager
def opened(browser: Any, file: Path, fails: str = "", **how: Any) -> Iterator[Opened]:
    """Open a page, and check that it asked for nothing but itself and that nothing in it failed, but for one thing."""
    found = Opened(browser, file, **how)
    try:
        yield found
        assert found.asked == [file.as_uri()]
        assert all(fails and fails in one for one in found.faults), found.faults
    finally:
        found.close()
