"""Plain words in the pages: no sentence begins with a clause in place of its noun."""

import re
from pathlib import Path

import pytest

from tests.docs.test_links import PAGES, ROOT, prose

MADE = {ROOT / "docs" / "settings.md", ROOT / "docs" / "tables.md"}
"""Written from the descriptions in the code."""

_START = r"(?:^|(?<=[.!?:] )|(?<=\| )|(?<=- )|(?<=\*\*))"
_CLAUSE = re.compile(_START + r"(?:What|How|Of|Where)\b[^.!?|]*(?P<end>[.!?|]|$)", re.MULTILINE)


def clauses(text: str) -> list[str]:
    """Return the sentences that begin with What, How, Of or Where and are no questions."""
    paragraphs = re.sub(r"(?<=\S)\n(?=[^\s|#>*-])", " ", re.sub(r"`[^`\n]*`", "x", text))
    return [found[0] for found in _CLAUSE.finditer(paragraphs) if found["end"] != "?"]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in MADE], ids=lambda page: str(page.name))
def test_no_sentence_begins_with_a_clause(page: Path) -> None:
    assert clauses(prose(page)) == []


def test_a_clause_is_seen_and_a_question_is_not() -> None:
    assert clauses("A page.\nWhat is lost is counted. So it is.") == ["What is lost is counted."]
    assert clauses("| a | Of its file. |\n- How long it takes.") == ["Of its file.", "How long it takes."]
    assert clauses("## What is read again?\nThe files. What else? Nothing of that.") == []
