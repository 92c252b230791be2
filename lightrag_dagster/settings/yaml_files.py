"""YAML that people write: mappings in which no key is written twice, since YAML would take the last one in silence."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import yaml

from lightrag_dagster.errors import SettingsError


class _OnceLoader(yaml.SafeLoader):
    """The safe loader, which refuses a key that a mapping has twice, and says where a value is not of its kind."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (AttributeError, LookupError, ValueError) as error:  # such as a date that does not exist
            problem = f"this cannot be read as {node.tag.rpartition(':')[2]}; write a text in quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        seen = set[str]()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in seen:
                problem = f"{key.value!r} is written twice in one mapping; write it once"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_yaml(text: str | TextIO) -> Any:
    """Return the values of one YAML document; raises YAMLError if it is not valid or has a key twice."""
    loader = _OnceLoader(text)
    try:
        return loader.get_single_data()
    except RecursionError:
        raise yaml.MarkedYAMLError(problem="it is nested too deeply", problem_mark=loader.get_mark()) from None


def yaml_mistake(error: yaml.YAMLError) -> str:
    """Return the place of a mistake and the rule, without the line itself, which may hold a secret."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return type(error).__name__
    mark = error.problem_mark
    name = f" of {mark.name}".removesuffix(" of <unicode string>")  # of a text, whose file the reader names
    return f"line {mark.line + 1}, column {mark.column + 1}{name}: {error.problem}"


def lines_of(text: str, place: Iterable[int | str]) -> list[int]:
    """Return the line of each key of a place, down to the first that a document lacks."""
    node, lines = yaml.compose(text, yaml.SafeLoader), list[int]()
    for part in map(str, place):
        if isinstance(node, yaml.SequenceNode):
            inside = {str(at): (one, one) for at, one in enumerate(node.value)}
        else:
            inside = {key.value: (key, value) for key, value in _of_names(node)}
        if part not in inside:
            break
        key, node = inside[part]
        lines.append(key.start_mark.line + 1)
    return lines


def _of_names(node: yaml.Node | None) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """Return the names of a mapping and their values; none of another node."""
    found = node.value if isinstance(node, yaml.MappingNode) else ()
    return [(key, value) for key, value in found if isinstance(key, yaml.ScalarNode)]


def with_value(text: str, section: str, name: str, value: str) -> str | None:
    """Return settings in YAML with another value in a section, and all else as it is; None where that is not simple."""
    inside = {key.value: one for key, one in _of_names(yaml.compose(text, yaml.SafeLoader))}.get(section)
    line = "\r\n" if "\r\n" in text else "\n"
    if inside is None:
        start = len(text)
        end = len(text)
        said = f"{section}:{line}  {name}: {value}{line}"
        said = said if not text or text.endswith("\n") else f"{line}{said}"
    elif old := {key.value: one for key, one in _of_names(inside)}.get(name):
        start, end, said = old.start_mark.index, old.end_mark.index, value
    elif first := next((key.start_mark for key, _ in _of_names(inside)), None):
        between = ", " if text[inside.start_mark.index] == "{" else f"{line}{' ' * first.column}"
        start, end, said = first.index, first.index, f"{name}: {value}{between}"
    elif isinstance(inside, yaml.MappingNode):  # {}
        start, end, said = inside.start_mark.index, inside.end_mark.index, f"{{{name}: {value}}}"
    else:
        return None
    made, values = f"{text[:start]}{said}{text[end:]}", load_yaml(text) or {}
    wanted = {**values, section: {**(values.get(section) or {}), name: value}}
    try:
        return made if load_yaml(made) == wanted else None
    except yaml.YAMLError:
        return None


def read_settings(file: Path) -> dict[str, Any]:
    """Return the settings in a file, none if it is missing.

    Raises:
        OSError: it cannot be read.
        SettingsError: it is not a mapping of settings.
        UnicodeDecodeError: it is not UTF-8.
        YAMLError: it is not valid YAML.
    """
    if not file.is_file():
        return {}
    with file.open(encoding="utf-8") as text:
        values = load_yaml(text)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"{file} is not a mapping of settings; write each as `home: data`")
    if others := [name for name in values if not isinstance(name, str)]:
        raise SettingsError(
            f"setting {others[0]}: {file} has this name, which is a number or alike; correct or remove it"
        )
    return values
