"""Marks inside a line: one decision for all readers.

A mark inside a word hides it from searches and splits names, so a word has none. A raised number keeps its meaning:
`10^6` behind a digit, `m²` behind anything else. A lowered one stays on the line, as in `H2O`.
"""

import re

_NUMBER = re.compile(r"[+\-−–]?\d+|\d+[+\-−–]")  # the second as the charge of an ion
_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_HEADING = re.compile(r"^#{1,6}(?=\s)", re.MULTILINE)
_FILE_NAME = re.compile(r"(?:.*[\\/])?[^\\/\n]*\.[A-Za-z]{2,4}")
_CODE_OR_MARKED = re.compile(
    r"(?P<code>^(?P<fence> {0,3}(?:```+|~~~+)).*?^(?P=fence).*?$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?<![\\*])(?P<one>\*{1,3})(?P<begin>[^*\n`]+)(?P=one)(?P<two>\*{1,3})(?P<end>[^*\n`]+)(?P=two)(?!\*)"
    r"|(?<![\\*])(?P<mark>\*{1,3})(?=[^\s*])(?P<text>[^*\n`]+?)(?<=[^\s*\\])(?P=mark)(?!\*)",
    re.MULTILINE | re.DOTALL,
)
_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+\Z")
_LETTERS_AFTER = re.compile(r"[^\W\d_]+")
_GENDERS = re.compile(r"innen|in\b")  # behind the star of `Leser*innen`, which is no mark


def raised(before: str, text: str) -> str:
    """Return a superscript as it follows `before`: a number keeps being one, any other text stays as it is."""
    number = text.strip()
    if not _NUMBER.fullmatch(number):
        return text
    return f"^{number}" if before[-1:].isdigit() or before[-1:] == ")" else number.translate(_RAISED)


def alternative_text(text: str) -> str:
    """Return what is said in place of an image, on one line; "" for the name of a file, which says nothing."""
    line = " ".join(text.split())
    return "" if _FILE_NAME.fullmatch(line) else line


def check_box(checked: bool) -> str:
    """Return a check box as Markdown writes it."""
    return "[x]" if checked else "[ ]"


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
        halves = _LETTERS_BEFORE.search(found["begin"]), _LETTERS_AFTER.match(found["end"])
        return found["begin"] + found["end"] if all(halves) else found[0]
    text = found["text"]
    before = _LETTERS_BEFORE.search(found.string[max(0, found.start() - 64) : found.start()])
    after = _LETTERS_AFTER.match(found.string, found.end())
    first, last = _LETTERS_AFTER.match(text), _LETTERS_BEFORE.search(text)
    opens, ends = before and _GENDERS.match(text), last and _GENDERS.match(found.string, found.end())
    if found["mark"] == "*" and (opens or ends) and not _LETTERS_AFTER.fullmatch(text):
        return found[0]
    return text if _is_word(before, first) or _is_word(last, after) else found[0]


def _is_word(first: re.Match[str] | None, second: re.Match[str] | None) -> bool:
    """Return True if two runs of letters are a word together; `a*b*c` is a product."""
    return first is not None and second is not None and len(first[0]) + len(second[0]) > 2
