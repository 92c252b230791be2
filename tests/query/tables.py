"""Small merged tables and chunk files, made from what matters to retrieval alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core import identity
from lightrag_dagster.indexes.adjacency import Adjacency, EvidenceFiles, build_adjacency
from lightrag_dagster.schemas import CHUNKS, ENTITIES, ENTITY_EVIDENCE, RELATION_EVIDENCE, RELATIONS, SORT_KEYS


def table(name: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Fill in every column that a row leaves out with an empty value of its type."""
    empty: dict[str, Any] = {
        field.name: None
        if field.nullable
        else []
        if pa.types.is_list(field.type)
        else ""
        if pa.types.is_string(field.type)
        else False
        if pa.types.is_boolean(field.type)
        else 0
        for field in schema
    }
    return pa.Table.from_pylist([{**empty, **row} for row in rows], schema=schema).sort_by(
        [(key, "ascending") for key in SORT_KEYS[name]]
    )


def entities(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows need a name; the id follows from it."""
    return table("entities", ENTITIES, [{"entity_id": identity.entity_id(row["name"]), **row} for row in rows])


def relations(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows need src and tgt, names of entities; the ids follow from them."""
    named = []
    for row in rows:
        (src_id, src), (tgt_id, tgt) = sorted((identity.entity_id(row[side]), row[side]) for side in ("src", "tgt"))
        ids = {"relation_id": identity.relation_id(src_id, tgt_id), "src_id": src_id, "tgt_id": tgt_id}
        named.append({**row, **ids, "src": src, "tgt": tgt})
    return table("relations", RELATIONS, named)


def chunk_file(folder: Path, source: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows need a chunk_id and a path; the content is the chunk_id unless given."""
    filled = [
        {"source": source, "content": row["chunk_id"], "doc_id": identity.document_id(source, row["path"]), **row}
        for row in rows
    ]
    file = folder / f"{source}.parquet"
    pq.write_table(table("chunks", CHUNKS, filled), file)
    return file


def write_evidence(
    folder: Path, entity_table: pa.Table, relation_table: pa.Table, chunks: Sequence[Path]
) -> EvidenceFiles:
    """Write one mention of each row for each of its `chunk_ids`."""
    files = []
    for name, key, merged, schema in (
        ("entity_evidence", "entity_id", entity_table, ENTITY_EVIDENCE),
        ("relation_evidence", "relation_id", relation_table, RELATION_EVIDENCE),
    ):
        said = [{key: row[key], "chunk_id": chunk} for row in merged.to_pylist() for chunk in row["chunk_ids"]]
        files.append(folder / f"{name}.parquet")
        pq.write_table(table(name, schema, said), files[-1])
    return EvidenceFiles(files[:1], files[1:], chunks, [])


def graph_of(folder: Path, entity_table: pa.Table, relation_table: pa.Table, chunks: Sequence[Path] = ()) -> Adjacency:
    """Build arrays of a graph in `adjacency` of a folder, with the evidence that the rows cite, and open them."""
    with TemporaryDirectory() as written:
        evidence = write_evidence(Path(written), entity_table, relation_table, chunks)
        build_adjacency(folder / "adjacency", entity_table, relation_table, evidence)
    return Adjacency.open(folder / "adjacency")
