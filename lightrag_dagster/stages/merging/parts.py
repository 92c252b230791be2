"""The steps of the merge in parts, each from files of one part or of all to files of one part.

A part holds the rows whose ids begin with the same bits, so the parts in order are the sorted table, and their
number has no effect on the rows. A step may run in any process; it writes the same rows again when it is repeated.

choose      all chunks and extractions   → the extraction and position of each chunk that count, and its documents,
            in order of source and chunk, so that little of these files is read with some mentions
split       the same, and all mentions   → which entity each split name means there
facts       the same, all readings       → facts that count, and the mentions that they add; see facts.py
terms       the same, and all mentions   → mentions of phrases that are terms
deal        mentions of some sources     → evidence of each entity and relation, the ends of relations, and the
            documents of the chunks that name them, by part; of facts, evidence and ends, see facts.py
group       evidence of a part         → a row an entity or relation, with its distinct descriptions; of entities also
            their degrees, for the parts of their relations and facts
degrees     those of some parts        → the same, by part of relations and facts
finish      groups and summaries         → the rows of `entities` or `relations`, sorted
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Self
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster import schemas
from lightrag_dagster.core.text.terms import stop_words
from lightrag_dagster.curation.rules import NO_DECISIONS, Curation
from lightrag_dagster.fact_schemas import FACT_EVIDENCE, FACTS, MERGED_PASS_TABLES, PASS_SORT_KEYS, READINGS
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.inputs import MergeInput, Paths, Previous
from lightrag_dagster.stages.merging.names import name_entities, register_removed, register_written, split_mentions
from lightrag_dagster.storage.duckdb import quoted, view_files
from lightrag_dagster.storage.snapshots.scratch import Scratch

ROWS_PER_PART = 500_000
"""Mentions of a part that can be grouped within DuckDB's memory limit."""

_MOST_BITS = 12
_BITS_DEALT_AT_ONCE = 2
"""Bits of the largest size that is dealt to one part to find the rows that stay: two million mentions."""

_MERGED, _KEYS = schemas.MERGED_TABLES | MERGED_PASS_TABLES, schemas.SORT_KEYS | PASS_SORT_KEYS
_INDEX = pa.field("chunk_index", pa.int32())
DEALT = {
    "entity_evidence": schemas.ENTITY_EVIDENCE.append(_INDEX),
    "relation_evidence": schemas.RELATION_EVIDENCE.append(_INDEX),
    "endpoint": pa.schema(
        [(name, pa.string()) for name in ("entity_id", "relation_id", "name", "description", "chunk_id")]
        + [(name, pa.string()) for name in ("source", "path")]
        + [_INDEX]
    ),
    "citation": pa.schema([(name, pa.string()) for name in ("chunk_id", "doc_id", "source", "path")]),
    "fact_evidence": FACT_EVIDENCE,
    "fact_end": pa.schema([("entity_id", pa.string()), ("fact_part", pa.int32())]),
    "end_degree": pa.schema([("entity_id", pa.string()), ("name", pa.string()), ("degree", pa.int64())]),
}
SPLIT = {
    "split_mention": pa.schema([("chunk_id", pa.string()), ("mention_index", pa.int32()), ("entity_id", pa.string())]),
    "split_chunk": pa.schema([(name, pa.string()) for name in ("chunk_id", "base_id", "entity_id")]),
    "split_type": pa.schema([(name, pa.string()) for name in ("chunk_id", "base_id", "type", "entity_id")]),
}
CHOSEN_FACT = pa.schema(
    [(one, pa.string()) for one in ("chunk_id", "extraction_source", "chosen_key", "subject", "object")]
)
FACT_KEYWORD = pa.schema([("chunk_id", pa.string()), ("mention_index", pa.int32()), ("keywords", pa.string())])
_OF_VIEWS = DEALT | SPLIT | {"chosen_fact": CHOSEN_FACT, "fact_keyword": FACT_KEYWORD}
"""Schemas of views of steps that may have no file."""

_INPUTS = {
    "chunk": ("chunks", schemas.CHUNKS),
    "extraction": ("extractions", schemas.EXTRACTIONS),
    "reading": ("readings", READINGS),
    "fact": ("facts", FACTS),
    "entity_mention": ("entity_mentions", schemas.ENTITY_MENTIONS),
    "relation_mention": ("relation_mentions", schemas.RELATION_MENTIONS),
}
"""View of a step → the field of `MergeInput` with its files, and their schema."""
_NAMES = "SELECT name FROM entity_mention UNION SELECT src FROM relation_mention UNION SELECT tgt FROM relation_mention"
_SMALL_ROWS = 50_000


class Added(NamedTuple):
    """Files of mentions beside those of the sources: of terms, and of facts, which have a file of their own too."""

    entities: Paths = ()
    relations: Paths = ()
    facts: Paths = ()


Splits = tuple[int, frozenset[str]]
"""The number of mentions that fit several splits of a name, and the new names of splits that take nothing."""


class Size(NamedTuple):
    """The size of a merge: 2 ** `bits` parts. A `small` one needs no database of its own for each step."""

    bits: int
    small: bool = False

    @classmethod
    def of(cls, mentions: int) -> Self:
        """Return the size for a number of mentions."""
        parts = min(max(mentions - 1, 0) // ROWS_PER_PART, (1 << _MOST_BITS) - 1)
        return cls(parts.bit_length(), mentions <= _SMALL_ROWS)

    @property
    def keeps_rows(self) -> bool:
        """True if rows that stay are looked for; all evidence is dealt to one part then."""
        return not self.small and self.bits <= _BITS_DEALT_AT_ONCE


@dataclass(frozen=True)
class Workspace:
    """The files and rules of one merge, shared by its steps; `workers` is the number of steps at a time.

    `dealt` names the valid calls of `deal` and `deal_degrees`, without those of killed workers. `facts` says whether
    passes have facts. Only those rows of `kept` are made again that `changes` has found.
    """

    scratch: Scratch
    size: Size
    variables: database.Variables
    curation: Curation = NO_DECISIONS
    workers: int = 1
    dealt: frozenset[str] = frozenset()
    facts: bool = False
    kept: Previous | None = None

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return range(1 << self.size.bits)

    def path(self, table: str, part: int | None = None) -> Path:
        """Return the file of a step, of one part or of all."""
        return self.scratch.folder / (f"{table}.parquet" if part is None else f"{table}-{part:04}.parquet")

    def paths(self, table: str) -> list[Path]:
        """Return the files of a step, of all parts."""
        return [self.path(table, part) for part in self.parts]

    def dealt_to(self, part: int, table: str, whole: Path | None = None) -> list[Path]:
        """Return the files of a table that were dealt to a part; a single part reads the `whole` undealt."""
        if whole and len(self.parts) == 1:
            return [whole]
        found = self.scratch.files(f"{table}/part={part}")
        return [path for path in found if path.stem.rsplit("-", 1)[0] in self.dealt]

    @property
    def splits(self) -> dict[str, list[Path]]:
        """The files of what split names mean, by view; none without such a decision."""
        return {table: [self.path(table)] if self.curation.splits else [] for table in SPLIT}

    @contextmanager
    def open(
        self, views: Mapping[str, Sequence[Path]] = MappingProxyType({}), *others: Path
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a database with the rules of the merge and views of files of steps, for a step that reads `others` too.

        Raises:
            StoreError: the disk or the bucket refuses.
        """
        with self.scratch.step([*chain(*views.values()), *others]):
            variables = self.variables | {"bits": self.size.bits}
            with (
                database.open_small_database(variables)
                if self.size.small
                else database.open_database(self.scratch.folder, variables, self.workers)
            ) as connection:
                for view, paths in views.items():
                    view_files(connection, view, paths, _OF_VIEWS.get(view))
                yield connection

    def view_inputs(
        self, connection: duckdb.DuckDBPyConnection, view: str, inputs: Sequence[MergeInput], added: Paths = ()
    ) -> None:
        """Make a view of the rows of all sources, and of files that are added to them."""
        field, schema = _INPUTS[view]
        stored = self.scratch.inputs(chain.from_iterable(getattr(one, field) for one in inputs))
        view_files(connection, view, [*stored, *added], schema)

    def write(self, connection: duckdb.DuckDBPyConnection, query: str, table: str, part: int | None = None) -> None:
        """Write the rows of a query to the file of a step."""
        connection.execute(f"COPY ({query}) TO {quoted(self.path(table, part))} (FORMAT parquet, COMPRESSION lz4)")

    def write_rows(self, connection: duckdb.DuckDBPyConnection, table: str, part: int, query: str = "") -> None:
        """Write the rows of a merged table of a part: those of a query, by default those of its view in their order."""
        rows = database.fetch(connection, query or f"FROM {table} ORDER BY {', '.join(_KEYS[table])}", _MERGED[table])
        pq.write_table(rows, self.path(table, part), compression="lz4")


class Dealt(NamedTuple):
    """A call of `deal`, which begins the names of its files, and ids of those names and relations that decisions name.

    `named` are names as they are without decisions, `removed` relations that are removed.
    """

    call: str
    named: frozenset[str]
    removed: frozenset[str]


def choose(space: Workspace, inputs: Sequence[MergeInput]) -> None:
    """Write the extraction and position of each chunk that count, and its documents."""
    with space.open() as connection:
        for view in ("chunk", "extraction", "reading"):
            space.view_inputs(connection, view, inputs)
        database.run(connection, "choose")
        for table in ("chosen", "citation"):
            space.write(connection, f"FROM {table} ORDER BY extraction_source, chunk_id", table)


def split_names(space: Workspace, inputs: Sequence[MergeInput], added: Added) -> Splits:
    """Write what split names mean in each chunk; return how the splits went."""
    if not space.curation.splits:
        return 0, frozenset()
    views = {"chosen": [space.path("chosen")], "chosen_fact": added.facts}
    with space.open(views, *added.entities, *added.relations) as connection:
        space.view_inputs(connection, "entity_mention", inputs, added.entities)
        space.view_inputs(connection, "relation_mention", inputs, added.relations)
        split_mentions(connection, space.curation)
        for table in SPLIT:
            space.write(connection, f"FROM {table}", table)
        taking = {rule for (rule,) in connection.execute("FROM taking_rule").fetchall()}
        idle = frozenset(one.into for rule, one in enumerate(space.curation.splits) if rule not in taking)
        return database.count(connection, "SELECT count(*) FROM undecided"), idle


def find_terms(space: Workspace, inputs: Sequence[MergeInput], facts: Paths, *, wanted: bool) -> Paths:
    """Write the mentions of terms; unless they are `wanted`, only if over a third of the chunks names no entity.

    `facts` are mentions that facts add.
    """
    with space.open({"chosen": [space.path("chosen")]}) as connection:
        space.view_inputs(connection, "chunk", inputs)
        space.view_inputs(connection, "entity_mention", inputs, facts)
        space.view_inputs(connection, "relation_mention", inputs)
        nameless = "SELECT 3 * count(*) FILTER (m.chunk_id IS NULL) > count(*) FROM chosen c LEFT JOIN"
        nameless += " (SELECT DISTINCT chunk_id FROM entity_mention) m ON c.chunk_id = m.chunk_id"
        if not wanted and not database.count(connection, nameless):
            return ()
        connection.register("stop_word", pa.table({"word": sorted(stop_words())}))
        database.run(connection, "terms")
        space.write(connection, "FROM term_mention", "term_mention")
    return (space.path("term_mention"),)


def deal(space: Workspace, mentions: tuple[Paths, Paths, Added]) -> Dealt:
    """Deal the entity and relation mentions that count, and what was added, to the parts of entities and relations.

    A killed call may have written files of another name.
    """
    call, (*stored, added) = uuid4().hex, mentions
    several = len(space.parts) > 1  # else the plans of more statements are a tenth of a small merge
    views = {"all_chosen" if several else "chosen": [space.path("chosen")], "all_citations": [space.path("citation")]}
    views |= space.splits | {"fact_keyword": [space.path("fact_keyword")] if space.facts else []}
    with space.open(views, *chain(*added)) as connection:
        entities, relations = map(space.scratch.inputs, stored)
        view_files(connection, "entity_mention", [*entities, *added.entities], schemas.ENTITY_MENTIONS)
        view_files(connection, "relation_mention", [*relations, *added.relations], schemas.RELATION_MENTIONS)
        named = name_entities(connection, _NAMES, space.curation)
        register_removed(connection, space.curation)
        for step in ("span", "deal", "endpoint", "citations") if several else ("deal",):
            database.run(connection, step)
        keys = {"entity_evidence": "entity_id", "relation_evidence": "relation_id"}
        for table, key in (keys | {"endpoint": "entity_id"} if several else keys).items():
            deal_out(connection, space, f"SELECT *, part_of({key}) AS part FROM {table}", table, call)
        for table in ("entity_citation", "relation_citation") if several else ():
            deal_out(connection, space, f"FROM {table}", table, call)
        removed = {str(one) for (one,) in connection.execute("FROM removed_relation").fetchall()}
    return Dealt(call, named, frozenset(removed))


def group_entities(space: Workspace, part: int) -> None:
    """Write the groups of a part's entities, and their evidence."""
    several = len(space.parts) > 1
    apart = several or space.kept is not None  # else both ends of all relations are in their evidence
    ends = "endpoint" if apart else "relation_evidence"
    dealt = {table: space.dealt_to(part, table) for table in ("entity_evidence", ends)}
    dealt["citation"] = space.dealt_to(part, "entity_citation", space.path("citation"))
    if several:  # else all read all degrees
        dealt["fact_end"] = space.dealt_to(part, "fact_end") if space.facts else []
    with space.open(dealt) as connection:
        register_written(connection, space.curation.written)
        for step in ("group_entities",) if apart else ("endpoint", "group_entities"):
            database.run(connection, step)
        space.write(connection, _with_provenance(connection, "entity"), "entity_group", part)
        degrees = database.read_statement("degrees") if several else "SELECT entity_id, name, degree FROM entity_group"
        space.write(connection, degrees, "entity_degree", part)
        space.write_rows(connection, "entity_evidence", part)


def deal_degrees(space: Workspace, parts: Sequence[int]) -> str:
    """Deal the names and degrees of entities of some parts to those of their relations and facts; return the call."""
    call = uuid4().hex
    degrees = [space.path("entity_degree", part) for part in parts]
    with space.open({"entity_degree": degrees}) as connection:
        deal_out(connection, space, "FROM entity_degree", "end_degree", call)
    return call


def group_relations(space: Workspace, part: int) -> None:
    """Write the groups of a part's relations, and their evidence; the degrees of all entities are dealt before."""
    dealt = {
        "relation_evidence": space.dealt_to(part, "relation_evidence"),
        "citation": space.dealt_to(part, "relation_citation", space.path("citation")),
        "end_degree": space.dealt_to(part, "end_degree", space.path("entity_degree", 0)),
    }
    with space.open(dealt) as connection:
        connection.execute("CREATE TEMP VIEW entity_group AS SELECT DISTINCT entity_id, name, degree FROM end_degree")
        register_written(connection, space.curation.written)
        database.run(connection, "group_relations")
        space.write(connection, _with_provenance(connection, "relation"), "relation_group", part)
        space.write_rows(connection, "relation_evidence", part)


def finish(space: Workspace, task: tuple[str, int]) -> None:
    """Write the rows of `entities` or `relations` of a part, in order."""
    table, part = task
    group = {"entities": "entity_group", "relations": "relation_group"}[table]
    with space.open({group: [space.path(group, part)], "summary": [space.path("summary")]}) as connection:
        database.run(connection, f"describe_{table}")
        space.write_rows(connection, table, part, database.read_statement(f"finish_{table}"))


def deal_out(connection: duckdb.DuckDBPyConnection, space: Workspace, query: str, table: str, call: str) -> None:
    """Write the rows of a query into a folder for each `part`, in files whose names begin with the call."""
    folder, how = space.scratch.folder / table, "FORMAT parquet, COMPRESSION lz4"
    if len(space.parts) == 1:  # to look at the part of each row would take as long as to write it
        file = folder / "part=0" / f"{call}-0.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        connection.execute(f"COPY (SELECT * EXCLUDE (part) FROM ({query})) TO {quoted(file)} ({how})")
        return
    folder.mkdir(exist_ok=True)
    how += f", PARTITION_BY (part), FILENAME_PATTERN '{call}-{{i}}', OVERWRITE_OR_IGNORE"
    connection.execute(f"COPY ({query}) TO {quoted(folder)} ({how})")


def _with_provenance(connection: duckdb.DuckDBPyConnection, kind: str) -> str:
    """Return a query of the groups with their citations, after making a table of their documents."""
    connection.execute(f"CREATE TEMP TABLE {kind}_document AS FROM documents_of('{kind}_chunk')")
    return (
        f"SELECT g.*, p.* EXCLUDE (id) FROM {kind}_group g JOIN"
        f" provenance('{kind}_chunk', '{kind}_unlisted', '{kind}_document', getvariable('listed_chunks')) p"
        f" ON p.id = g.{kind}_id"
    )
