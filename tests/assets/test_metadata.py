"""Texts that Dagster shows as Markdown: those of documents are shown, and nothing of them is fetched or linked."""

import re

import pyarrow as pa
import pytest

from lightrag_dagster import schemas
from lightrag_dagster.assets.metadata import preview
from lightrag_dagster.assets.status_report import _table
from lightrag_dagster.pipeline.pending import Pending, SourceState
from tests.assets.markdown import cells

SCHEMAS = [value for value in vars(schemas).values() if isinstance(value, pa.Schema)]
HOSTILE = ("![x](http://host/1.png)", "[a](http://host)", "<img src=http://host/1.png>", "http://host/a", "`a` | **b**")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("One.<SEP>Two.", "One.<SEP>Two."),
        ("a | b", "a | b"),
        ("<" * 61, "<" * 59 + "…"),
        ("two\nlines", "two lines"),
        (None, ""),
        ([1, 2], "[1, 2]"),
        *((one, one) for one in HOSTILE),
    ],
)
def test_a_preview_shows_every_character(value: object, shown: str) -> None:
    assert cells(preview(pa.table({"column": pa.array([value])}))) == ["column", shown]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_report_shows_every_character(hostile: str) -> None:
    states = {"notes": SourceState("notes", problem=f"{hostile}.txt:\nnot UTF-8")}
    shown = cells(_table(Pending(states)))[5:]
    assert shown == ["notes", f"cannot be ingested: {hostile}.txt: not UTF-8", "", "", ""]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_description_of_a_field_holds_a_tag(schema: pa.Schema) -> None:
    for field in schema:
        description = field.metadata[b"description"].decode()
        assert "<" not in re.sub(r"`[^`]*`", "", description)
