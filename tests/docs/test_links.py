"""Links of the pages lead somewhere, and the code that pages name is there."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "lightrag_dagster"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "examples/README.md",
        ROOT / "tests/offline/labelled/README.md",
    ]
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
IMPORT = re.compile(r"^\s*((?:from|import) lightrag_dagster\b.*)$", re.MULTILINE)


@cache
def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, text: str) -> list[str]:
    """Return the links in a text of this page that lead nowhere."""
    found = []
    for link in LINK.findall(re.sub("`[^`]*`", "", text)):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page, prose(page)) == []


def test_a_link_that_leads_nowhere_is_seen() -> None:
    page = ROOT / "README.md"
    text = "[a](docs/glossary.md) [b](docs/none.md) [c](docs/glossary.md#none) [d](#none) [e](https://none.example/#a)"
    assert broken(page, text) == ["docs/none.md", "docs/glossary.md#none", "#none"]


@pytest.mark.parametrize("folder", ["docs", "docs/measurements"])
def test_every_page_is_in_the_index_of_its_folder(folder: str) -> None:
    index = ROOT / folder / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(index))}
    assert sorted(page.name for page in index.parent.glob("*.md") if page not in {*linked, index}) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_modules_of_the_code_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w/.])([a-z_]+/[a-z_/]*[a-z]\.(?:py|sql))\b", text))
    named |= {f"{name.replace('.', '/')}.py" for name in re.findall(r"python -m (benchmarks\.\w+)", text)}
    assert sorted(name for name in named if not (ROOT / name).exists() and not (PACKAGE / name).exists()) == []


def test_no_page_for_users_imports_what_is_not_public() -> None:
    imported = {(page.name, line) for page in PAGES for line in IMPORT.findall(page.read_text(encoding="utf-8"))}
    assert imported
    public = ("from lightrag_dagster import ", "from lightrag_dagster.testing import ")
    assert sorted((page, line) for page, line in imported if not line.startswith(public)) == []
