"""Rows that can be kept, because the text they were made from is unchanged."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.settings import ChunkingSettings
from lightrag_dagster.stages.chunking.chunks import with_page_ends
from lightrag_dagster.stages.documents.raw_documents import text_hash, with_text
from lightrag_dagster.stages.extraction.mentions import unreadable_chunks
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables

_PLACE = ["source", "doc_id", "path"]
PARSED_COLUMNS = ["chunk_id", "extraction_key", "status", "responses"]
"""What of an extraction decides its mentions."""
ANSWERED_COLUMNS = ["chunk_id", "extraction_key", "status", "rounds"]
"""Columns that tell the answers about a chunk from others; without the responses, which are long."""

IN_ITS_LANGUAGE = """(language IS NULL OR extraction_key IN (
    left(sha256('["' || chunk_id || '","' || recipe || '"]'), 32),
    left(sha256('["' || chunk_id || '","' || recipe || '","' || language || '"]'), 32)
))"""
"""Condition on rows of EXTRACTIONS and the language of their chunk; the keys are those of `identity.extraction_key`."""


def earlier_versions(tables: SourceTables, table: str, source: str) -> list[str]:
    """Return the versions of a source's table that are on disk: the current one, then the accepted one.

    In a backfill the candidate comes first. Raises StoreError when a record is damaged.
    """
    record = accepted(tables.home, source)
    found = [tables.current(table, source), SourceTables(tables.home).current(table, source)]
    versions = [one.version for one in found if one] + ([record.tables[table]] if record else [])
    return [version for version in dict.fromkeys(versions) if tables.has(table, source, version)]


def keep_chunks(
    documents: pa.Table, earlier: Sequence[pa.Table], chunking: ChunkingSettings
) -> tuple[pa.Table, pa.Table]:
    """Give documents whose text was cut before the same chunks again.

    Args:
        documents: rows of RAW_DOCUMENTS now.
        earlier: rows of CHUNKS of the same source; the first table that has a text counts.
        chunking: the current rules.

    Returns:
        Rows of CHUNKS, each at the place of its document now, and the rows of RAW_DOCUMENTS that are still to be cut.
        A document keeps its own chunks. One that was renamed or copied takes over those of its text, unless another
        rule matches its new path.
    """
    left = with_text(documents)
    hashes = [text_hash(row) for row in left.select(["content_hash", "media_type", "pages"]).to_pylist()]
    left = _with_rules(left.append_column("text_hash", pa.array(hashes, pa.string())), chunking)
    kept = [CHUNKS.empty_table()]
    for chunks in earlier:
        chunks = _with_rules(chunks, chunking)
        own = left.select([*_PLACE, "text_hash"]).join(
            chunks.group_by(["doc_id", "text_hash"]).aggregate([]), ["doc_id", "text_hash"], join_type="inner"
        )
        own = own.append_column("doc_id_min", own["doc_id"]).drop_columns("text_hash")
        others = left.filter(pc.invert(pc.is_in(left["doc_id"], value_set=own["doc_id"].combine_chunks())))
        first = chunks.group_by(["text_hash", "rule"]).aggregate([("doc_id", "min")])
        taken = others.select([*_PLACE, "text_hash", "rule"]).join(first, ["text_hash", "rule"], join_type="inner")
        known = pa.concat_tables([own, taken.select(own.column_names)])
        again = (
            chunks.append_column("doc_id_min", chunks["doc_id"])
            .drop_columns(_PLACE)
            .join(known, "doc_id_min", join_type="inner")
        )
        kept.append(with_page_ends(again.select(CHUNKS.names).cast(CHUNKS), documents))
        left = left.filter(pc.invert(pc.is_in(left["doc_id"], value_set=known["doc_id"].combine_chunks())))
    return pa.concat_tables(kept), left.drop_columns(["text_hash", "rule"])


def _with_rules(rows: pa.Table, chunking: ChunkingSettings) -> pa.Table:
    """Add the column `rule`: which rule matches the path of each row, -1 where none does."""
    places = pc.binary_join_element_wise(rows["source"], rows["path"], "/")
    known = pc.unique(places)
    found = map(chunking.rule_of, known.to_pylist())
    numbers = pa.array((-1 if number is None else number for number in found), pa.int64(), size=len(known))
    return rows.append_column("rule", numbers.take(pc.index_in(places, known)))


def again_kinds(*, retry_failed: bool) -> list[str]:
    """Return the kinds of errors after which a chunk is asked about again."""
    return ["transient", "permanent"] if retry_failed else ["transient"]


def keep_extractions(chunks: pa.Table, earlier: Sequence[pa.Table], *, retry_failed: bool) -> tuple[pa.Table, pa.Table]:
    """Keep the extractions of chunks that were asked about before.

    Args:
        chunks: rows of CHUNKS now, of which only `chunk_id` is read, and `language` if there is such a column: where it
            is not null, an answer that was written for another language does not count.
        earlier: rows of EXTRACTIONS of the same source; the first table that has a chunk counts.
        retry_failed: also ask again about chunks that failed permanently, and those of which no row could be read.

    Returns:
        Rows of EXTRACTIONS, and the rows of CHUNKS that are still to be asked about.
    """
    again = pa.array(again_kinds(retry_failed=retry_failed))
    kept, left = [EXTRACTIONS.empty_table()], chunks
    for rows in earlier:
        known = rows.filter(
            pc.and_(
                pc.is_in(rows["chunk_id"], value_set=left["chunk_id"].combine_chunks()),
                pc.invert(pc.is_in(rows["error_kind"], value_set=again)),
            )
        )
        if retry_failed:
            known = known.filter(pc.invert(pc.is_in(known["chunk_id"], value_set=unreadable_chunks(known))))
        known = _in_languages(known, left)
        kept.append(known)
        left = left.filter(pc.invert(pc.is_in(left["chunk_id"], value_set=known["chunk_id"].combine_chunks())))
    return pa.concat_tables(kept), left


def _in_languages(rows: pa.Table, chunks: pa.Table) -> pa.Table:
    """Return the rows of EXTRACTIONS that were written for no language, or for that of their chunk."""
    if "language" not in chunks.column_names or chunks["language"].null_count == chunks.num_rows:
        return rows
    from lightrag_dagster.storage.duckdb import in_memory

    with in_memory() as connection:
        connection.register("answer", rows.select(["chunk_id", "recipe", "extraction_key"]))
        connection.register("spoken", chunks.select(["chunk_id", "language"]))
        known = f"SELECT chunk_id FROM answer JOIN spoken USING (chunk_id) WHERE {IN_ITS_LANGUAGE}"
        ids = connection.sql(known).to_arrow_table()["chunk_id"].combine_chunks()
    return rows.filter(pc.is_in(rows["chunk_id"], value_set=ids))


class ReadBefore(NamedTuple):
    """Versions of a source's documents, and of the stamps with which today's code read them; None if there is none."""

    documents: str | None
    stamps: str | None


def read_before(tables: SourceTables, source: str, code: str) -> ReadBefore:
    """Return what was read by the code of the hash `code`, if it is still there; in a backfill nothing was.

    Raises StoreError when a record is damaged.
    """
    documents = next(iter(earlier_versions(tables, "raw_documents", source)), None)
    stamps = None if tables.candidate else tables.current("stamps", source)
    if not stamps or (stamps.inputs, stamps.fingerprint) != ({"raw_documents": documents}, code):
        return ReadBefore(documents, None)
    return ReadBefore(documents, stamps.version if tables.has("stamps", source, stamps.version) else None)


PARSED_TABLES = ("entity_mentions", "relation_mentions", "parsed")
"""Tables that are made from `extractions`."""


class Judged(NamedTuple):
    """The version that documents may not be lost of, if there is one.

    With `accepted`, a person accepted what it had lost, and it is not merged yet.
    """

    version: str | None
    accepted: bool


def judged_by(tables: SourceTables, source: str) -> Judged:
    """Return what a new version of a source's documents is compared with: the accepted one.

    So a refusal stays one, however often the source is read, and losses do not add up over versions that were never
    accepted. Before any is, and after a person accepted the losses of a version that is still to be accepted, as while
    it waits for batches, it is that version. Raises StoreError when a record is damaged.
    """
    record, found = accepted(tables.home, source), earlier_versions(tables, "raw_documents", source)
    merged = record.tables["raw_documents"] if record else ""
    for one in (tables.current("raw_documents", source), SourceTables(tables.home).current("raw_documents", source)):
        if one and one.losses_accepted and one.version != merged and one.version in found:
            return Judged(one.version, accepted=True)
    return Judged(merged if merged in found else next(iter(found), None), accepted=False)


class Parsed(NamedTuple):
    """Versions of a source's PARSED_TABLES that today's rules made, and of the extractions they were made from."""

    extractions: str
    tables: dict[str, str]


def parsed_before(tables: SourceTables, source: str, code: str) -> Parsed | None:
    """Return what was parsed by the rules of the hash `code`, if it is still there.

    None unless all current tables were parsed by these rules, from one version of the extractions that is still there.
    Raises StoreError when a record is damaged.
    """
    parsed = [one for name in PARSED_TABLES if (one := tables.current(name, source))]
    made_from = {(one.inputs["extractions"], one.fingerprint) for one in parsed}
    earlier = parsed[0].inputs["extractions"] if parsed else ""
    versions = [("extractions", earlier), *((one.table, one.version) for one in parsed)]
    kept_whole = len(parsed) == len(PARSED_TABLES) and made_from == {(earlier, code)}
    if not kept_whole or not all(tables.has(table, source, version) for table, version in versions):
        return None
    return Parsed(earlier, {one.table: one.version for one in parsed})


def answered_before(tables: SourceTables, source: str) -> str | None:
    """Return the accepted version of a source's extractions, if it is still there; raises StoreError for a record."""
    record = accepted(tables.home, source)
    version = record.tables["extractions"] if record else None
    return version if version and tables.has("extractions", source, version) else None


def of_new_answers(parsed: pa.Table, extractions: pa.Table, earlier: pa.Table) -> pa.Table:
    """Return the rows of PARSED whose extractions are not among the earlier ones; of these, ANSWERED_COLUMNS."""
    columns = ANSWERED_COLUMNS
    new = extractions.select(columns).join(earlier.select(columns), columns, join_type="left anti")
    return parsed.filter(pc.is_in(parsed["chunk_id"], value_set=new["chunk_id"].combine_chunks()))


def keep_mentions(extractions: pa.Table, earlier: pa.Table, mentions: Sequence[pa.Table]) -> list[pa.Table]:
    """Divide extractions into those that were parsed as they are and those that are still to be parsed.

    Args:
        extractions: Rows of EXTRACTIONS now.
        earlier: What was parsed; the columns of the answers.
        mentions: The PARSED_TABLES that were made of it.

    Returns:
        These tables of the former, and EXTRACTIONS of the latter.
    """
    from lightrag_dagster.storage.duckdb import in_memory

    with in_memory() as connection:
        connection.register("now", extractions.select(PARSED_COLUMNS))
        connection.register("earlier", earlier.select(PARSED_COLUMNS))
        same = connection.sql(f"SELECT chunk_id FROM now SEMI JOIN earlier USING ({', '.join(PARSED_COLUMNS)})")
        chunks = same.to_arrow_table()["chunk_id"].combine_chunks()
    unchanged = [rows.filter(pc.is_in(rows["chunk_id"], value_set=chunks)) for rows in mentions]
    return [*unchanged, extractions.filter(pc.invert(pc.is_in(extractions["chunk_id"], value_set=chunks)))]
