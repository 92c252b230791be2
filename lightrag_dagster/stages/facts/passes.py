"""Passes: files of `readings`, each a schema by which chunks are read for facts, beside the reading for entities."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.names import folded
from lightrag_dagster.core.text.sheets import files_of
from lightrag_dagster.errors import SettingsError, one_line
from lightrag_dagster.fact_schemas import OF_COLUMNS
from lightrag_dagster.settings.unknown import first_fault
from lightrag_dagster.settings.yaml_files import lines_of, load_yaml, yaml_mistake

ValueKind = Literal["number", "date", "text", "yes/no"]

PASS_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_MOST_BYTES = 1_000_000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("from_types", "to_types", "sources", mode="before", check_fields=False)
    @classmethod
    def _may_be_one(cls, given: object) -> object:
        return [given] if isinstance(given, str) else () if given is None else given


class RelationSchema(_Strict):
    """A kind of fact: from which types, and to which, or with which kind of value."""

    from_types: tuple[str, ...] = Field(alias="from", min_length=1)
    to_types: tuple[str, ...] = Field(default=(), alias="to")
    value: ValueKind | None = None
    unit: str | None = None
    decimal: Literal[".", ","] | None = None
    dated: bool = False
    single: bool = False
    description: str = ""
    example: str = ""

    @model_validator(mode="after")
    def _has_one_end(self) -> Self:
        if bool(self.to_types) == bool(self.value):
            raise ValueError("give it either `to`, the types at its other end, or `value`, the kind of its value")
        if (self.unit or self.decimal) and self.value != "number":
            raise ValueError("`unit` and `decimal` are of a number; write `value: number`, or leave them out")
        return self


class Pass(_Strict):
    """A named way of reading chunks by a schema: types of entities, and relations between them or with values."""

    name: str = Field(exclude=True)
    sources: tuple[Annotated[str, AfterValidator(composed)], ...] = ()
    types: dict[str, str] = Field(min_length=1)
    relations: dict[str, RelationSchema] = Field(min_length=1)

    @field_validator("types", mode="before")
    @classmethod
    def _may_be_list(cls, types: object) -> object:
        described = types
        if isinstance(types, list) and all(isinstance(one, str) for one in types):
            described = dict.fromkeys(types, "")
        return {k: v or "" for k, v in described.items()} if isinstance(described, dict) else described

    @cached_property
    def asked(self) -> str:
        """A hash of what the question about a chunk says of it, without `single`, `decimal` and `sources`."""
        said = {name: one.model_dump(exclude={"single", "decimal"}) for name, one in self.relations.items()}
        return digest(self.types, said)

    @cached_property
    def parsed(self) -> str:
        """A hash of all that shapes its facts."""
        signs = {name: one.decimal for name, one in self.relations.items() if one.decimal}
        return digest(self.asked, [name for name, one in self.relations.items() if one.single], signs)

    @property
    def is_of_columns(self) -> bool:
        """True for the pass of sources whose columns state facts."""
        return self.name == OF_COLUMNS

    def reads(self, source: str) -> bool:
        """Say whether it reads the chunks of a source."""
        return not self.sources or composed(source) in self.sources


def load_passes(folder: Path | None) -> dict[str, Pass]:
    """Return the passes of a folder by name, in order; none without a folder.

    Raises:
        SettingsError: the folder or a file cannot be read, or a file has a mistake; with file and line.
    """
    if folder is None:
        return {}
    try:
        files = files_of(folder, ".yaml", ".yml")
    except OSError as error:
        raise SettingsError(
            f"the folder of schemas {folder} cannot be read: {error.strerror or error}; name one that is there, or none"
        ) from error
    found = [_read(file) for file in files]
    if any(one.name == OF_COLUMNS for one in found):
        raise SettingsError(f"{folder}: {OF_COLUMNS} is the pass of sources whose columns are facts; rename the file")
    if twice := [name for name, number in Counter(one.name for one in found).items() if number > 1]:
        raise SettingsError(f"{folder}: two files are the pass {twice[0]}; remove one of them")
    return {one.name: one for one in found}


def _read(file: Path) -> Pass:
    if not PASS_NAME.fullmatch(file.stem):
        raise SettingsError(f"{file} names a pass; begin it with a letter, then a-z, 0-9, - and _, at most 64 in all")
    if not file.is_file() or file.stat().st_size > _MOST_BYTES:
        raise SettingsError(f"{file} cannot be used: a schema is a file of at most {_MOST_BYTES:,} bytes")
    try:
        text = file.read_text(encoding="utf-8-sig")
        values = load_yaml(text)
        json.dumps(values, ensure_ascii=False, default=str).encode()  # an escape may be half a character
    except (OSError, UnicodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}; save it as UTF-8") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"{file} is not valid YAML: {yaml_mistake(error)}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise SettingsError(
            f"{file} is not valid YAML: {one_line(error)}; write dates and the like in quotes"
        ) from error
    if not isinstance(values, Mapping):
        raise SettingsError(f"{file} is not a mapping with `types` and `relations`")
    if "name" in values:
        raise SettingsError(f"{file}, line {_line_of(text, ['name'])}: a pass has the name of its file; remove `name`")
    try:
        one = Pass.model_validate({str(key): value for key, value in values.items()} | {"name": file.stem})
    except ValidationError as error:
        what, place = first_fault(error, Pass), error.errors()[0]["loc"]
        if place[-1:] == ("[key]",):
            what = f"{place[0]}: a name is a text, and YAML reads this one as another value; write it in quotes"
        step = "" if what.endswith("?") else "; correct it and run again"
        raise SettingsError(f"{file}, line {_line_of(text, place)}: {what}{step}") from error
    _check_names(file, text, one)
    return one


def _check_names(file: Path, text: str, one: Pass) -> None:
    """Refuse a relation between other types, and two names that are one."""
    for name, relation in one.relations.items():
        if others := {*relation.from_types, *relation.to_types} - {*one.types}:
            what = f"relations.{name}: it names {', '.join(sorted(others))}, which `types` lacks; add it there"
            raise SettingsError(f"{file}, line {_line_of(text, ['relations', name])}: {what}, or name one that it has")
    for key, names in (("types", one.types), ("relations", one.relations)):
        known = {"": ""}
        for name in names:
            if not name.isprintable():
                raise SettingsError(f"{file}, line {_line_of(text, [key, name])}: {name!r} is more than a line of text")
            if (other := known.setdefault(folded(name), name)) != name:
                what = f"{key}.{name}: it is {other} in other letters" if other else f"{key}: {name!r} has no letter"
                raise SettingsError(f"{file}, line {_line_of(text, [key, name])}: {what}; give it another name")


def _line_of(text: str, place: Iterable[int | str]) -> int:
    """Return the line of the deepest key of a place that the file has."""
    return [1, *lines_of(text, place)][-1]
