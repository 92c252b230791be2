"""The Open Knowledge Format, version 0.2: a folder of Markdown, a page an entity and a document, indexes and a log.

A page says only what follows from the evidence of its entity, so that it keeps its bytes while that is unchanged. The
format: `okf/SPEC.md` of GoogleCloudPlatform/knowledge-catalog. Links are relative, which its versions read alike.
"""

import json
import re
from collections import Counter
from pathlib import Path

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.safe_markdown import cell, without_links
from lightrag_dagster.errors import SettingsError, StoreError
from lightrag_dagster.exports.written import Written
from lightrag_dagster.indexes.changes import changes_between
from lightrag_dagster.indexes.views import create_views
from lightrag_dagster.pipeline.communities import communities_of
from lightrag_dagster.schemas import COMMUNITIES
from lightrag_dagster.storage.duckdb import spilling
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.generations import MANIFEST, Generation
from lightrag_dagster.storage.snapshots.snapshots import previous_snapshot
from lightrag_dagster.view_schemas import CHANGES

_BATCH = 256
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
NOTE = "entities, with quotes and facts; whole documents and passages are in the format tables"
_MORE = "SELECT lower(section), sum(more)::BIGINT FROM section GROUP BY ALL HAVING sum(more) > 0 ORDER BY 1"


def write_okf(generation: Generation, folder: Path) -> Written:
    """Write a page an entity and a document, their indexes, and what changed since the snapshot before.

    Raises:
        StoreError: a table is missing or damaged.
        OSError, duckdb.Error: the disk refuses.
    """
    before = previous_snapshot(generation.home, generation.id)
    notes, found, changed = [NOTE], COMMUNITIES.empty_table(), CHANGES.empty_table()
    try:
        found = communities_of(generation)
    except SettingsError as error:
        notes.append(f"no index of communities: {error}")
    try:
        changed = changes_between(Generation(generation.home, before.snapshot_id), generation) if before else changed
    except StoreError as error:
        notes.append(f"no log.md: {error}")
    rows = Counter[str]()
    with spilling(folder.parent) as connection:
        create_views(connection, generation)
        connection.create_function("cell", _markdown, ["VARCHAR"], "VARCHAR")
        connection.create_function("yaml", _yaml, ["VARCHAR"], "VARCHAR")
        connection.register("found", found)
        connection.register("changed", changed)
        if before:
            connection.execute("SET VARIABLE day = $1", [generation.read_record(MANIFEST, Manifest).published_at[:10]])
        *tables, files = connection.extract_statements(read_sql(__package__, "sql/okf"))
        for statement in tables:
            connection.execute(statement)
        for batch in connection.sql(files.query).to_arrow_reader(_BATCH):
            for path, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                file = folder / f"{path}.md"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content, encoding="utf-8", newline="\n")
                rows["indexes" if file.name == "index.md" else path.split("/")[0]] += 1
        more = connection.execute(_MORE).fetchall()
    notes += [f"{section} beyond the first ones of a page, which says so: {count:,}" for section, count in more]
    return Written(rows, tuple(notes), compared_with=before.snapshot_id if before else None)


def _markdown(text: str) -> str:
    """Return a text as Markdown on one line, in which readers that know no escapes find no link either."""
    return cell(without_links(text))


def _yaml(text: str) -> str:
    """Return a text as YAML: a string of JSON, with what YAML must not hold escaped."""
    return _UNPRINTABLE.sub(lambda one: f"\\u{ord(one[0]):04x}", json.dumps(text, ensure_ascii=False))
