"""Reasons for which a table of a source has to be made again, from records alone."""

from collections.abc import Mapping

from lightrag_dagster.fact_schemas import PASS_TABLES, of_pass
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.stages.extraction.mentions import unreadable
from lightrag_dagster.storage.tables.acceptance import made_from
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion


def why_again(source: str, listing: str, tables: SourceTables, recipes: Recipes) -> str | None:
    """Return the first table of a source, or of a pass, that has to be made again, and the reason."""
    versions = dict[str, str]()
    passes = (of_pass(kind, one.name) for one in recipes.passes_to_read(source) for kind in PASS_TABLES)
    for table in (*SOURCE_TABLES, *passes):
        current, parent = tables.current(table, source), made_from(table)
        inputs = {parent: versions[parent]} if parent else {"files": listing}
        if current and table == "extractions" and "raw_documents" in current.inputs:
            inputs["raw_documents"] = versions["raw_documents"]  # whose languages its answers follow
        reason = _why_table(current, inputs, tables, recipes) if current else "never made"
        if reason or current is None:
            return f"{table}, {reason}"
        versions[table] = current.version
    return None


def _why_table(current: TableVersion, inputs: Mapping[str, str], tables: SourceTables, recipes: Recipes) -> str | None:
    table, recipe = current.table, recipes.row_recipe(current.table)
    if current.inputs != inputs:
        return "input changed"
    if current.recipe != recipes.table_recipe(table, current.source):
        return "code or settings changed"
    if tables.has_lost(current):
        return "a file of it is missing"
    failed = failed_for_now(current)
    if recipes.settings.retries_failed:
        failed += current.count("error_kind", "permanent")
        failed += _unreadable(tables, current.source) if table == "extractions" else 0
    if failed:
        return f"{failed:,} chunks failed that may succeed now"
    if tables.candidate and recipe and (outdated := current.outdated(recipe)):
        return f"{outdated:,} rows are outdated"
    return None


def failed_for_now(version: TableVersion) -> int:
    """Return the number of chunks that failed and may succeed now."""
    return version.count("error_kind", "transient")


def _unreadable(tables: SourceTables, source: str) -> int:
    """Return the number of chunks that did not fail, and without a row that could be read."""
    if (parsed := tables.current("parsed", source)) is None or not parsed.sums.get("rejected_rows"):
        return 0
    return len(unreadable(tables.read("parsed", source, parsed.version)))
