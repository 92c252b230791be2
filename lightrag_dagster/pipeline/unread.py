"""Text that the embedder does not read, since it is longer than the model takes: its share, and the next step."""

from pathlib import Path

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.models.providers import tokens_read
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.manifests import Vectors
from lightrag_dagster.storage.tables.source_tables import SourceTables

_ANOTHER = "take an embedder that reads more (docs/embedding.md)"


def unread_lines(settings: Settings, vectors: Vectors) -> dict[str, str]:
    """Return table → line, with the next step, of the vector tables that lack text."""
    size, reads, lines = settings.chunking.size, vectors.reads, dict[str, str]()
    # An endpoint that takes fewer tokens than the settings say does not name its number.
    limit = reads if vectors.provider == "local" or (reads or 0) < size else None
    for table, entry in vectors.tables.items():
        if entry.cut:
            texts = (
                f"{entry.cut:,} of {counted(entry.rows, 'text', 'texts')} in {table} are longer than {_reads(limit)}"
            )
            step = _next_step(limit, size) if table == "chunk_vectors" else _ANOTHER
            lines[table] = f"{texts}: {entry.unread_share:.1%} of the text is in no vector; {step}"
    return lines


def expected_unread(situation: Situation, *, backfill: bool, knowledge_base: bool) -> list[str]:
    """Return a line on the chunks of a home; none if, by the tokens that they have, the embedder reads all of each.

    Args:
        situation: The situation of the home.
        backfill: The chunks are those of a backfill, where a source has some.
        knowledge_base: Today's embedder makes the vectors, rather than that of the newest snapshot.

    Raises:
        StoreError: a table is damaged.
    """
    settings, newest = situation.settings, None if knowledge_base else situation.newest
    limit, size = newest.vectors.reads if newest else tokens_read(settings.embedding), settings.chunking.size
    tables, paths = SourceTables(situation.home, candidate=backfill), list[Path]()
    for source in situation.sources if limit else ():
        if version := tables.current("chunks", source):
            paths += tables.open("chunks", source, version.version)
    with in_memory() as connection:
        view_files(connection, "chunks", paths, SOURCE_TABLES["chunks"])
        cut, chunks, share = connection.execute(read_sql(__package__, "sql/unread"), {"limit": limit}).fetchall()[0]
    said = (
        f"{cut:,} of {counted(chunks, 'chunk is', 'chunks are')} longer than {_reads(limit)}, and about {share:.1%} of "
        f"the text would be in no vector, by the tokens of {settings.chunking.encoding}, of which the model may count "
        f"more; {_next_step(limit, size)}"
    )
    return [said] if cut else []


def _reads(limit: int | None) -> str:
    return f"the {limit:,} tokens that the embedder reads" if limit else "the embedder reads"


def _next_step(limit: int | None, size: int) -> str:
    # For one token of o200k_base, MiniLM counted 1.03 to 1.3 in English text and code, 1.5 in five languages.
    least = min(limit or size, size) * 3 // 4
    smaller = f"set chunking.size to {least:,} or less, its overlap below that"
    return f"{smaller} (`lightrag-dagster plan --backfill` shows the price), or {_ANOTHER}"
