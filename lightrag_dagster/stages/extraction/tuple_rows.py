"""Rows of a marked answer: lines with records, divided into records.

Every row begins with its tag, with or without decoration (`- entity`, `("Entity"`, `→ record: relation`, `a) entity:`);
other lines are prose. If a line holds several rows, counting distinguishes a tag from a field that is or ends in the
same word: it begins a row if the row before it has all its fields.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from lightrag_dagster.core.text.names import unescaped
from lightrag_dagster.stages.extraction.delimiters import FIELD, TAG

Kind = Literal["entity", "relation"]

# Fields of a complete row, its tag included.
_LENGTHS: dict[Kind, int] = {"entity": 4, "relation": 5}

# Everything except letters and the ends of fields and lines.
_GAP = r"(?:[^\w\x1f\n]|[\d_\u2460-\u24ff])*+"
_LABEL = r"(?:the|an?|new|next|named|extracted|record|row|line|item|entry|output|tuple)(?![^\W\d_])"
_LEAD = rf"{_GAP}(?:(?:[a-z]|[ivx]{{1,4}})[.):]{_GAP})?(?:{_LABEL}{_GAP}){{0,3}}"
_TAG = rf"(?P<tag>{TAG})"

ROW_START = rf"{_LEAD}{TAG}{_GAP}\x1f"
"""Pattern of a row's start, up to its first delimiter; ignores case."""

_ONLY_LEAD = re.compile(_LEAD, re.IGNORECASE)
# `Answer: `, `[Entity 1] `, `<li>`, the end of a sentence; not in a line that explains the format of rows.
_OTHER_LEAD = re.compile(
    r"(?!.*\b(?:(?:in)?(?:correct|valid)|right|wrong|good|bad|not|never|examples?|e\.g|formats?|templates?|notes?)\b)"
    r".*[^\w\s]\s*",
    re.IGNORECASE | re.DOTALL,
)
_WORD_BEGINS = r"(?:(?<=\\[nr])|(?<=[\u2460-\u24ff])|(?<![^\W\d_]))"
_ENDS_IN_TAG = re.compile(rf"{_WORD_BEGINS}{_TAG}\Z", re.IGNORECASE)
_LONGEST_TAG = len("relationships")
# `entity`, `Entity record`, `the entity is`
_NAMED_TAG = rf"{_TAG}(?:[ _-](?:is|name|found|record|row|line|item|entry|tuple)(?![^\W\d_]))?"
_FIRST_FIELD = re.compile(rf"{_GAP}(?P<before>.{{0,64}}?){_WORD_BEGINS}{_NAMED_TAG}{_GAP}", re.IGNORECASE | re.DOTALL)
# `entity: Alice`, `Entity name = Alice`, where a colon took the place of the first delimiter.
_TAG_AND_NAME = re.compile(
    rf"{_LEAD}{_NAMED_TAG}(?:[^\w:：=]|[\d_])*+[:：=][*\s]*+(?!{TAG}\Z)(?P<name>(?=.*[^\W_]).+)",
    re.IGNORECASE | re.DOTALL,
)
_BULLET_AT_END = re.compile(
    r"(?<=\s)(?:[→➤►▪●■◦‣・–—*+•-]|(?:\d{1,3}|[a-z])[.)]|(?:record|row)\s?\d*:)\Z", re.IGNORECASE
)
_JOINT = re.compile(r"(?:##|\\[nr])[\W\d_]*\Z")

_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_SHARE = re.compile(rf"{_NUMBER.pattern} ?(?:%|/ ?{_NUMBER.pattern})")
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST_STRENGTH = 40
_STRENGTH_WORD = re.compile(
    r"strength|weight|score|confidence|importance|relation(?:ship)?|level|out|of|none|n|a|unknown|unspecified"
    r"|very|extremely|fairly|quite|rather|relatively|somewhat|(?:high|low|strong|weak|close|direct)(?:er|est|ly)?"
    r"|medium|mid|moderate(?:ly)?|average|normal|neutral|significant|substantial|considerable|major|minor|slight"
    r"|important|essential|critical|certain|likely|possible|高|中|中等|低|强|強|弱"
)
_SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_BRACKETS = {")": "(", "]": "[", "}": "{", "）": "（", "】": "【"}
_OPENING = {opening: closing for closing, opening in _BRACKETS.items()}
_RUN = re.compile(r'\*+|`+|"+')
_CHARACTER_REFERENCE = re.compile(r"&(?:amp;)*#?\w{1,32};\Z")
_TAIL_MARKS = frozenset('()[]{}（）【】*`"#|,;-•nr')


class Row(NamedTuple):
    """A record as written: its kind, and its fields without the tag."""

    kind: Kind
    fields: list[str]


class _Start(NamedTuple):
    """A tag at the end of a field, and the text before it: the last field of another row."""

    kind: Kind
    before: str

    @property
    def is_clear(self) -> bool:
        """True where it begins a row even if the row before is incomplete."""
        return not self.before or _JOINT.search(self.before[-32:]) is not None


def read_rows(line: str) -> list[Row]:
    """Return the rows of one line; none when the line does not begin like one."""
    if FIELD not in line:
        return []
    fields = [field.strip() for field in line.split(FIELD)]
    for kind, length in _LENGTHS.items():
        if fields[0] == kind and len(fields) == length:  # the normal case
            return [Row(kind, [*fields[1:-1], undecorated(fields[-1])])]
    if "&" in line:
        fields = [unescaped(field).strip() for field in fields]
    if found := _TAG_AND_NAME.match(fields[0]):
        kind = _kind(found["tag"])
        if len(fields) == _LENGTHS[kind] - 1:
            return [Row(kind, [found["name"], *fields[1:-1], undecorated(fields[-1])])]
    first = next((index for index, field in enumerate(fields) if any(map(str.isalnum, field))), 0)
    first_kind = _first_kind(fields[first])
    if first_kind is None or first == len(fields) - 1:
        return []
    starts = {index: start for index in range(first + 1, len(fields) - 1) if (start := _start(fields[index]))}
    starts[first] = _Start(first_kind, "")
    rows = []
    at = first
    while at < len(fields):
        kind, stop = starts[at].kind, _stop(fields, starts, at)
        row = fields[at + 1 : stop]
        if stop < len(fields) and starts[stop].before:
            row.append(_BULLET_AT_END.sub("", starts[stop].before))
        last = next((index for index in reversed(range(len(row))) if row[index]), None)
        if last is not None:
            row[last] = undecorated(row[last])
        rows.append(Row(kind, row))
        at = stop
    return rows


def _first_kind(field: str) -> Kind | None:
    """Return the kind of row that a line's first field begins, if it begins one."""
    found = _FIRST_FIELD.fullmatch(field)
    begins = found and (_ONLY_LEAD.fullmatch(found["before"]) or _OTHER_LEAD.fullmatch(found["before"]))
    return _kind(found["tag"]) if found and begins else None


def _start(field: str) -> _Start | None:
    end = len(field)
    while end and not field[end - 1].isalpha():
        end -= 1
    found = _ENDS_IN_TAG.search(field, max(0, end - _LONGEST_TAG), end)
    if not found:
        return None
    before = field[: found.start()].strip()
    return _Start(_kind(found["tag"]), before if any(map(str.isalnum, before)) else "")


def _kind(tag: str) -> Kind:
    return "entity" if tag.lower().startswith("entit") else "relation"


def _stop(fields: Sequence[str], starts: Mapping[int, _Start], at: int) -> int:
    """Return the index of the field that ends the row begun at `at`, or that holds the tag of the next row.

    If possible, the row gets all its fields, and a strength or a blank after them. Otherwise it ends before the
    next tag that is clear, or with the line.
    """
    full = at + _LENGTHS[starts[at].kind]
    if full == len(fields) or (full in starts and not starts[full].before):
        return full
    extra = starts[full].before if full in starts else "".join(fields[full : full + 1])
    for end in (full,) if extra and strength(extra) is None else (full + 1, full):
        if end == len(fields) or (end in starts and not starts[end].before):
            return end
        if end - 1 in starts and starts[end - 1].before:
            return end - 1
    return next(
        (index for index in range(at + 1, len(fields)) if index in starts and starts[index].is_clear), len(fields)
    )


def strength(field: str) -> float | None:
    """Return the strength in a field: its number, 1.0 for words such as `high`; None for any other text."""
    text = unicodedata.normalize("NFKC", undecorated(field)).strip("\"'*`()[]{}<>").lower()
    if _NUMBER.fullmatch(text):
        return float(text)
    words = _WORD.findall(text) if len(text) <= _LONGEST_STRENGTH and text[-1:] != "." else []
    if not words and not _SHARE.fullmatch(text):
        return None
    if not all(word in _SPELLED or _STRENGTH_WORD.fullmatch(word) for word in words):
        return None
    if number := _NUMBER.search(text):
        return float(number[0]) / (100 if text.endswith("%") else 1)
    return float(next((_SPELLED.index(word) for word in words if word in _SPELLED), 1))


def undecorated(field: str) -> str:
    """Return the last field of a row without the marks that close the row or join it to the next: `)`, `**`, `##`.

    A bracket or mark stays when its opening is in the field.
    """
    field = field.strip()
    if field[-1:] not in _TAIL_MARKS:
        return field
    runs = Counter(run[0] for run in _RUN.findall(field))
    unopened = {closing: field.count(closing) - field.count(opening) for closing, opening in _BRACKETS.items()}
    end = len(field)
    while end:
        mark, pair = field[end - 1], field[max(0, end - 2) : end]
        if pair in ("##", "\\n", "\\r"):
            end -= 2
        elif mark in _OPENING:
            unopened[_OPENING[mark]] += 1
            end -= 1
        elif mark in _BRACKETS and unopened[mark] > 0:
            unopened[mark] -= 1
            end -= 1
        elif runs[mark] % 2:
            runs[mark] -= 1
            end = len(field[:end].rstrip(mark))
        elif mark == ";" and _CHARACTER_REFERENCE.search(field, max(0, end - 34), end):
            break
        elif mark in " \t|,;" or (mark in "-•" and field.endswith((" ", "\\n", "\\r"), 0, end - 1)):
            end -= 1
        else:
            break
    return field[:end]
