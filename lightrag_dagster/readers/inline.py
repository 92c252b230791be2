"""Marks inside a line: one decision for all readers.

A mark inside a word hides it from searches and splits names, so a word has none. A raised number keeps its meaning:
`10^6` behind a digit, `m²` behind anything else. A lowered one stays on the line, as in `H2O`. Struck text
has marks, `~~500~~`: it does not hold any more.
"""

import re

STRUCK = r"text-decoration(?:-line)?:[^;}]*line-through"
"""The style of HTML for what is struck out."""

_NUMBER = re.compile(r"[+\-−–]?\d+|\d+[+\-−–]")  # the second as the charge of an ion
_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_HEADING = re.compile(
    r"^#{1,6}(?=\s)|(?:\A|(?<=[^\n]\n)) {0,3}(?!-(?:- |[ \t\r]*)$)(?=(?:=+|-+)[ \t\r]*$)", re.MULTILINE
)
_FILE_NAME = re.compile(r"(?:.*[\\/])?[^\\/\n]*\.[A-Za-z]{2,4}")
_CODE_OR_MARKED = re.compile(
    r"(?P<code>^(?P<fence> {0,3}(?:```+|~~~+)).*?^(?P=fence).*?$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?<![\\*])(?P<one>\*{1,3})(?P<begin>[^*\n`]+)(?P=one)(?P<two>\*{1,3})(?P<end>[^*\n`]+)(?P=two)(?!\*)"
    r"|(?<![\\*])(?P<mark>\*{1,3})(?=[^\s*])(?P<text>[^*\n`]+?)(?<=[^\s*\\])(?P=mark)(?!\*)",
    re.MULTILINE | re.DOTALL,
)
_STRUCK, _END_STRUCK = "\ufdd4", "\ufdd5"  # noncharacters, which no text has
_NOT_BLANK = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_GOES_ON = re.compile(rf"{_END_STRUCK}([ \t]*){_STRUCK}")
_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+\Z")
_LETTERS_AFTER = re.compile(r"[^\W\d_]+")
_PARTED = re.compile(r"[^\W_]\0[^\W_]|\d\0[.,:]\d|\d[.,:]\0\d|[$€£¥]\0\d")
_GENDERS = re.compile(r"innen|in\b")  # behind the star of `Leser*innen`, which is no mark


def raised(before: str, text: str) -> str:
    """Return a superscript as it follows `before`: a number keeps being one, other text stays, apart from a number."""
    number = text.strip()
    if not _NUMBER.fullmatch(number):
        return f"^{text}" if before[-1:].isdigit() and text[:1].isdigit() else text
    return f"^{number}" if before[-1:].isdigit() or before[-1:] == ")" else number.translate(_RAISED)


def struck(text: str) -> str:
    """Return text that is struck out with marks for `write_struck`; blanks around it stay outside of them."""
    return _NOT_BLANK.sub(rf"{_STRUCK}\g<0>{_END_STRUCK}", text, count=1)


def write_struck(text: str) -> str:
    """Return text with `~~` for the marks of `struck`; runs of a line beside each other are one."""
    return _GOES_ON.sub(r"\1", text).replace(_STRUCK, "~~").replace(_END_STRUCK, "~~") if _STRUCK in text else text


def as_hidden(text: str) -> str:
    """Return a text with the mark of what its program does not show; "" for none."""
    return text and text + ("\n\n(hidden)" if "\n" in text else " (hidden)")


def alternative_text(text: str) -> str:
    """Return what is said in place of an image, on one line; "" for the name of a file, which says nothing."""
    line = " ".join(text.split())
    return "" if _FILE_NAME.fullmatch(line) else line


def check_box(checked: bool) -> str:
    """Return a check box as Markdown writes it."""
    return "[x]" if checked else "[ ]"


def letters(text: str) -> str:
    """Return the letters of a text, to compare a heading with its entry in a table of contents."""
    return "".join(filter(str.isalpha, text)).casefold()


def no_heading(line: str) -> str:
    """Return a line of plain text so that Markdown takes it for no heading."""
    return _HEADING.sub(r"\\\g<0>", line)


def fenced(text: str) -> str:
    """Return code or data between fences, so that it is not taken for Markdown."""
    marks = "`" * max([3, *(len(fence) + 1 for fence in _FENCE.findall(text))])
    return f"{marks}\n{text}\n{marks}"


def whole_words(markdown: str) -> str:
    """Return Markdown without the marks of emphasis that begin or end inside a word; code stays as it is."""
    return _CODE_OR_MARKED.sub(_unmarked, markdown) if "*" in markdown else markdown


def _unmarked(found: re.Match[str]) -> str:
    if found["code"]:
        return found[0]
    if found["one"]:  # two runs of a word that are marked differently
        halves = found["begin"], found["end"]
        return "".join(halves) if halves[0][-1].isalpha() and halves[1][0].isalpha() else found[0]
    text = found["text"]
    before = found.string[max(0, found.start() - 64) : found.start()]
    after = found.string[found.end() : found.end() + 64]
    opens = before[-1:].isalpha() and _GENDERS.match(text)
    ends = text[-1:].isalpha() and _GENDERS.match(after)
    if found["mark"] == "*" and (opens or ends) and not text.isalpha():
        return found[0]
    return text if _is_word(before, text) or _is_word(text, after) else found[0]


def _is_word(first: str, second: str) -> bool:
    """Return True if two runs are a word together; `a*b*c` is a product, and `2**8` a power."""
    letters = _LETTERS_BEFORE.search(first), _LETTERS_AFTER.match(second)
    return all(letters) and sum(len(one[0]) for one in letters if one) > 2


def parts_number(before: str, after: str) -> bool:
    """Return True if a mark between two texts would part a number, or a number from its letters."""
    return bool(_PARTED.search(f"{before[-2:]}\0{after[:2]}"))
