"""The column lineage of every table: the columns of other tables that the values of a column are made from.

Catalogues build their edges from it. Columns that come from settings, from a call of a model or from all columns of
their own row, as `recipe`, `cost_usd` and `row_hash`, have none.
"""

from collections.abc import Mapping
from functools import cache

import dagster as dg

from lightrag_dagster.assets.namespace import Namespace

Origins = Mapping[str, tuple[str, ...]]


def _each(columns: str, *origins: str) -> Origins:
    """Return some columns that are all made from the same ones, each named `table.column`."""
    return dict.fromkeys(columns.split(), origins)


def _same(columns: str, table: str) -> Origins:
    """Return columns that are those of another table."""
    return {column: (f"{table}.{column}",) for column in columns.split()}


_TEXT = "raw_documents.content"
_KIND = "raw_documents.media_type"
_PASSAGE = ("chunks.content", "chunks.context")
_PROMPT = (*_PASSAGE, "chunks.heading")
_ANSWER = "extractions.responses"
_ENDS = ("relation_mentions.src", "relation_mentions.tgt")
_NAMES = ("entity_mentions.name", *_ENDS)
_READ = "readings.responses"
_MEANT = (
    "relation value value_kind number unit value_date when_words valid_from from_precision valid_to to_precision single"
)
_FACT = f"subject subject_type object object_type {_MEANT}"
_STANDS = "words char_start char_end"
_ENTITY = ("entities.name", "entities.description")
_RELATION = ("relations.keywords", "relations.src", "relations.tgt", "relations.description")
_EDGE = ("relations.src_id", "relations.tgt_id")
_TOLD = ("entity_mentions.description", "relation_mentions.description")
_OF_CHUNKS = {
    **_each("chunk_ids chunk_count", "chunks.chunk_id"),
    **_each("doc_ids document_count", "chunks.doc_id"),
    **_each("file_paths", "chunks.source", "chunks.path"),
    **_each("sources", "chunks.source"),
    **_each("capped", "chunks.chunk_id", "chunks.doc_id"),
}

LINEAGE: Mapping[str, Origins] = {
    "chunks": {
        **_same("source doc_id path", "raw_documents"),
        **_each("content tokens char_start char_end chunk_index", _TEXT),
        **_each("chunk_id heading context", _TEXT, _KIND),
        **_each("page page_end", "raw_documents.pages"),
        **_each("text_hash", "raw_documents.content_hash", _KIND, "raw_documents.pages"),
    },
    "extractions": {
        **_same("source chunk_id", "chunks"),
        **_each("extraction_key", "chunks.chunk_id"),
        **_each("responses", *_PROMPT),
    },
    "entity_mentions": {
        **_same("source chunk_id extraction_key", "extractions"),
        **_each("mention_index name type description", _ANSWER),
    },
    "relation_mentions": {
        **_same("source chunk_id extraction_key", "extractions"),
        **_each("mention_index src tgt keywords description weight", _ANSWER),
    },
    "parsed": {
        **_same("source chunk_id extraction_key", "extractions"),
        **_each("entities relations rejected_rows reason", _ANSWER),
    },
    "readings": {
        **_same("source chunk_id", "chunks"),
        **_each("extraction_key", "chunks.chunk_id"),
        **_each("responses", *_PROMPT),
    },
    "facts": {
        **_same("source chunk_id pass extraction_key", "readings"),
        **_each(_FACT, _READ),
        **_each("fact_index", _READ),
        **_each(_STANDS, _READ, "chunks.content"),
    },
    "read_facts": {
        **_same("source chunk_id pass extraction_key", "readings"),
        **_each("facts rejected_rows open_dates reason", _READ, "chunks.content"),
    },
    "merged_facts": {
        **_each("subject_id", "facts.subject"),
        **_each("object_id", "facts.object"),
        **_each("subject object", "facts.subject", "facts.object", *_NAMES),
        **_same(_MEANT, "facts"),
        **_each("fact_id", "facts.subject", "facts.object", *(f"facts.{one}" for one in _MEANT.split())),
        **_each("passes", "facts.pass"),
        **_each("chunk_ids mention_count", "facts.chunk_id"),
        **_each("sources", "chunks.source"),
    },
    "fact_evidence": {
        **_each("fact_id", "facts.subject", "facts.object", *(f"facts.{one}" for one in _MEANT.split())),
        **_each("subject_id", "facts.subject"),
        **_each("object_id", "facts.object"),
        **_same("source doc_id path", "chunks"),
        **_same(f"chunk_id pass fact_index extraction_key {_FACT} {_STANDS}", "facts"),
    },
    "entities": {
        **_OF_CHUNKS,
        **_each("entity_id name", *_NAMES),
        **_each("type", "entity_mentions.type"),
        **_each("description descriptions_hash", *_TOLD),
        **_each("embedding_key", *_NAMES, *_TOLD),
        **_each("mention_count", "entity_mentions.mention_index"),
        **_each("degree", *_ENDS),
    },
    "relations": {
        **_OF_CHUNKS,
        **_each("relation_id src_id tgt_id rank", *_ENDS),
        **_each("src tgt", *_NAMES),
        **_each("keywords", "relation_mentions.keywords"),
        **_each("description descriptions_hash", "relation_mentions.description"),
        **_each("embedding_key", *_NAMES, "relation_mentions.keywords", "relation_mentions.description"),
        **_each("weight", "relation_mentions.weight"),
        **_each("mention_count", "relation_mentions.mention_index"),
    },
    "entity_evidence": {
        **_each("entity_id", "entity_mentions.name"),
        **_same("source doc_id path", "chunks"),
        **_same("chunk_id extraction_key mention_index name type description", "entity_mentions"),
    },
    "relation_evidence": {
        **_each("relation_id", *_ENDS),
        **_each("src_id", "relation_mentions.src"),
        **_each("tgt_id", "relation_mentions.tgt"),
        **_same("source doc_id path", "chunks"),
        **_same("chunk_id extraction_key mention_index src tgt keywords description weight", "relation_mentions"),
    },
    "chunk_vectors": {**_each("id", "chunks.chunk_id"), **_each("embedding_key vector unread", *_PASSAGE)},
    "entity_vectors": {
        **_each("id", "entities.entity_id"),
        **_same("embedding_key", "entities"),
        **_each("vector unread", *_ENTITY),
    },
    "relation_vectors": {
        **_each("id", "relations.relation_id"),
        **_same("embedding_key", "relations"),
        **_each("vector unread", *_RELATION),
    },
    "communities": {
        **_each("community_id level parent_id", "entities.entity_id", *_EDGE, "relations.weight"),
        **_each("size entity_ids", "entities.entity_id"),
        **_each("name", *_ENTITY),
        **_each("relations", *_EDGE),
        **_each("weight", *_EDGE, "relations.weight"),
    },
    "duplicate_candidates": {
        **_each("entity_id other_id", "entities.entity_id"),
        **_each("name other likeness", "entities.name"),
        **_each("type other_type", "entities.type"),
        **_each("found_by", "entities.name", "entity_vectors.vector"),
        **_each("cosine", "entity_vectors.vector"),
        **_each("score verdict", *_ENTITY, "entities.type", "entities.chunk_ids", *_EDGE, "entity_vectors.vector"),
    },
}
"""Table → column → the columns, `table.column`, that its values are made from."""


@cache
def column_lineage(table: str, namespace: Namespace) -> dict[str, dg.TableColumnLineage]:
    """Return the metadata with the column lineage of a table; `raw_documents` and others from outside have none."""
    if table not in LINEAGE:
        return {}
    made_from = {
        column: [dg.TableColumnDep(namespace.key(one.split(".")[0]), one.split(".")[1]) for one in origins]
        for column, origins in LINEAGE[table].items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(made_from)}
