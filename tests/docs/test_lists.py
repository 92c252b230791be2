"""Lists in the pages that are written by hand have everything that the code has."""

import re

import pytest

from lightrag_dagster.query.modes import MODES
from lightrag_dagster.readers import FORMATS
from tests.docs.test_links import ROOT


@pytest.mark.parametrize("page", ["README.md", "docs/from-lightrag.md", "docs/querying.md"])
def test_a_list_of_modes_has_them_all(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert [mode for mode in MODES if f"`{mode}`" not in text] == []
    assert f"`{page}`" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_the_table_of_formats_has_them_all() -> None:
    text = (ROOT / "docs/sources.md").read_text("utf-8")
    table = text.partition("\n| suffix |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`(\.[a-z0-9]+)`", table)) == sorted(FORMATS)
