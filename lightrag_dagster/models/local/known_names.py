"""Names that are known beforehand: a table of them, which are found in any case wherever they stand as whole words."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.names import normalise_name, normalise_type
from lightrag_dagster.core.text.terms import CJK, MARKS, stop_words
from lightrag_dagster.errors import SettingsError, one_line
from lightrag_dagster.offline import OTHER, NameSpan
from lightrag_dagster.stages.documents.connectors.patterns import EVERY_FILE
from lightrag_dagster.stages.documents.connectors.tables import ROW_FILES, TableFiles

_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+(?:[{MARKS}]+[^\W_{CJK}]*)*")
_BETWEEN = re.compile(r"[\s.,&'’/–-]{0,3}")
"""Text between two words of a name."""

_SHORT = 3
"""Characters up to which a name of one word is found as it is written alone: `IT` is not `it`."""


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
    for row in TableFiles(file, EVERY_FILE).rows():
        given = {column.strip().lower().removeprefix("entity_"): value for column, value in row.items()}
        aliases = given.get("aliases") or []
        kind = normalise_type(str(given.get("type") or "")) or OTHER
        for name in [given.get("name") or "", *(aliases if isinstance(aliases, list) else str(aliases).split(";"))]:
            if cleaned := normalise_name(str(name)):
                yield cleaned, kind


class NamesOfTable:
    """A `Recogniser` of names that are known; of those that overlap, the first counts, and of these the longest."""

    def __init__(self, types: dict[str, str]) -> None:
        """Know names by their types."""
        self._found: dict[tuple[str, ...], tuple[str, str]] = {}
        self._longest: dict[str, int] = {}
        for name, kind in types.items():
            words = tuple(word.casefold() for word in _WORD.findall(composed(name)))
            if words:
                self._found.setdefault(words, (name, kind))
                self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))

    def __call__(self, texts: Sequence[str]) -> list[list[NameSpan]]:
        """Return the names in each text."""
        return [list(self._spans(text)) for text in texts]

    def _spans(self, text: str) -> Iterator[NameSpan]:
        words = list(_WORD.finditer(text))
        folded, at = [word[0].casefold() for word in words], 0
        while at < len(words):
            longest = min(self._longest.get(folded[at], 0), len(words) - at)
            lengths = (length for length in range(longest, 0, -1) if self._is_named(text, words[at : at + length]))
            if length := next(lengths, 0):
                kind = self._found[tuple(folded[at : at + length])][1]
                yield NameSpan(words[at].start(), words[at + length - 1].end(), kind, leads=True, known=kind != OTHER)
            at += length or 1

    def _is_named(self, text: str, words: Sequence[re.Match[str]]) -> bool:
        """Say whether words that follow each other are a name."""
        name, _ = self._found.get(tuple(word[0].casefold() for word in words), ("", ""))
        first = words[0][0].casefold()
        if len(words) == 1 and (len(first) <= _SHORT or first in stop_words()):
            return words[0][0] in _WORD.findall(name)
        gaps = (text[one.end() : other.start()] for one, other in pairwise(words))
        return bool(name) and all(_BETWEEN.fullmatch(one) for one in gaps)
