"""The README as an index shows it, and the pages as a package has them."""

import os
import re
from pathlib import Path

import pytest

from tests.docs.test_links import LINK, prose
from tools.release import ROOT, page_for_package, readme_for_index

TEXT = (
    "See [the docs](docs/README.md#run), [below](#here) and [elsewhere](https://example.org/a).\n\n"
    "![A picture](docs/a.png)\n\nEnd."
)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (
            "https://example.org/o/n",
            "See [the docs](https://example.org/o/n/blob/v1.2/docs/README.md#run), [below](#here) and "
            "[elsewhere](https://example.org/a).\n\n![A picture](https://example.org/o/n/raw/v1.2/docs/a.png)\n\nEnd.",
        ),
        ("", "See the docs, below and [elsewhere](https://example.org/a).\n\nEnd."),
    ],
)
def test_links_and_pictures_hold_elsewhere(address: str, expected: str) -> None:
    assert readme_for_index(TEXT, address, "1.2") == expected


@pytest.mark.parametrize("address", ["", "https://example.org/o/n"])
def test_no_link_of_the_readme_is_left_behind(address: str) -> None:
    text = readme_for_index((ROOT / "README.md").read_text(encoding="utf-8"), address, "1.2")
    assert [link for link in re.findall(r"\]\(([^)]+)\)", text) if not re.match(r"\w+:|#", link)] == []
    assert ("![" in text) == bool(address)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://example.org/o/n", "[a](b.md), [c\nd](https://example.org/o/n/blob/v1.2/README.md#install)"),
        ("", "[a](b.md), c\nd"),
    ],
)
def test_a_page_of_the_package_needs_no_clone(address: str, expected: str) -> None:
    text = "<!-- clone -->\nmake\n<!-- /clone -->\n'/path/to/clone[ui]': [a](b.md), [c\nd](../README.md#install)"
    assert page_for_package(text, address, "1.2") == f"'lightrag-dagster[ui]': {expected}"


def test_no_page_of_the_package_speaks_of_a_clone_or_leads_out_of_it() -> None:
    package = ROOT / "lightrag_dagster"
    for page in sorted((package / "docs").rglob("*.md")):
        text = page_for_package(re.sub("`[^`]*`", "", prose(page)), "", "1.2")
        found = [link.partition("#")[0] for link in LINK.findall(text) if not re.match(r"\w+:|#", link)]
        assert [link for link in found if not Path(os.path.normpath(page.parent / link)).exists()] == [], page
    index = page_for_package((ROOT / "README.md").read_text("utf-8"), "", "1.2")
    assert [word for word in ("<!--", "no index", "/path/to/clone", "make demo ") if word in index] == []
