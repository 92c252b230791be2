"""Names that are known beforehand: a table of them, which are found in any case wherever they stand as whole words."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.names import normalise_name, normalise_type, visible
from lightrag_dagster.core.text.terms import CJK, MARKS, stop_words
from lightrag_dagster.errors import SettingsError, one_line
from lightrag_dagster.offline import OTHER, NameSpan
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.tables import ROW_FILES, TableFiles

_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+(?:[{MARKS}]+[^\W_{CJK}]*)*")
_BETWEEN = re.compile(r"[\s.,&'’/–-]{0,3}")
"""Text between two words of a name."""

_SHORT = 3
"""Characters of words of which a name is found as it is written alone: `IT` is not `it`, `AT&T` not `at T`."""

_MORE = ("+", "#")
"""Signs behind a short name that make it another: `C` does not stand in `C++`."""


def is_table(model: str) -> bool:
    """Return True if a setting names a table of known names, by its suffix."""
    return Path(model).suffix.lower() in ROW_FILES


def read_known_names(file: Path) -> "NamesOfTable":
    """Read the names and aliases of a table, and the type of each, from its columns `name`, `type` and `aliases`.

    Rows without a name are passed over, as those of relations are.

    Raises:
        SettingsError: the file is missing or cannot be read, or has no names.
    """
    try:
        names = dict(_names(file))
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"setting extraction.names_model: {file} cannot be read as a table: {one_line(error)}"
        ) from error
    if not names:
        raise SettingsError(f"setting extraction.names_model: {file} has no names; give it a column `name`")
    return NamesOfTable(names)


def _names(file: Path) -> Iterator[tuple[str, str]]:
    for row in TableFiles(LocalFolder(file)).rows():
        given = {column.strip().lower().removeprefix("entity_"): value for column, value in row.items()}
        aliases = given.get("aliases") or []
        kind = normalise_type(str(given.get("type") or "")) or OTHER
        for name in [given.get("name") or "", *(aliases if isinstance(aliases, list) else str(aliases).split(";"))]:
            if normalise_name(str(name)):
                yield " ".join(composed(visible(str(name))).split()), kind


class _Known(NamedTuple):
    """A name, its type, and the signs before its first word and after its last."""

    name: str
    type: str
    before: str
    behind: str


class NamesOfTable:
    """A `Recogniser` of names that are known; of those that overlap, the first counts, and of these the longest."""

    def __init__(self, types: dict[str, str]) -> None:
        """Know names by their types."""
        self._known: dict[tuple[str, ...], list[_Known]] = {}
        self._longest: dict[str, int] = {}
        for name, kind in types.items():
            if words := list(_WORD.finditer(name)):
                folded = tuple(word[0].casefold() for word in words)
                one = _Known(name, kind, name[: words[0].start()], name[words[-1].end() :])
                self._known.setdefault(folded, []).append(one)
                self._longest[folded[0]] = max(len(words), self._longest.get(folded[0], 0))
        for found in self._known.values():
            found.sort(key=lambda one: -len(one.name))  # with more signs first

    def __call__(self, texts: Sequence[str]) -> list[list[NameSpan]]:
        """Return the names in each text."""
        return [list(self._spans(text)) for text in texts]

    def _spans(self, text: str) -> Iterator[NameSpan]:
        words, at = list(_WORD.finditer(text)), 0
        while at < len(words):
            longest = min(self._longest.get(words[at][0].casefold(), 0), len(words) - at)
            lengths = range(longest, 0, -1)
            found = ((length, span) for length in lengths if (span := self._span(text, words[at : at + length])))
            length, span = next(found, (1, None))
            if span:
                yield span
            at += length

    def _span(self, text: str, words: Sequence[re.Match[str]]) -> NameSpan | None:
        """Return the place of a name that words which follow each other are, with its signs; None if they are none."""
        first, end = words[0].start(), words[-1].end()
        folded = tuple(word[0].casefold() for word in words)
        is_short = all(len(word) <= _SHORT or word in stop_words() for word in folded)
        for one in self._known.get(folded, ()):
            behind = one.behind if text.startswith(one.behind, end) else one.behind.removesuffix(".")  # of `Acme Inc.`
            start, after = first - len(one.before), end + len(behind)
            told = text[max(0, start) : after]
            gaps = (text[word.end() : other.start()] for word, other in pairwise(words))
            is_it = told == one.name if is_short else all(map(_BETWEEN.fullmatch, gaps))
            has_signs = text[max(0, start) : first] == one.before and text[end:after] == behind
            if is_it and has_signs and not (is_short and text[after : after + 1] in _MORE):
                return NameSpan(start, after, one.type, leads=True, given=True)
        return None
