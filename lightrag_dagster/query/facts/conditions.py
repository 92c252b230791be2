"""Conditions on facts, checked before anything is looked up."""

import re
from dataclasses import dataclass, replace
from datetime import date
from numbers import Real
from typing import Literal, NamedTuple, TypedDict

from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import day_of, instance, shown, suggested, text, wrong
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.stages.facts.values import read_number, unit_of

By = Literal["relation", "subject", "object", "type", "value", "year"]

_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?: (\S.*))?")
_IN_DOUBT = re.compile(r"-?[1-9]\d{0,2}[.,]\d{3}(?: .*)?")
_DAY = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_COMPARED = re.compile(r"(<=|>=|<|>|=) ?(.*)")
_SIGNS = {"<": [-1], "<=": [-1, 0], "=": [0], ">=": [0, 1], ">": [1]}
_ANSWERS = {"yes": 1.0, "no": 0.0}


class FactOptions(TypedDict, total=False):
    """Conditions on facts besides their subject; all given ones must hold."""

    relation: str | None
    """A relation of the schemas, in any case, with spaces or underscores."""
    object: str | None
    """Name or id of the entity at the other end."""
    type: str | None
    """The type of the subject, as the passes read it."""
    value: str | float | bool | None
    """A value: a number, alone or with a unit (`4.2 EUR`, `$3 million`), a date (`2024-03-31`; `2024-03` is its first
    day), `yes`, `no`, or a value as written, in any case. One of `<`, `<=`, `=`, `>=`, `>` before a number or date
    compares with it."""
    source: str | None
    """Only what this source says: a short form of `filters`."""
    as_of: date | str | None
    """Only what held on this day; of a month or year its first day."""
    contradicted: bool | None
    """True for only facts that another one contradicts."""


class ValueCondition(NamedTuple):
    """A condition on values: a text, or the signs that a difference from a number or day may have."""

    text: str | None = None
    signs: list[int] | None = None
    number: float | None = None
    unit: str | None = None
    day: date | None = None
    is_answer: bool = False


@dataclass(frozen=True)
class Conditions:
    """Conditions on facts that are well formed."""

    names: dict[str, str]
    """Names of entities, by `subject` and `object`."""
    words: dict[str, str]
    """Words of the schemas, by `relation` and `type`."""
    value: ValueCondition
    as_of: date | None
    contradicted: bool
    filters: Filters


def conditions_of(subject: str | None, filters: Filters | None, given: FactOptions) -> Conditions:
    """Check the conditions on facts; raises QueryError."""
    for name in given:
        if name not in FactOptions.__annotations__:
            raise QueryError(f"there is no condition {shown(name)}{suggested(name, FactOptions.__annotations__)}")
    texts = {"subject": subject} | {name: given.get(name) for name in ("object", "relation", "type")}
    said = {name: text(one, name) for name, one in texts.items() if one is not None}
    words = {name: said.pop(name) for name in [*said] if name in ("relation", "type")}
    allowed = instance(filters or Filters(), Filters, "filters", 'Filters, such as Filters("a")')
    if (source := given.get("source")) is not None:
        if allowed.sources is not None:
            raise QueryError("source and filters.sources are both given; leave one out")
        allowed = replace(allowed, sources=text(source, "source"))
    day = None if (said_day := given.get("as_of")) is None else day_of(said_day)
    contradicted = instance(given.get("contradicted") or False, bool, "contradicted", "True or False")
    return Conditions(said, words, compared(given.get("value")), day, contradicted, allowed)


def compared(value: object) -> ValueCondition:
    """Read a condition on values, see `FactOptions`; raises QueryError."""
    if value is None:
        return ValueCondition()
    if isinstance(value, bool):
        value = "yes" if value else "no"
    try:
        asked = str(float(value)) if isinstance(value, Real) else text(value, "value").strip()
    except OverflowError:
        raise wrong("value", "a number below 1e308", value) from None
    sign = _COMPARED.fullmatch(asked)
    operator, operand = (sign[1], sign[2].strip()) if sign else ("=", asked)
    found = ValueCondition(operand if operator == "=" else "", _SIGNS[operator])
    if number := _number(operand, may_doubt=not isinstance(value, Real)):
        return found._replace(number=number[0], unit=number[1] or None)
    if _DAY.fullmatch(operand):
        try:
            return found._replace(day=day_of(operand, "value"))
        except QueryError:
            if sign:
                raise
    if operator != "=" or not operand or re.match("[!≠≤≥]|=[<>=]", asked):
        raise wrong("value", "a text, or a number or date after a sign, such as >=100, >=100 EUR or <2024-03", value)
    if operand.lower() in _ANSWERS:
        return found._replace(number=_ANSWERS[operand.lower()], is_answer=True)
    return found._replace(signs=[])


def _number(operand: str, *, may_doubt: bool) -> tuple[float, str] | None:
    """Return a number and its unit: as facts are read, but a dot before the unit alone is decimal.

    Raises QueryError for one that may be a thousand times as much, as `50.000 EUR`, where it is text.
    """
    read, plain = read_number(operand), _NUMBER.fullmatch(operand)
    by_dot, by_comma = (read_number(operand, decimal) for decimal in ".,")
    is_plain = plain and (read is None or unit_of(plain[2] or "") == read[1])
    if may_doubt and by_dot and by_comma and _IN_DOUBT.fullmatch(operand) and (is_plain or read is None):
        forms = (f"{one:.12g}" for one in sorted((by_dot[0], by_comma[0])))
        either = " or ".join(f"{one}0" if _IN_DOUBT.fullmatch(one) else one for one in forms)  # 3.141 is in doubt too
        raise QueryError(f"value {shown(operand)} may be {either}: write the number as one of these")
    return (float(plain[1]), unit_of(plain[2] or "")) if plain and is_plain else read
