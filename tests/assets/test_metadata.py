"""Texts that Dagster shows as Markdown."""

import re

import pyarrow as pa
import pytest

from assets.metadata import preview
from lightrag_dagster import schemas

SCHEMAS = [value for value in vars(schemas).values() if isinstance(value, pa.Schema)]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("One.<SEP>Two.", "One.&lt;SEP&gt;Two."),
        ("a | b", r"a \| b"),
        ("<" * 61, "&lt;" * 59 + "…"),
        ("two\nlines", "two lines"),
        (None, ""),
        ([1, 2], "[1, 2]"),
    ],
)
def test_a_preview_shows_every_character(value: object, cell: str) -> None:
    assert preview(pa.table({"column": pa.array([value])})).splitlines()[-1] == f"| {cell} |"


@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_description_of_a_field_holds_a_tag(schema: pa.Schema) -> None:
    for field in schema:
        description = field.metadata[b"description"].decode()
        assert "<" not in re.sub(r"`[^`]*`", "", description)
