"""Files of decisions: YAML, a list of mappings, and CSV, a row each, as a spreadsheet writes them.

- merge: [Acme Robotics, ACME Robotics Inc]
into: Acme Robotics
reason: the same register number
- remove: Acme Robotics
with: Oslo
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import yaml

from lightrag_dagster.core.text.sheets import files_of, read_sheet, read_text
from lightrag_dagster.curation.rules.decisions import ACTIONS, Placed, check_decision
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.settings import yaml_mistake

_SUFFIXES = (".yaml", ".yml", ".csv")
_LISTS = ("sources", "paths", "types", "scopes")
_COLUMNS = ("into", "type", "text", "keywords", *_LISTS, "reason", "author", "date")
_QUOTED = r'\s*"((?:[^"]|"")*)"\s*'
_VALUE = re.compile(rf"(?:{_QUOTED}|([^;]*))(?:;|$)")
"""A value of a cell of several: in quotes, which are doubled in it, or what is before the next semicolon."""


def in_a_cell(name: str) -> str:
    """Return a name as one value of a cell that may hold several: in quotes if it would be read as another."""
    quoted = name.replace('"', '""')
    return f'"{quoted}"' if ";" in name or name.startswith('"') else name


def read_files(place: Path) -> list[Placed]:
    """Read the decisions in a file, or in all YAML and CSV files below a folder that are not hidden.

    Raises:
        DecisionError: a file cannot be read, or is not of decisions; the message names file and line.
    """
    if not place.exists():
        raise DecisionError(f"{place}, the setting `curation`, is missing; make it, or unset the setting")
    if not place.is_dir() and place.suffix.lower() not in _SUFFIXES:
        raise DecisionError(f"{place} is not a file of decisions; name it .yaml or .csv")
    files = files_of(place, *_SUFFIXES, deep=True) if place.is_dir() else [place]
    return [decision for file in files for decision in _read(file, place)]


def _read(file: Path, place: Path) -> Iterable[Placed]:
    name = str(Path(place.name) / file.relative_to(place)) if place.is_dir() else file.name
    text = read_text(file, DecisionError, *(["cp1252"] if file.suffix.lower() == ".csv" else []))
    if file.suffix.lower() != ".csv":
        return _of_yaml(text, name)
    return {one.decision.content: one for one in _of_csv(text, name)}.values()  # sheets of two people in one


def _of_yaml(text: str, name: str) -> Iterator[Placed]:
    # The base loader takes every value for text: `no` and 010 are names, too.
    try:
        root = yaml.compose(text, yaml.BaseLoader)
        entries = yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise DecisionError(f"{name} is not valid YAML: {yaml_mistake(error)}") from None
    except RecursionError:
        raise DecisionError(f"{name} is nested too deeply; a decision is a mapping of texts and lists") from None
    if root is None:
        return
    if not isinstance(entries, list):
        raise DecisionError(f"{name} is not a list of decisions; begin each with `- merge: …` or another action")
    beginning = Counter(node.start_mark.line for node in root.value)
    for number, (node, entry) in enumerate(zip(root.value, entries, strict=True), 1):
        several = f" (decision {number})" if beginning[node.start_mark.line] > 1 else ""  # as a program writes JSON
        place = f"{name}:{node.start_mark.line + 1}{several}"
        keys = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise DecisionError(f"{place}: the decision has {twice[0]!r} twice; write it once")
        yield _of_mapping(entry, place)


def _of_mapping(entry: object, place: str) -> Placed:
    if not isinstance(entry, dict):
        raise DecisionError(f"{place}: a decision is a mapping, as `merge: [Acme, ACME Inc]`")
    values = dict(entry)
    if nested := [key for key, value in values.items() if not _is_text(value)]:
        raise DecisionError(f"{place}: {nested[0]} takes a text, or a list of texts")
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
    for place, values in read_sheet(text, name, ("action", "name"), DecisionError):
        if not (action := values.get("action", "").lower()):
            continue  # a row of a review without a decision
        other = values.get("with", "")
        is_one = action not in ("merge", "apart") and not re.fullmatch(_QUOTED, other)
        names = tuple(filter(None, (values.get("name", ""), *([other] if is_one else _values(other)))))
        lists = {one: tuple(_values(values.get(one, ""))) for one in _LISTS}
        given = {column: values[column] for column in _COLUMNS if values.get(column)}
        yield check_decision(place, **given | lists, action=action, names=names)


def _values(cell: str) -> list[str]:
    """Return the values of a cell, which are separated by semicolons; one in quotes may have some of its own."""
    found = (quoted.replace('""', '"') or plain for quoted, plain in _VALUE.findall(cell))
    return [value.strip() for value in found if value.strip()]


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _as_list(value: object) -> Sequence[str]:
    return [] if value is None else [str(one) for one in value] if isinstance(value, list) else [str(value)]
