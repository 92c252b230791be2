"""Lists in the pages that are written by hand have everything that the code has, and commands of pages can work."""

import re
import tomllib
from pathlib import Path

import pytest

from lightrag_dagster.query.mode import MODES
from lightrag_dagster.readers.formats import FORMATS
from tests.docs.test_links import PAGES, ROOT


@pytest.mark.parametrize("page", ["README.md", "docs/from-lightrag.md", "docs/querying.md"])
def test_a_list_of_modes_has_them_all(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert [mode for mode in MODES if f"`{mode}`" not in text] == []
    assert f"`{page}`" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_the_table_of_formats_has_them_all() -> None:
    text = (ROOT / "docs/sources.md").read_text("utf-8")
    table = text.partition("\n| suffix |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`(\.[a-z0-9]+)`", table)) == sorted(FORMATS)


@pytest.mark.parametrize("page", [page for page in PAGES if page != ROOT / "README.md"], ids=lambda page: page.name)
def test_a_page_installs_the_package_from_a_clone(page: Path) -> None:
    """The package is on no index; README says where its name is enough."""
    text = page.read_text("utf-8")
    assert re.findall(r"pip install \S*lightrag[-_]dagster\S*", text) == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = re.findall(r"pip install '/path/to/clone\[([a-z,]+)\]'", text)
    assert {extra for one in named for extra in one.split(",")} <= set(extras)
