"""The characters of a PDF page as people see them, by PDFium's numbers: PDFium knows no raised digits, for example."""

import math
import re
import struct
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, pairwise
from statistics import median

from lightrag_dagster.core.text.terms import CJK
from lightrag_dagster.readers.inline import raised
from lightrag_dagster.readers.pdf.places import Places

_OFF_LINE = (0.15, 0.75)  # in sizes, between the baselines of a line and of what is raised or lowered in it
_TOUCHES = (-0.3, 1.0)  # in sizes, from one character to the next one of its line
_SMALLER = 0.95  # times the size of the line; a number of its size beside it is in the next cell of a table
_NEXT_WORD = 0.6  # in sizes, from one word to the next at the most
_BLANK = 0.15  # in sizes: a wider gap is a space
_DOUBLED = 0.6  # of a character's width: its shadow is nearer
_AROUND = 12  # characters
_SYMBOL = 2  # letters of a chemical element at the most
_OVERLAP = 0.1  # in sizes
_SPACED = 0.05  # in sizes: letters with wider gaps are set apart
_WIDEST = (0.35, 0.6)  # in sizes, between letters of a word; the second, if other gaps of the line are wider
_LARGER = 1.5  # times the usual gap of a line: the gap between two words
_SINGLE = 0.3  # of the words of a line; with more letters that stand alone, its gaps are looked at

_BREAK = "\r\n"
_SIGNS = "+-−–"
_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"\d+")
_SPACE, _PARTED = re.compile(r"(?<=\S) (?=\S)"), "\n"  # the second in place of the first
_END = re.compile(f"{_BREAK}| ")
_TWICE = re.compile(r"(?=([^\W_])\1)")
_LETTER = re.compile(rf"(?<!\S)[^\W\d_{CJK}](?!\S)")
_FORMS = re.compile("[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefc]")  # of letters, by their place in a word
_RIGHTWARD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # letters of scripts from right to left
_LEFTWARD = re.compile(rf"[^\W\d_{_RIGHTWARD.pattern[1:-1]}]")
_TURNED = re.compile(r"(?<!\S)[)\]](?=\w)")
_OPEN = re.compile(r"(?<!\S)[(\[](?=\w)")
_BRACKETS = str.maketrans("()[]", ")(][")  # of a line from right to left; fonts may say which sign they show, or mean
_LAM_ALEF = re.compile("(?=[\u0622\u0623\u0625\u0627\u0671]\u0644)")


def units_of(text: str) -> str:
    """Return a text with a character for each unit of UTF-16, as PDFium counts."""
    data = text.encode("utf-16-le")
    return "".join(map(chr, struct.unpack(f"<{len(data) // 2}H", data)))


def _from_units(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class PageCharacters:
    """The characters of a page; one that is not shown is "", so that the others keep their numbers.

    One of two units of UTF-16, such as an emoji or the 𝑥 of a formula, has two numbers; `text` is in `units_of`.
    """

    def __init__(self, places: Places, text: str) -> None:
        self._text = text
        self._places = places
        self._shown = list(text)
        self._usual = "R" if 2 * len(_RIGHTWARD.findall(text)) > sum(map(str.isalpha, text)) else "L"
        self._join()
        self._raise()
        self._drop_shadows()
        self._close_gaps()
        self._mend_letters()
        self.replaced = self._replaced()
        """The words of PDFium's text that read otherwise here."""
        self._part_rows()

    def _replaced(self) -> list[str]:
        if "".join(self._shown) == self._text:
            return []
        changed = {place for place, shown in enumerate(self._shown) if shown != self._text[place]}
        # A space that is no more makes one word of two.
        return [
            _from_units(found[0])
            for found in _WORD.finditer(self._text)
            if not changed.isdisjoint(range(found.start() - 1, found.end() + 1))
        ]

    def text(self, numbers: Iterable[int]) -> str:
        """Return the text of some characters."""
        numbers = list(numbers)
        text = "".join(map(self._shown.__getitem__, numbers))
        is_mixed = (
            _RIGHTWARD.search(text) and _LEFTWARD.search(text) and self._places.is_level(self.first(numbers) or 0)
        )
        text = self._in_order(numbers) if is_mixed else text
        is_turned = _RIGHTWARD.search(text) and _TURNED.search(text) and not _OPEN.search(text)
        return _from_units(text.translate(_BRACKETS) if is_turned else text)

    def _in_order(self, numbers: Iterable[int]) -> str:
        """Return the words of a line in two directions in their order; PDFium turns those of the rarer one around.

        A line goes in the direction of most of its parts. If there are as many of the other, it goes in the page's.
        """
        groups = (list(group) for _, group in groupby(numbers, lambda number: self._shown[number].isspace()))
        words = [(self._places.origin(at)[0], word) for word in groups if (at := self.first(word)) is not None]
        texts = ["".join(map(self._shown.__getitem__, word)) for _, word in sorted(words)]
        sides = ["R" if _RIGHTWARD.search(text) else "L" if _LEFTWARD.search(text) else "" for text in texts]
        parts = [side for side, _ in groupby(filter(None, sides))]
        usual = min("LR", key=lambda side: (-parts.count(side), side != self._usual))
        for place, side in enumerate(sides):
            before = sides[place - 1] if place else usual
            after = next(filter(None, sides[place:]), usual)
            is_number = before == "L" and texts[place][-1].isdecimal()
            sides[place] = side or (before if before == after or is_number else usual)
        runs = list[list[str]]()
        for side, run in groupby(zip(sides, texts, strict=True), lambda one: one[0]):
            runs.append([text for _, text in run][:: -1 if side == "R" else 1])
        return " ".join(chain.from_iterable(runs[:: -1 if usual == "R" else 1]))

    def first(self, numbers: Iterable[int]) -> int | None:
        """Return the first character of some that is not a space; None without one."""
        return next((number for number in numbers if self._shown[number].strip()), None)

    def after(self, number: int) -> int | None:
        """Return the next character with ink in the same line; None if a gap wider than that of words is before it."""
        end = self._text.find(_BREAK, number)
        found = self.first(range(number + 1, len(self._text) if end < 0 else end))
        if found is None or not self._shown[number].strip():
            return None
        gap = self._places.origin(found)[0] - self._places.right(number)
        return found if gap < _NEXT_WORD * self._places.size(number) else None

    def add(self, number: int, text: str, *, before: bool = False) -> None:
        """Add text that the page shows next to the word of a character."""
        step = -1 if before else 1
        while 0 <= number + step < len(self._text) and not self._text[number + step].isspace():
            number += step
        self._shown[number] = text + self._shown[number] if before else self._shown[number] + text

    def boxes(self) -> Iterator[tuple[int, tuple[float, float, float, float]]]:
        """Yield the numbers of the characters with ink, and their left, lower, right and upper edge. Points."""
        for number, shown in enumerate(self._shown):
            if shown.strip():
                yield number, self._places.box(number)

    def middle(self, number: int) -> tuple[float, float]:
        """Return the middle of the ink of a character."""
        return self._places.middle(number)

    def lines(self) -> Iterator[range]:
        """Yield the numbers of the characters of each line."""
        begin = 0
        for found in _END.finditer(self._text):
            if self._shown[found.start()] in ("\r", _PARTED):
                yield range(begin, found.start())
                begin = found.end()
        yield range(begin, len(self._text))

    def _join(self) -> None:
        """Join lines that PDFium breaks behind a character off the baseline, such as the 3 of `m3`."""
        places, text = self._places, self._text
        for found in re.finditer(_BREAK, text):
            before, after = found.start() - 1, found.end()
            if before < 0 or after >= len(text) or text[before] == "\n" or text[after] == "\r":
                continue
            apart = abs(places.origin(after)[1] - places.origin(before)[1])
            size = max(places.size(before), places.size(after))
            if not apart < _OFF_LINE[1] * size or not places.is_level(before):
                continue
            gap = places.origin(after)[0] - places.right(before)
            if _TOUCHES[0] * size < gap < _TOUCHES[1] * size:
                is_space = gap > _BLANK * size and not (text[after].isspace() or text[before].isspace())
                self._shown[before + 1 : after] = " " if is_space else "", ""

    def _part_rows(self) -> None:
        """End the lines that PDFium joins with the next one, as behind a cell of one character, or before one."""
        places = self._places
        for found in _SPACE.finditer(self._text):
            before, after = found.start() - 1, found.end()
            if not places.is_added(found.start()) or not places.is_level(before):
                continue
            (x, y), (other_x, other_y) = places.origin(before), places.origin(after)
            if other_x < x and y - other_y > _OFF_LINE[1] * places.size(before):
                self._shown[found.start()] = _PARTED

    def _raise(self) -> None:
        """Mark raised numbers, which would be other numbers without it."""
        for found in _NUMBER.finditer(self._text):
            first, last = found.start(), found.end() - 1
            base = self._before(first)
            if base is not None and self._text[base] in _SIGNS:
                first, base = base, self._before(base)
            if base is None and self._is_mark_before(last, found.end()):
                self._shown[last] += " "
            base = first if base is None else base
            begin = found.end()
            while begin > max(first, base + 1) and self._is_above(begin - 1, base):
                begin -= 1
            if begin < found.end() and self._is_beside(begin, base if begin == first else begin - 1):
                self._mark(begin, found.end(), base)

    def _before(self, number: int) -> int | None:
        """Return the character before one in its line, over a space that PDFium adds; None without one."""
        for place in range(number - 1, max(-1, number - 4), -1):
            if not self._shown[place] or (self._text[place] == " " and self._places.is_added(place)):
                continue
            return None if self._text[place].isspace() else place
        return None

    def _is_beside(self, number: int, before: int) -> bool:
        """Return True for a character right behind another one of a level line."""
        x, size = self._places.origin(number)[0], self._places.size(before)
        touches = self._places.origin(before)[0] < x < self._places.right(before) + _TOUCHES[1] * size
        return touches and self._places.is_level(before)

    def _is_above(self, number: int, base: int) -> bool:
        """Return True for a small character above the baseline of another; some fonts have raised digits."""
        y, size = self._places.origin(base)[1], self._places.size(base)
        up = self._places.origin(number)[1] - y
        if abs(up) < 1e-3:
            return self._places.bottom(number) - y > _OFF_LINE[0] * size
        return _OFF_LINE[0] * size < up < _OFF_LINE[1] * size and self._places.size(number) < _SMALLER * size

    def _is_mark_before(self, number: int, word: int) -> bool:
        """Return True for the raised number of a note or an address, right before its first word; not of `14C`."""
        if not self._text[word : word + _SYMBOL + 1].isalpha() or word + _SYMBOL >= len(self._text):
            return False
        return self._is_above(number, word) and self._places.is_level(word)

    def _mark(self, begin: int, end: int, base: int) -> None:
        before = next((place for place in range(begin - 1, base - 1, -1) if self._shown[place].strip()), base)
        self._shown[before + 1 : begin] = [""] * (begin - before - 1)
        number = self.text(range(begin, end))
        self._shown[begin:end] = [raised(self._shown[before], number), *[""] * (end - begin - 1)]

    def _drop_shadows(self) -> None:
        """Leave out letters that are drawn again a little beside themselves."""
        for found in _TWICE.finditer(self._text):
            one, other = found.start(), found.start() + 1
            while not self._shown[one] and one:  # itself a shadow
                one -= 1
            x, y = self._places.origin(one)
            width = self._places.right(one) - x
            away = math.dist((x, y), self._places.origin(other))
            # At the very same place they are one glyph, such as that of `ff`.
            if 1e-2 < away < _DOUBLED * width and not self._is_narrow(one):
                self._shown[other] = ""

    def _is_narrow(self, number: int) -> bool:
        """Return True if other letters around one overlap too, so that their widths say nothing."""
        text, places = self._text, self._places
        around = range(max(0, number - _AROUND), min(len(text) - 1, number + _AROUND))
        gaps = [
            places.origin(one + 1)[0] - places.right(one)
            for one in around
            if not (text[one].isspace() or text[one + 1].isspace() or text[one] in text[max(0, one - 1) : one + 2 : 2])
        ]
        return bool(gaps) and median(gaps) < -_OVERLAP * places.size(number)

    def _close_gaps(self) -> None:
        """Leave out spaces that PDFium adds between letters set apart, which are narrower than those of words."""
        for line in self.lines():
            text = self._text[line.start : line.stop]
            letters = len(_LETTER.findall(text))
            if letters < 2 or letters < _SINGLE * len(text.split()):
                continue
            seen = [one for one in line if self._shown[one].strip()]
            gaps = [self._places.origin(two)[0] - self._places.right(one) for one, two in pairwise(seen)]
            usual, size = median(gaps or [0.0]), self._places.size(seen[0])
            wider = max(gaps, default=0.0) > _LARGER * usual
            if not _SPACED * size < usual < _WIDEST[wider] * size:
                continue
            for (one, two), gap in zip(pairwise(seen), gaps, strict=True):
                between = range(one + 1, two)
                if gap < _LARGER * usual and all(map(self._places.is_added, between)):
                    self._shown[one + 1 : two] = [""] * len(between)

    def _mend_letters(self) -> None:
        """Turn ligatures of Arabic round, which PDFium reverses with their line, and write letters without form."""
        for found in _LAM_ALEF.finditer(self._text):
            one, other = found.start(), found.start() + 1
            if self._places.origin(one) == self._places.origin(other):
                self._shown[one], self._shown[other] = self._shown[other], self._shown[one]
        for found in _FORMS.finditer(self._text):
            self._shown[found.start()] = unicodedata.normalize("NFKC", found[0])
