"""`outdated` on `extractions`: the rows of a source that a backfill would make again, and the partitions to choose."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress

import dagster as dg

from lightrag_dagster.assets.metadata import warned
from lightrag_dagster.errors import LightRAGError
from lightrag_dagster.fact_schemas import kind_of
from lightrag_dagster.pipeline.extractions import cost_of
from lightrag_dagster.pipeline.outdated import outdated_rows
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion

_PLAIN = re.compile(r"[\w.-]+")


def judged_outdated(lightrag: LightRAG, sources: Sequence[str], backfill: bool) -> dict[str, dg.AssetCheckResult]:
    """Warn of outdated rows, after a `backfill` in the tables that it made."""
    situation = Situation.looking(lightrag.settings)
    tables = lightrag.tables(candidate=backfill)
    versions = dict[str, Mapping[str, TableVersion]]()
    found = dict[str, Mapping[str, int]]()
    for name in sorted({*situation.sources, *sources}):
        with nullcontext() if name in sources else suppress(LightRAGError):  # another's fault is told by its own run
            versions[name] = tables.current_versions(name, situation.recipes.pass_names(name))
            found[name] = outdated_rows(versions[name], situation.recipes.of_source(name))
    partitions = ", ".join(map(_as_key, filter(found.get, found)))
    return {name: _judged(tables, versions[name], found[name], partitions) for name in sources}


def _judged(
    tables: SourceTables, versions: Mapping[str, TableVersion], rows: Mapping[str, int], partitions: str
) -> dg.AssetCheckResult:
    if not rows:
        return warned([], {})
    dollars = _cost(tables, versions, rows)
    named = " and ".join(f"{count:,} of {table}" for table, count in rows.items())
    said = f"{named} are outdated, and cost ${dollars:,.4f} when they were made; the job backfill makes them again"
    return warned([said], {**rows, "cost_usd_when_made": dollars, "partitions_to_copy": partitions})


def _cost(tables: SourceTables, versions: Mapping[str, TableVersion], rows: Mapping[str, int]) -> float:
    """Return about what the answers behind outdated rows cost: their share of the cost of all."""
    total = 0.0
    for table, one in versions.items():
        shares = [rows[name] / versions[name].rows for name in ("chunks", table) if name in rows]
        if shares and kind_of(table) in ("extractions", "readings"):
            total += cost_of(tables, one) * max(shares)
    return total


def _as_key(partition: str) -> str:
    """Return a partition as the UI takes it in a list, quoted if it has to be."""
    return partition if _PLAIN.fullmatch(partition) else json.dumps(partition, ensure_ascii=False)
