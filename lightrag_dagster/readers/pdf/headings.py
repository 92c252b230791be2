"""The headings and paragraphs of a PDF, by the size of its letters and the gaps between its lines."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise

from lightrag_dagster.readers.pdf.hyphens import with_whole_words
from lightrag_dagster.readers.pdf.lines import Line

_LARGER = 1.15  # times the size of the text; other text than headings is rarely that large
_WIDER = 1.3  # than from line to line: the gap between two paragraphs
_LEADING = 1.4  # in sizes, from line to line of a heading at the most
_LONGEST_HEADING = 200  # characters
_LEVELS = 4
_NO_SPACES = re.compile("[\u3001-\u3011\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff5e]")
"""Characters of Chinese and Japanese."""

_SHORT = 15  # characters; a line with fewer may be an item of a list
_RAGGED = 2.5  # in sizes, by which lines of a paragraph may end before its edge
_MOST_HEADINGS = 0.5  # share of the lines; with more, size is not a sign of headings


def with_headings(pages: list[list[Line]]) -> list[str]:
    """Return the texts of pages: neighbouring lines in one larger size are a heading, wider gaps divide paragraphs."""
    levels = _levels([line for lines in pages for line in lines])
    gaps = Counter((line.size, round(gap)) for lines in pages for line, gap in _gaps(lines) if gap > 0)
    usual: dict[float, int] = {}
    for (size, gap), _ in gaps.most_common():
        usual.setdefault(size, gap)
    return with_whole_words(["\n".join(_page(lines, levels, usual)) for lines in pages])


def _gaps(lines: list[Line]) -> Iterator[tuple[Line, float]]:
    """Yield each line, and its distance below the line before, if both have one size; else 0. Points."""
    for before, line in pairwise([Line(""), *lines]):
        yield line, before.bottom - line.height if before.size == line.size > 0 else 0.0


def _page(lines: list[Line], levels: dict[float, int], usual: dict[float, int]) -> Iterator[str]:
    for size, group in groupby(_gaps(lines), key=lambda found: found[0].size):
        texts, found = list[str](), list(group)
        step = usual.get(size, math.inf)
        step = min(step, _LEADING * size) if size in levels else step
        for place, (line, gap) in enumerate(found):
            if gap > _WIDER * step or (size in levels and gap > 0 and _is_apart(found[place - 1][0], line)):
                texts += ["", line.text]
            elif gap > 0 and _is_continued(found[place - 1][0], line, found):
                texts[-1] += line.text
            else:
                texts.append(line.text)
        whole = [" ".join(lines) for is_text, lines in groupby(texts, bool) if is_text]
        if size in levels and sum(map(len, whole)) <= _LONGEST_HEADING and any(map(str.isalpha, "".join(whole))):
            yield from (f"\n{'#' * levels[size]} {one}\n" for one in whole)
        else:
            yield from texts


def _is_apart(line: Line, following: Line) -> bool:
    """Return True if the next line is not of the same heading: it begins left of it, and is in line with it nowhere."""
    ends = abs(following.right - line.right), abs(following.left + following.right - line.left - line.right) / 2
    return following.left < line.left - line.size and min(ends) > line.size


def _is_continued(line: Line, following: Line, around: list[tuple[Line, float]]) -> bool:
    """Return True if the next line continues a full line of a script without spaces, where a word may be divided."""
    if len(line.text) < _SHORT or following.left > line.left + line.size:  # an item of a list, or an indented paragraph
        return False
    if not (_NO_SPACES.match(line.text[-1]) and _NO_SPACES.match(following.text[:1])):
        return False
    edge = max(one.right for one, _ in around if one.left < line.right and line.left < one.right)
    return line.right > edge - _RAGGED * line.size


def _levels(lines: list[Line]) -> dict[float, int]:
    """Return the level of the headings in each size that is larger than that of most of the text."""
    written: Counter[float] = Counter()
    for line in lines:
        if line.size:
            written[line.size] += len(line.text)
    if not written:
        return {}
    usual = max(written, key=lambda size: (written[size], size))
    larger = sorted((size for size in written if size >= _LARGER * usual), reverse=True)
    headings = sum(line.size in larger for line in lines)
    if headings > _MOST_HEADINGS * sum(line.size > 0 for line in lines):
        return {}
    return {size: min(level, _LEVELS) for level, size in enumerate(larger, start=1)}
