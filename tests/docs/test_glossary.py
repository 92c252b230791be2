"""The glossary: each of its words is in another page, and a word that was given up is nowhere."""

import re

import pytest

from tests.docs.test_links import PACKAGE, PAGES, ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
HISTORY = ROOT / "CHANGELOG.md"

GIVEN_UP = {
    "fingerprint": "recipe, key or hash",
    "latest snapshot": "newest snapshot",
    "current snapshot": "published snapshot",
    "retained": "kept",
    "let go": "removed",
    "grace period": "the time `retention.grace_days`",
}
"""A word that is not used any more → what is said in its place."""


def words() -> list[str]:
    """Return the words of the glossary."""
    return re.findall(r"\*\*([^*]+)\*\*", GLOSSARY.read_text("utf-8"))


def texts() -> dict[str, str]:
    """Return path → text, in small letters, of the pages and of all that the package is made of."""
    files = [file for room in (PACKAGE, ROOT / "assets", ROOT / "resources") for file in room.rglob("*")]
    code = [file for file in files if file.suffix in (".py", ".sql", ".md")]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8").lower() for file in {*PAGES, *code} - {HISTORY}}


@pytest.mark.parametrize("word", words())
def test_a_word_of_the_glossary_is_in_another_page(word: str) -> None:
    pages = (page.read_text("utf-8").lower().replace("_", " ") for page in PAGES if page != GLOSSARY)
    assert any(re.search(rf"\b{re.escape(word.lower())}", page) for page in pages)


@pytest.mark.parametrize("word", GIVEN_UP)
def test_a_word_that_was_given_up_is_nowhere(word: str) -> None:
    assert [path for path, text in texts().items() if re.search(rf"\b{word}", text)] == [], GIVEN_UP[word]
