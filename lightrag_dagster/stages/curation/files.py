"""Files of decisions: YAML, a list of mappings, and CSV, a row each, as a spreadsheet writes them.

- merge: [Acme Robotics, ACME Robotics Inc]
into: Acme Robotics
reason: the same register number
- remove: Acme Robotics
with: Oslo
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from lightrag_dagster.errors import DecisionError, one_line
from lightrag_dagster.settings import yaml_mistake
from lightrag_dagster.stages.curation.decisions import ACTIONS, Placed, check_decision

_SUFFIXES = {".yaml", ".yml", ".csv"}
_LISTS = ("sources", "paths", "types")
_COLUMNS = ("into", "type", "text", "keywords", *_LISTS, "reason", "author", "date")
_ESCAPED = "'"
_FORMULA = ("'=", "'+", "'-", "'@", "'\t", "'\r")


def read_files(place: Path) -> list[Placed]:
    """Read the decisions in a file, or in all YAML and CSV files below a folder.

    Raises:
        DecisionError: a file cannot be read, or is not of decisions; the message names file and line.
    """
    if not place.exists():
        raise DecisionError(f"{place}, the setting `curation`, is missing; make it, or unset the setting")
    if place.is_file() and place.suffix.lower() not in _SUFFIXES:
        raise DecisionError(f"{place} is not a file of decisions; name it .yaml or .csv")
    files = sorted(one for one in place.rglob("*") if one.is_file()) if place.is_dir() else [place]
    return [decision for file in files if file.suffix.lower() in _SUFFIXES for decision in _read(file, place)]


def _read(file: Path, place: Path) -> Iterator[Placed]:
    name = str(Path(place.name) / file.relative_to(place)) if place.is_dir() else file.name
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DecisionError(f"{file} cannot be read: {one_line(error)}; save it as UTF-8") from error
    return _of_csv(text, name) if file.suffix.lower() == ".csv" else _of_yaml(text, name)


def _of_yaml(text: str, name: str) -> Iterator[Placed]:
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        entries = yaml.safe_load(text) or []
    except yaml.YAMLError as error:
        raise DecisionError(f"{name} is not valid YAML: {yaml_mistake(error)}") from None
    if not isinstance(entries, list) or root is None:
        if root is None:
            return
        raise DecisionError(f"{name} is not a list of decisions; begin each with `- merge: …` or another action")
    for node, entry in zip(root.value, entries, strict=True):
        yield _of_mapping(entry, f"{name}:{node.start_mark.line + 1}")


def _of_mapping(entry: object, place: str) -> Placed:
    if not isinstance(entry, dict):
        raise DecisionError(f"{place}: a decision is a mapping, as `merge: [Acme, ACME Inc]`")
    values = dict(entry)
    actions = [action for action in ACTIONS if action in values]
    if len(actions) != 1:
        raise DecisionError(f"{place}: a decision has one of {', '.join(ACTIONS)}, not {len(actions)} of them")
    (action,) = actions
    names = [*_as_list(values.pop(action)), *_as_list(values.pop("with", None))]
    if unknown := sorted(map(str, values.keys() - set(_COLUMNS))):
        raise DecisionError(f"{place}: {action} has no {unknown[0]!r}; there are {', '.join(('with', *_COLUMNS))}")
    if len(_as_list(entry[action])) > 1 and action not in ("merge", "apart"):
        raise DecisionError(f"{place}: {action} takes one entity; name the other end of a relation in `with`")
    lists = {one: tuple(_as_list(values.get(one))) for one in _LISTS}
    return check_decision(place, **values | lists, action=action, names=tuple(names))


def _of_csv(text: str, name: str) -> Iterator[Placed]:
    header = text.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","  # as spreadsheets of many countries write it
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = [column.strip() for column in rows.fieldnames or ()]
    rows.fieldnames = columns
    if missing := [column for column in ("action", "name") if column not in columns]:
        raise DecisionError(f"{name}:1: there is no column {missing[0]!r}; the first line names the columns")
    for row in rows:
        values = {column: _cell(value) for column, value in row.items() if isinstance(value, str)}
        place = f"{name}:{rows.line_num - sum(value.count(chr(10)) for value in values.values())}"
        if not (action := values.get("action", "")):
            continue  # a row of a review that nobody decided
        names = tuple(value for value in (values.get("name"), values.get("with")) if value)
        lists = {one: tuple(part.strip() for part in values.get(one, "").split(";") if part.strip()) for one in _LISTS}
        given = {column: values[column] for column in _COLUMNS if values.get(column)}
        yield check_decision(place, **given | lists, action=action.lower(), names=names)


def _cell(value: str) -> str:
    """Return a cell without the sign that keeps a spreadsheet from taking it for a formula."""
    value = value.strip()
    return value.removeprefix(_ESCAPED) if value.startswith(_FORMULA) else value


def _as_list(value: object) -> Sequence[str]:
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
