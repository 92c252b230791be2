"""`readings check` and `readings draft`: the schemas of passes."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.pipeline.passes import pass_warnings
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.facts.columns import pass_of_columns
from lightrag_dagster.stages.facts.passes import PASS_NAME, Pass, load_passes
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published

_FOLDER = Path("readings")
_ACTIVE = 12
"""Relations of a draft before the rest are comments: a pass asks with all of them about every chunk."""


def check_readings(console: Console) -> None:
    """Print each pass with its relations; raises SettingsError, with file and line, for a file with a mistake."""
    settings = load_settings()
    passes = [(one, ", ".join(one.sources) or "all sources") for one in load_passes(settings.readings).values()]
    for name, source in settings.named_sources.items():
        if source.rows and source.rows.facts:
            passes.append((pass_of_columns(source.rows.facts), name))
    for one, sources in passes:
        console.print(f"{one.name} reads {sources}; types: {', '.join(one.types)}")
        columns = ("relation", "from", "to or value", "dated", "single")
        print_table(console, columns, [*_relations(one)], wrap=set(columns))
    if not passes:
        missing = "the setting `readings` names no folder of schemas, as `readings: readings` in lightrag.yaml does"
        if settings.readings:
            missing = f"no file NAME.yaml is in {settings.readings}"
        console.print(f"There is no pass: {missing}, and no source has rows.facts.")
        return
    try:
        warnings = [*pass_warnings(Situation.looking(settings))]
    except SourceError as error:  # as where schemas are checked without the sources
        warnings = [str(error)]
    for line in warnings:
        console.print(f"warning: {line}", style="yellow")


def _relations(one: Pass) -> Iterator[tuple[str, ...]]:
    for name, said in one.relations.items():
        end = " or ".join(said.to_types) or " in ".join(filter(None, (said.value, said.unit)))
        yield name, " or ".join(said.from_types), end, "yes" if said.dated else "", "yes" if said.single else ""


def draft_reading(console: Console, name: str) -> None:
    """Write a schema of what the published snapshot has most of, to be edited.

    Raises:
        SettingsError: the name is none of a pass, or its file is there.
        NoSnapshotError: nothing is published yet.
        StoreError: a table is missing or damaged.
    """
    settings = load_settings()
    folder = settings.readings or _FOLDER
    schema, place = folder / f"{name}.yaml", folder / f"{name}.yaml.draft"  # which no run reads
    if not PASS_NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} names no pass; begin it with a letter, then a-z, 0-9, - and _, at most 64 in all"
        )
    if there := [one for one in (schema, place) if one.exists()]:
        raise SettingsError(f"{there[0]} is there already; give the draft another name, or remove that file")
    home = Home.existing(settings)
    generation = Generation(home, require_published(home).snapshot_id)
    with open_tables(generation, ["entities", "relation_evidence"]) as connection:
        types = connection.execute(read_sql(__package__, "sql/types_of_draft")).fetchall()
        named = {"types": [kind for kind, _ in types]}
        relations = connection.execute(read_sql(__package__, "sql/relations_of_draft"), named).fetchall()
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_text(place, "\n".join(_draft(types, relations)) + "\n")
    console.print(
        f"{place} is written; types: {len(types)}, relations: {len(relations)}. Edit it, name it {schema.name}, then: "
        "readings check"
    )
    if settings.readings is None:
        console.print(f"It is read when lightrag.yaml has the line `readings: {folder}`.")


def _draft(types: Sequence[tuple[str, int]], relations: Sequence[tuple[str, str, str, int]]) -> Iterator[str]:
    yield "# A draft of what was found, with the number of names and passages; keep what you want to count, and say"
    yield "# what it means. Relations that were found have no direction: turn `from` and `to` where they are wrong."
    yield "types:"
    yield from (f"  {json.dumps(kind, ensure_ascii=False)}:  # {count:,} names" for kind, count in types)
    yield "relations:"
    for at, (keyword, start, end, count) in enumerate(relations):
        mark = "  " if at < _ACTIVE else "  # "
        ends = f"{{from: {json.dumps(start, ensure_ascii=False)}, to: {json.dumps(end, ensure_ascii=False)}}}"
        yield f"{mark}{json.dumps(keyword, ensure_ascii=False)}: {ends}  # {count:,} passages"
    yield "  # founded: {from: organization, value: date}"
    yield "  # revenue: {from: organization, value: number, unit: EUR, dated: true, single: true}"
