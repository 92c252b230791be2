"""Facts that the columns of a table state: lines of the document that a row becomes, read again without a model."""

import json
import re
from collections.abc import Callable, Sequence

from lightrag_dagster.core.text.sanitise import sanitise, with_characters
from lightrag_dagster.fact_schemas import OF_COLUMNS
from lightrag_dagster.settings.sources import FactColumns
from lightrag_dagster.stages.facts.passes import Pass
from lightrag_dagster.stages.facts.values import NO_CENTS

_NUMBER_ALONE = re.compile(r"[-+]?[\d.,'’ ]+[-–—]*")
_DIGITS = re.compile(r"\d(?:[\d.,'’ ]*\d)?")
_MINUS_BEHIND = re.compile(r"([^-]*\d)(?![.,]-)(?:-((?: [^-]*)?)|( ?[^-\d]+)-)")
"""As SAP and German accounts write it: `1.234,50-`, `5,00- EUR`, `5,00 EUR-`; `5,-` has no cents."""
_IN_DOUBT = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
"""A number whose sign may be decimal or group, as long as the column does not say which."""

_BY_SIGN = {
    ".": re.compile(r"(\d+|\d{1,3}(?:[,'’ ]\d{3})+)(?:\.(\d+))?"),
    ",": re.compile(r"(\d+|\d{1,3}(?:[.'’ ]\d{3})+)(?:,(\d+))?"),
}
_BITS = {"1": "yes", "0": "no"}
_OPEN = re.compile(r"9999\b|.*\b9999\Z|99991231\Z|(?:nat|nan|none|null|infinity)\Z", re.IGNORECASE)
"""Ends that tables write for none."""

_NOTHING = {"null", "\\n", "n/a", "#n/a", "nan", "none", "nil", "-"}
"""Cells that tables write for an empty one."""
FACTS_FOLLOW = b"\n\x1dFacts:\x1d\n"
"""The last of these in a row's document is before its lines, which have no control character."""

LINE = re.compile(r"^(?P<words>Fact: (?P<cells>[^|\n]+(?: \|[^|\n]*){3}))\|$", re.MULTILINE)
"""The line of a fact; the mark at its end is missing where a chunk cuts it."""

MOST_CHARACTERS = 2_000
"""The longest line, since a chunk may be longer than its size by one."""


Fill = Callable[[str, str | None], str]
"""Returns a template with the row's columns filled in, whose numbers have a decimal sign, if one is given."""


def fact_lines(facts: Sequence[FactColumns], fill: Fill) -> str:
    """Return a line for each fact of a row: subject, relation, object or value, and when; none without an end."""
    return "\n".join(filter(None, (_line(one, fill) for one in facts)))


def with_lines(text: str, lines: str) -> str:
    """Return what was read of other columns, without lines that could state facts where a chunk begins, and `lines`."""
    # After it was read, since references, tags and characters that nothing shows may hide a line from us.
    told = "\n".join(one.replace("Fact:", "Fact –") if one.count("|") > 3 else one for one in text.split("\n"))
    return "\n\n".join(filter(None, (told, lines)))


def _line(fact: FactColumns, fill: Fill) -> str:
    def said(template: str | None) -> str:
        text = sanitise(with_characters(fill(template, fact.decimal))) if template else ""
        cell = " ".join(text.replace("|", "/").split())
        return "" if cell.casefold() in _NOTHING else cell

    subject, end = said(fact.subject), said(fact.object or fact.value)
    first, last = (said(one) if not _OPEN.match(said(one)) else "" for one in (fact.valid_from, fact.valid_to))
    when = f"from {first} to {last}" if first and last else first or (last and f"until {last}")
    if fact.value and fact.kind == "number":
        unit = fact.unit or "" if _NUMBER_ALONE.fullmatch(end) else ""
        end = f"{_plain(end, fact.decimal)} {unit}".strip()
    if fact.value and fact.kind == "yes/no":
        end = _BITS.get(end, end)
    line = f"Fact: {subject} | {fact.relation} | {end} | {when} |" if subject and end else ""
    # One that is too long is rejected for its name or the end that it lacks.
    return line if len(line) <= MOST_CHARACTERS else f"Fact: {subject[:300]} | {fact.relation} |  |  |"


def _plain(cell: str, sign: str | None) -> str:
    """Return a cell with its number as it can be read in one way; one in doubt as both, so that it is none."""
    runs = _DIGITS.findall(cell)
    if len(runs) != 1:
        return cell
    (digits,) = runs
    in_doubt = f"{digits} or " + re.sub(r"\D", "", digits)
    if negative := _MINUS_BEHIND.fullmatch(cell):
        cell = f"-{negative[1]}{negative[2] or negative[3] or ''}"
    is_whole = re.search(rf"\d{NO_CENTS}", cell)
    is_in_doubt = _IN_DOUBT.fullmatch(digits)
    if sign is None or (is_whole and is_in_doubt):
        return cell.replace(digits, in_doubt) if is_in_doubt and not is_whole else cell
    if not (found := _BY_SIGN[sign].fullmatch(digits)):
        return cell.replace(digits, in_doubt)
    # Three decimals would be a group of thousands; with a fourth they are none.
    decimals = f".{found[2]}{'0' if len(found[2]) == 3 else ''}" if found[2] else ""
    return cell.replace(digits, re.sub(r"\D", "", found[1]) + decimals)


def answer_of(passage: str) -> str:
    """Return the facts of the lines in a passage, as a model answers."""
    found = []
    for line in LINE.finditer(passage):
        subject, relation, end, when = (cell.strip() for cell in line["cells"].split(" |"))
        said = {"subject": subject, "relation": relation, "object": end, "value": end, "when": when}
        found.append({"words": line["words"].rstrip(" |"), **said})
    return json.dumps({"facts": found}, ensure_ascii=False)


def pass_of_columns(facts: Sequence[FactColumns]) -> Pass:
    """Return the pass that reads such lines, whose schema is that of the columns."""
    types = {of_type: "" for one in facts for of_type in (one.subject_type, one.object_type)}
    relations = {
        one.relation: _relation(one) for one in sorted(facts, key=lambda one: bool(one.valid_from or one.valid_to))
    }
    return Pass.model_validate({"name": OF_COLUMNS, "types": types, "relations": relations})


def _relation(fact: FactColumns) -> dict[str, object]:
    end = {"to": fact.object_type} if fact.object else {"value": fact.kind}
    unit = {"unit": fact.unit} if fact.unit and fact.value and fact.kind == "number" else {}
    dated = bool(fact.valid_from or fact.valid_to)
    return {"from": fact.subject_type, "dated": dated, "single": fact.single} | end | unit
