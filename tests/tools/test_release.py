"""The README as an index shows it."""

import re

import pytest

from tools.release import ROOT, readme_for_index

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
