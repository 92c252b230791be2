"""What mentions are merged into, what the stores then hold, and what the report says."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.assets.status_report import report
from lightrag_dagster.core import identity
from lightrag_dagster.core.text.terms import text_terms
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.indexes.text_arrays import counted_terms
from lightrag_dagster.pipeline.losses import Loss
from lightrag_dagster.pipeline.pending import Pending, SourceState
from lightrag_dagster.schemas import CHUNKS, MERGED_TABLES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Vectors
from lightrag_dagster.storage.snapshots.generations import ADJACENCY, GRAPH, VECTORS, Generation
from lightrag_dagster.storage.tables.acceptance import Bounds, accept
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.graphs import graph_rows
from tests.indexes.test_facts_views import database, fact, rows_of
from tests.stages.merging import test_facts
from tests.stages.merging.tables import Summariser, Tables, chunk, crowded_chunks, entity, merged_from, relation, write
from tests.stages.merging.test_names import decided
from tests.storage.corpus import Documents, build, home_of, inputs_of, merged_tables, store_tables

_CHUNKS = [
    *(chunk("notes", "weir.md", index, f"chunk-0{index}") for index in range(4)),
    *(chunk("office", f"{name}.txt", 0, f"chunk-{name}") for name in ("a", "b")),
    chunk("office", "copy.txt", 0, "chunk-00"),
]
_ENTITIES = [
    entity("notes", "chunk-00", 0, "Halden Weir", "Location", " A weir with a gauge. "),
    entity("notes", "chunk-00", 1, "Marta", "Person", "She maintains the gauge."),
    entity("notes", "chunk-01", 0, "halden  weir", "Structure", "A weir."),
    entity("notes", "chunk-01", 1, "“Halden Weir”", "location", "It was damaged in 2021."),
    entity("notes", "chunk-02", 0, "Halden Weir", "Location", "It was damaged in 2021."),
    entity("notes", "chunk-03", 0, "Öre", "Other", ""),
    entity("office", "chunk-a", 0, "MARTA", "Person", "She visits Bergen."),
    entity("office", "chunk-b", 0, "豊川", "場所", "河川。"),
    entity("office", "chunk-b", 1, "Ｏｓｌｏ", "Port", "A port."),
    entity("office", "chunk-b", 2, "Oslo", "City", "A city."),
    entity("office", "chunk-00", 0, "Not counted", "Person", "The chunk is that of notes.", key="other"),
]
_RELATIONS = [
    relation("notes", "chunk-00", 0, "Marta", "Halden Weir", "gauge, maintenance", "She maintains its gauge."),
    relation("notes", "chunk-01", 0, "Halden Weir", "MARTA", "Gauge,  repair ", "She repaired it."),
    relation("notes", "chunk-02", 0, "Marta", "Halden  weir", "", "She maintains its gauge."),
    relation("notes", "chunk-02", 1, "Marta", "marta", "self", "A loop."),
    relation("office", "chunk-a", 0, "Marta", "Bergen", "visit", "She visits it."),
    relation("office", "chunk-b", 0, "Bergen", "豊川", "", ""),
]
_DOCUMENTS: Documents = {
    "weir.md": [["Halden Weir", "Gauge", "Marta"], ["Gauge", "Orrin Instruments"]],
    "sub/flood.md": [["Halden Weir", "Marta", "Bergen"], ["豊川", "Bergen"]],
    "copy.md": [["Gauge", "Orrin Instruments"]],
    "marks.md": [["हिन्दी सेतु", "Bergen"]],
}


def of_mentions(tables: Tables) -> dict[str, pa.Table]:
    """Return the tables that are merged without a pass."""
    return {name: table for name, table in tables._asdict().items() if name in MERGED_TABLES}


def merge() -> dict[str, Any]:
    """Return what mentions of two sources are merged into, under several settings."""
    with TemporaryDirectory() as folder:
        inputs = write(Path(folder), _CHUNKS, _ENTITIES, _RELATIONS)

        def merged(model: Summariser | None = None, **how: Any) -> dict[str, Any]:
            model = model or Summariser()
            tables = of_mentions(merged_from(inputs, Path(folder), model, **how))
            subjects = sorted(request.messages[-1].content.partition("\n")[0] for request in model.requests)
            return {name: table.to_pylist() for name, table in tables.items()} | {"summarised": subjects}

        split = decided({"action": "split", "names": ("Ada",), "into": "Ada (notes)", "sources": ("notes",)})
        stated = (("notes", "chunk-00", 0), ("office", "chunk-a", 0))
        named = [entity(*place, "ADA", "person", "An engineer.") for place in stated]
        spelled = (("notes", "chunk-00", 0, "Ada", "Age"), ("office", "chunk-a", 0, "Ada", "AGE_"))
        facts = [test_facts.fact(*said, 40) for said in spelled]
        facts += [test_facts.fact(*stated[0][:2], at, "Ada", "id", 2.0**53, value=f"{2**53 + at}") for at in (1, 2)]
        readings = [test_facts.reading(*place[:2]) for place in stated]
        of_facts = write(Path(folder), _CHUNKS, named, [], readings=readings, facts=facts)
        with_facts = merged_from(of_facts, Path(folder), Summariser(), curation=split)
        with_terms = merged_from(
            write(Path(folder), crowded_chunks(), [], []), Path(folder), Summariser(), terms="auto"
        )
        with_names = merged_from(
            write(
                Path(folder),
                crowded_chunks(),
                [entity("a", "c000", at, name, "Event", "A flood.") for at, name in enumerate(("F\u20111", "F-1"))],
                [relation("b", "c001", 0, "Carrier Wave Detector", "F-1", "work", "It is seen there.")],
                readings=[test_facts.reading("a", at) for at in ("c002", "c004", "c006", "c008")],
                facts=[
                    test_facts.fact("a", at, 0, "F\u20121", "Age", 40, subject_type=kind)
                    for at, kind in (("c002", "thing"), ("c004", "thing"), ("c006", "thing"), ("c008", "sport event"))
                ],
            ),
            Path(folder),
            Summariser(),
            terms="on",
        )
        return {
            "terms of chunks without names, as many as chunks": {
                name: table.to_pylist() for name, table in of_mentions(with_terms).items()
            },
            "names in dashes, columns and relations": {
                name: table.to_pylist() for name, table in of_mentions(with_names).items()
            },
            "facts of a split name": with_facts.merged_facts.to_pylist(),
            "schemas": {name: [f"{one.name} {one.type}" for one in schema] for name, schema in MERGED_TABLES.items()},
            "descriptions joined, in four parts": merged(bits=2),
            "descriptions summarised, first chunks listed": merged(summary_min_descriptions=2, max_chunks=2),
            "names split by paths with signs of patterns": merged(
                curation=decided(
                    {"action": "split", "names": ("Halden Weir",), "into": "Halden Weir (a)", "paths": ("wei?.md",)},
                    {"action": "split", "names": ("Marta",), "into": "Marta (b)", "paths": ("*.txt",)},
                )
            ),
            "a type of two words": merged(
                curation=decided({"action": "retype", "names": ("Marta",), "type": "Warden of Weirs"})
            ),
            "summaries of the longest refused, last chunks listed": merged(
                Summariser(fails=True), summary_min_tokens=9, max_chunks=1, chunk_limit_method="FIFO"
            ),
        }


def stores() -> dict[str, Any]:
    """Return the vectors, the graph and the arrays of a small generation."""
    with TemporaryDirectory() as folder:
        home = home_of(Path(folder), river=_DOCUMENTS)
        _add_contexts(home, "river")
        generation = asyncio.run(build(_weighted_generation(home, "river")))
        found: dict[str, Any] = {}
        for name, entry in generation.read_record(VECTORS, Vectors).tables.items():
            found[name] = open_vectors(home, entry).rows().sort_by("id").to_pylist()
        graph = generation.path(GRAPH)
        found["nodes"] = sorted(map(repr, graph_rows(graph, "MATCH (n) RETURN label(n), n.*")))
        found["edges"] = sorted(map(repr, graph_rows(graph, "MATCH (a)-[r]->(b) RETURN label(r), a.*, r.*, b.*")))
        arrays = {path.name: _content(path) for path in sorted(generation.path(ADJACENCY).iterdir())}
        words = text_terms("２０２２年のＡＩ ﾃﾞｰﾀ, น้ำท่วม, FY2022, Café, S3Bucket")
        found |= {"facts": _facts(), "words": words, "types": _types(), "terms": _terms()}
        return found | arrays | {"names of arrays": [*arrays]}


def _facts() -> list[list[Any]]:
    """Return when facts hold, and which contradict each other."""
    facts = [
        fact("Ada", "2020"),
        fact("Ben", "2022-03", relation="chief_executive"),
        fact("Cy", "2022-03"),
        fact("Dee", None),
        fact("Fay", None, "2019", relation="chair"),
        fact("Gil", None, "2023", relation="chair"),
        fact("Eva", "2021", "2023", single=False, relation="advisor"),
        fact("Hal", "2019", relation="clerk"),
        fact("Hal-2", None, "2022", relation="clerk"),
        fact("Ina", "2022", single=False, relation="clerk"),
        *(fact(f"Jan-{at:02}", f"20{at:02}", "2030" if at < 2 else f"20{at:02}", relation="host") for at in range(13)),
        fact("Kim", "2020", relation="host"),
    ]
    with database(*facts) as connection:
        views = ("FROM fact_spans ORDER BY fact_id", "FROM contradictions ORDER BY fact_id, other_id")
        return [connection.sql(view).to_arrow_table().to_pylist() for view in views]


def _types() -> list[str]:
    """Return the types of the subjects of facts that were read as several."""
    return [row["subject_type"] for row in rows_of({"Ada": ["thing", "vendor"], "Ben": ["thing"]})]


def _terms() -> list[bool]:
    """Return which entities are counted terms."""
    said = ["A clause.", "A term of these texts."]
    mask = counted_terms(pa.table({"type": ["term", "other"], "description": said, "degree": [0, 0]}))
    return [bool(one) for one in mask.to_pylist()]


def status_report() -> dict[str, Any]:
    """Return what the report says of sources in every state."""
    loss = Loss("documents", {"failed": 1, "skipped": 0}, 5, ("office",), "select 1")
    states = [
        SourceState("archive", merged=True, documents={"processed": 4}, chunks={"ok": 9}, outdated={"chunks": 2}),
        SourceState("notes", ingest="raw_documents, never made"),
        SourceState(
            "office", rejected="1 of 5 documents\nfailed | <b>", documents={"processed": 4, "failed": 1}, losses=[loss]
        ),
        SourceState("river", problem="no such folder"),
        SourceState("road", waits=True, warning="road: nothing of it is in the graph"),
        SourceState("sea", backfill_waits=True),
        SourceState("town"),
        SourceState("weir", merged=True, unreleased=True),
    ]
    found = Pending({one.source: one for one in states}, None, ["summaries"], None, "not built yet", ["a warning"])
    nothing = Pending()
    return {name: _said(report(one, 0.5)) for name, one in (("all states", found), ("nothing", nothing))}


def _add_contexts(home: Home, source: str) -> None:
    """Give every second chunk of a source a context, as cutting by structure does."""
    tables, versions = SourceTables(home), dict[str, str]()
    for name, before in tables.current_versions(source).items():
        rows = tables.read(name, source, before.version)
        if name == "chunks":
            contexts = ["River > Levels" if at % 2 == 0 else None for at in range(len(rows))]
            rows = rows.set_column(rows.schema.get_field_index("context"), CHUNKS.field("context"), pa.array(contexts))
        inputs = {parent: versions[parent] for parent in before.inputs}
        versions[name] = tables.write(name, source, rows, inputs=inputs, recipe="code").version


def _weighted_generation(home: Home, source: str) -> Generation:
    """Return a generation of one source, whose relations differ in weight and rank; one entity only they name."""
    assert accept(home, source, Bounds(0.5, 1.0)).accepted
    inputs = inputs_of(home, source)
    tables = merged_tables(home, inputs)
    relations = tables["relations"]
    for name, values in (("weight", [1.0, 3.0, 2.0]), ("rank", [2, 1, 2])):
        at = relations.schema.get_field_index(name)
        field, repeated = relations.schema.field(at), (values * len(relations))[: len(relations)]
        relations = relations.set_column(at, field, pa.array(repeated, field.type))
    evidence = tables["entity_evidence"]
    named = evidence.filter(pc.not_equal(evidence["entity_id"], identity.entity_id("Bergen")))
    return store_tables(home, inputs, tables | {"relations": relations, "entity_evidence": named})


def _content(path: Path) -> Any:
    if path.suffix == ".npy":
        array = np.load(path)
        return [
            str(array.dtype),
            array.shape,
            array.astype(str).tolist() if array.dtype.kind == "S" else array.tolist(),
        ]
    with pa.ipc.open_file(path) as file:
        return [*map(str, file.schema), file.read_all().to_pylist()]


def _said(result: dg.MaterializeResult[Any]) -> dict[str, Any]:
    metadata = {name: getattr(value, "value", value) for name, value in (result.metadata or {}).items()}
    return metadata | {"data version": result.data_version.value if result.data_version else None}
