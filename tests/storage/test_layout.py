"""The layout of a home: what changes its hash, and that no record is forgotten."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import GenericAlias
from typing import Annotated, Any, get_args

import pyarrow as pa
import pytest
from pydantic import AfterValidator, create_model

import lightrag_dagster
from lightrag_dagster import schemas
from lightrag_dagster.storage import layout as layouts
from lightrag_dagster.storage.layout import RECORDS, layout
from lightrag_dagster.storage.records import Pointer, Record, SummedRecord

STATES = {"Format", "Left", "Collection", "Unfinished"}
"""Records that no other file follows from; each says how it is mended."""


@pytest.fixture(autouse=True)
def _each_time() -> Iterator[None]:
    layout.cache_clear()
    yield
    layout.cache_clear()


def test_it_follows_from_the_columns_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    before = layout()
    with_a_mood = schemas.CHUNKS.append(schemas.column("mood", pa.string(), "How it reads.", nullable=True))
    monkeypatch.setitem(schemas.SOURCE_TABLES, "chunks", with_a_mood)
    layout.cache_clear()
    assert layout() != before


def test_a_description_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = layout()
    fields = [field.with_metadata({"description": "Other words."}) for field in schemas.CHUNKS]
    monkeypatch.setitem(schemas.SOURCE_TABLES, "chunks", pa.schema(fields))
    layout.cache_clear()
    assert layout() == before


@pytest.mark.parametrize("field", [(str, "fair"), (str | None, None), (dict[str, int], {})])
def test_it_follows_from_the_fields_of_records(monkeypatch: pytest.MonkeyPatch, field: object) -> None:
    before = layout()
    moody = create_model("Pointer", __base__=Pointer, mood=field)  # type: ignore[call-overload]
    monkeypatch.setattr(layouts, "RECORDS", (moody, *RECORDS[1:]))
    layout.cache_clear()
    assert layout() != before


def test_checks_of_values_are_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for value in (str, Annotated[str, AfterValidator(lambda one: one)]):
        with monkeypatch.context() as patched:
            kind: Any = GenericAlias(dict, (value, value))
            moody = create_model("Pointer", __base__=Pointer, mood=(kind, {}))
            patched.setattr(layouts, "RECORDS", (moody, *RECORDS[1:]))
            layout.cache_clear()
            found.append(layout())
    assert found[0] == found[1]


def test_every_record_is_in_it() -> None:
    for module in pkgutil.walk_packages(lightrag_dagster.__path__, "lightrag_dagster."):
        if module.name.startswith(tuple(f"lightrag_dagster.{room}" for room in ("storage", "pipeline", "purge"))):
            import_module(module.name)
    held = set[type]()
    for kind in RECORDS:
        _collect(kind, held)
    assert {one.__name__ for one in _records(Record) if one not in held and not one.__name__.startswith("_")} == STATES


def _records(kind: type[Record]) -> Iterator[type[Record]]:
    for one in kind.__subclasses__():
        if one.__module__.startswith("lightrag_dagster."):
            yield from () if one is SummedRecord else (one,)  # a base alone
            yield from _records(one)


def _collect(kind: object, held: set[type]) -> None:
    """Add a record, and those in its fields."""
    if isinstance(kind, type) and issubclass(kind, Record):
        held.add(kind)
        for field in kind.model_fields.values():
            _collect(field.annotation, held)
    for one in get_args(kind):
        _collect(one, held)
