"""Answers of a pass: facts that fit its schema and whose words the chunk has, and the reasons of the others.

Nothing of an answer is believed: a relation, type or value outside the schema, and words, values or times that the
passage lacks are rejected, and counted by reason.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.core.text.names import MAX_NAME_CHARACTERS, folded, normalise_name, visible
from lightrag_dagster.stages.extraction.json_answers import breaks_off, repaired
from lightrag_dagster.stages.extraction.reasoning import without_thinking
from lightrag_dagster.stages.extraction.rejections import BROKEN_OFF
from lightrag_dagster.stages.facts.beside import whole_amount
from lightrag_dagster.stages.facts.dates import When, read_date, read_when
from lightrag_dagster.stages.facts.passes import Pass, RelationSchema
from lightrag_dagster.stages.facts.standing import FoundWords, PassageText
from lightrag_dagster.stages.facts.values import read_number, read_yes_no, unit_of

MOST_FACTS = 400

_DECODER = json.JSONDecoder(strict=False)
_BEGINS = re.compile(r"\{|\[(?=\s*[\[{\]])")
_FLAT = re.compile(r"\{[^{}]*\}")
_BOLD_ENDS = re.compile(r"\*\*(?=\s|$)")  # within **120** employees
_MOST_CHARACTERS = 4_000_000
_KEYS = {
    "head": "subject", "source": "subject", "predicate": "relation", "relationship": "relation", "type": "relation",
    "tail": "object", "target": "object", "time": "when", "date": "when", "quote": "words", "evidence": "words",
}  # fmt: skip
"""Names that models give our keys."""
_LISTS = {"facts", "extracted_facts", "items", "results", "rows"}
_TEXTS_OF_A_ROW = 3

NO_SUBJECT = "fact without a subject"
NO_OBJECT = "fact without an object"
NO_VALUE = "fact without a value"
NO_WORDS = "fact without the words that say it"
LONG_NAME = "name of more than 256 characters"
OTHER_RELATION = "relation that the schema lacks"
OTHER_TYPE = "type that the relation does not have"
WITH_ITSELF = "relation of an entity with itself"
NO_NUMBER = "value without a number"
IN_DOUBT = "number that may be a thousand times as much: set `decimal` in its relation"
NO_DATE = "value without a date"
NO_YES_NO = "value other than yes or no"
WORDS_LACKING = "words that the passage lacks"
VALUE_LACKING = "value that the passage lacks"
TIME_LACKING = "time that the passage lacks"
BROKEN = "JSON item that cannot be read"
TOO_MANY = "fact beyond the most that an answer may have"
_UNREADABLE = {BROKEN, BROKEN_OFF.reason}


@dataclass(frozen=True, slots=True)
class FactRecord:
    """One fact of a chunk: the columns of FACTS of the same names. Days; characters of the chunk."""

    subject: str
    subject_type: str
    relation: str
    object: str | None
    object_type: str | None
    value: str | None
    value_kind: str | None
    number: float | None
    unit: str | None
    value_date: date | None
    when_words: str | None
    valid_from: date | None
    from_precision: str | None
    valid_to: date | None
    to_precision: str | None
    single: bool
    words: str
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class FactAnswer:
    """The facts of an answer, whether it is complete JSON, and the reason of each rejected row."""

    facts: tuple[FactRecord, ...]
    complete: bool
    rejected: tuple[str, ...] = ()
    is_empty = False  # an answer without facts is as good as any

    @property
    def usable(self) -> bool:
        """True for an answer with a fact or a row that can be read, and for one that says that there is nothing."""
        return bool(self.facts or {*self.rejected} - _UNREADABLE or (self.complete and not self.rejected))

    def by_earlier_schema(self) -> "FactAnswer":
        """Return it without the rejections of rows that another schema may have asked for."""
        others = (reason for reason in self.rejected if reason not in (OTHER_RELATION, OTHER_TYPE))
        return replace(self, rejected=tuple(others))

    def adds_nothing_to(self, shorter: "FactAnswer") -> bool:
        """Return True if another answer has some facts, and these are all of those that are here."""
        return bool(shorter.facts) and {*shorter.facts} >= {*self.facts}


class _End(NamedTuple):
    """The other end of a fact: an object with its type, or a value as written and as read."""

    object: str | None = None
    object_type: str | None = None
    value: str | None = None
    number: float | None = None
    unit: str | None = None
    value_date: date | None = None


class _RejectedError(Exception):
    """A row that yields no fact, with its reason."""


def read_answer(text: str, of_pass: Pass, passage: str, *, truncated: bool = False) -> FactAnswer:
    """Return the facts of one answer about a passage; raises nothing.

    The item that was cut off is left out of a `truncated` answer; its status shows that.
    """
    items, complete, unread = read_items(without_thinking(text[:_MOST_CHARACTERS]), truncated=truncated)
    relations = {folded(name): name for name in of_pass.relations}
    where = PassageText(passage)
    facts, rejected = dict[FactRecord, None](), [*unread]
    for item in items:
        try:
            facts[_fact(item, of_pass, relations, where)] = None
        except _RejectedError as reason:
            rejected.append(str(reason))
    kept = tuple(facts)[:MOST_FACTS]
    rejected += [TOO_MANY] * (len(facts) - len(kept))
    return FactAnswer(kept, complete, tuple(rejected))


def read_items(answer: str, *, truncated: bool) -> tuple[list[Mapping[str, object]], bool, list[str]]:
    """Return the items of an answer in JSON, whether all of it is valid JSON, and a reason for each unreadable part.

    An item is an object with a subject, a relation or words; a row with other keys becomes {}. After the first
    part that is not valid JSON, each flat object is decoded or repaired by itself.
    """
    items: list[Mapping[str, object]] = []
    at, found, last_quote = 0, False, answer.rfind('"')
    # Behind a value, brackets without quotes are a remark.
    while (begun := _BEGINS.search(answer, at)) and (begun.start() < last_quote or not found):
        try:
            value, at = _DECODER.raw_decode(answer, begun.start())
            items += _items(value)
        except (ValueError, RecursionError):
            more, unread = _repaired(answer[begun.start() :], truncated=truncated)
            return items + more, False, unread
        found = True
    return items, found, []


def _items(value: object, *, listed: bool = False) -> Iterator[Mapping[str, object]]:
    """Yield the items in a part of an answer; {} for what is `listed`, or has three texts, and none of our keys.

    Beside a list of facts, all that has none of our keys is a remark.
    """
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    texts = sum(isinstance(one, str) and bool(one) for one in members)
    found = list[Mapping[str, object]]()
    if isinstance(value, dict):
        fields = _fields(value)
        lists = {key for key in value if key.strip().lower() in _LISTS}
        inside = {key: [*_items(one)] for key, one in value.items() if isinstance(one, list | dict)}
        found = [item for key, items in inside.items() for item in items if item or key in (lists or value)]
        if not any(found) and fields.keys() & {"subject", "relation", "words"}:
            found = [fields]
        listed |= not lists and texts >= _TEXTS_OF_A_ROW
    elif isinstance(value, list):
        found = [item for one in value if not isinstance(one, str) or not listed for item in _items(one, listed=True)]
    yield from found or ([{}] if listed and texts else [])


def _fields(item: Mapping[str, object]) -> dict[str, object]:
    """Return an item under our names of the keys; a key that has our name goes first."""
    folded = {key.strip().lower(): value for key, value in item.items()}
    return {_KEYS[key]: value for key, value in folded.items() if key in _KEYS} | folded


def _repaired(text: str, *, truncated: bool) -> tuple[list[Mapping[str, object]], list[str]]:
    """Return the flat objects in a text that are valid or can be repaired, and a reason for each of the others."""
    items: list[Mapping[str, object]] = []
    unread: list[str] = []
    for found in _FLAT.finditer(text):
        try:
            value = _DECODER.decode(found[0])
        except ValueError:
            value = repaired(found[0])
        made = [item for item in _items(value) if item]
        items += made
        unread += [] if made else [BROKEN]
    unread += [BROKEN_OFF.reason] * (not truncated and breaks_off(text))
    return items, unread or [BROKEN] * (not items and not truncated)


def _fact(item: Mapping[str, object], of_pass: Pass, relations: Mapping[str, str], passage: PassageText) -> FactRecord:
    if not item:
        raise _RejectedError(BROKEN)
    name = relations.get(folded(_text(item.get("relation"))))
    if name is None:
        raise _RejectedError(OTHER_RELATION)
    schema = of_pass.relations[name]
    subject, subject_type = _name(item, "subject", schema.from_types, of_row=of_pass.is_of_columns)
    words, when_words, when = _stands(item, passage), None, None
    end = _end(item, schema, passage, None if of_pass.is_of_columns else words)
    if end.object and name_key(end.object) == name_key(subject):
        raise _RejectedError(WITH_ITSELF)
    if schema.dated and (when_words := _text(item.get("when")) or None):
        if not passage.find(when_words):
            raise _RejectedError(TIME_LACKING)
        when = read_when(when_words)
    when = when or When(None, None, None, None)
    return FactRecord(
        subject, subject_type, name, end.object, end.object_type, end.value, schema.value, end.number, end.unit,
        end.value_date, when_words, *when, schema.single, *words,
    )  # fmt: skip


def _stands(item: Mapping[str, object], passage: PassageText) -> FoundWords:
    words = _text(item.get("words"))
    if not words:
        raise _RejectedError(NO_WORDS)
    if (span := passage.find(words)) is None:
        raise _RejectedError(WORDS_LACKING)
    return span


def _end(item: Mapping[str, object], schema: RelationSchema, passage: PassageText, said: FoundWords | None) -> _End:
    """Return the other end of a fact; `said` are the words of one in prose, None for a row of a table."""
    if schema.to_types:
        return _End(*_name(item, "object", schema.to_types, of_row=said is None))
    value = _text(item.get("value")) or _text(item.get("object"))
    if not value:
        raise _RejectedError(NO_VALUE)
    if schema.value == "yes/no":
        if (answer := read_yes_no(value)) is None:
            raise _RejectedError(NO_YES_NO)
        return _End(value=value, number=float(answer))
    if not (span := _place(value, passage, said if schema.value == "number" else None)):
        raise _RejectedError(VALUE_LACKING)
    value = _text(span.words)
    if schema.value == "date":
        if (day := read_date(value)) is None:
            raise _RejectedError(NO_DATE)
        return _End(value=value, value_date=day[0])
    if schema.value == "number":
        value = _BOLD_ENDS.sub("", value)
        number = read_number(value, schema.decimal)
        if number is None and said and not schema.decimal and passage.decimal:
            number = read_number(value, passage.decimal)
        once = value if said else value.partition(" or ")[0]  # columns write one in doubt in both ways
        in_doubt = number is None and not schema.decimal and read_number(once, ".") and read_number(once, ",")
        if in_doubt and said:
            behind = said.words[max(0, span.end - said.start) :].split()[:1]  # whole things, as employees
            whole = read_number(" ".join([value, *behind]))
            number = whole and (whole[0], "")
        if "mil" in value.casefold().split() and passage.decimal == ".":  # a million in English, elsewhere a thousand
            number = None
        if number is None:
            raise _RejectedError(IN_DOUBT if in_doubt else NO_NUMBER)
        return _End(value=value, number=number[0], unit=number[1] or (schema.unit and unit_of(schema.unit)))
    return _End(value=value)


def _place(value: str, passage: PassageText, said: FoundWords | None) -> FoundWords | None:
    """Return where a value stands; an amount that is `said` in the words of its fact only there, made whole."""
    if said is None:
        return passage.find(value)

    def inside(_: str, first: int, last: int) -> tuple[int, int] | None:
        return (first, last) if said.start <= first and last <= said.end else None

    if not passage.find(value, inside):
        return passage.find(value)
    return passage.find(value, lambda text, *place: whole_amount(text, *place) if inside(text, *place) else None)


def _name(item: Mapping[str, object], key: str, types: tuple[str, ...], *, of_row: bool) -> tuple[str, str]:
    """Return the name at one end of a fact, and its type, which one of several must be given."""
    written = _text(item.get(key))
    name = normalise_name(written)
    if of_row and not name and len(written) < 6 and written.replace(".", "").isdigit():
        name = written  # in prose a short number is no name; in a row it may be a customer's
    if not name:
        missing = NO_SUBJECT if key == "subject" else NO_OBJECT
        raise _RejectedError(LONG_NAME if len(written) > MAX_NAME_CHARACTERS else missing)
    known = {folded(one): one for one in types}
    given = folded(_text(item.get(f"{key}_type")))
    if not given and len(types) == 1:
        return name, types[0].lower()
    if given not in known:
        raise _RejectedError(OTHER_TYPE)
    return name, known[given].lower()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(visible(str(value)).split()) if isinstance(value, str | int | float) else ""


def merge_answers(answers: list[FactAnswer]) -> FactAnswer:
    """Return the answers about one chunk as one."""
    facts = dict.fromkeys(fact for one in answers for fact in one.facts)
    rejected = tuple(reason for one in answers for reason in one.rejected)
    return replace(answers[0], facts=tuple(facts), complete=all(a.complete for a in answers), rejected=rejected)
