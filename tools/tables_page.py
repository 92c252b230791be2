"""docs/tables.md, made from the schemas; `make docs` writes it."""

import sys
from collections.abc import Iterator, Mapping

import duckdb
import pyarrow as pa

from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES, PASS_SORT_KEYS, PASS_TABLES
from lightrag_dagster.schemas import MERGED_TABLES, SORT_KEYS, SOURCE_TABLES, UNPARTITIONED_TABLES
from lightrag_dagster.spending.entries import COSTS, ENTRIES
from lightrag_dagster.view_schemas import CHANGES, DERIVED_VIEWS, DESCRIPTIONS, SNAPSHOTS

_INTRODUCTION = """\
# Tables

Made from `lightrag_dagster/schemas.py`, `view_schemas.py` and `spending/entries.py` by `make docs`; change the schemas,
not this page.

The tables up to `contradictions` are views of the published snapshot for `lightrag-dagster sql`, `KnowledgeBase.sql`
and `views.duckdb` ([SQL and Cypher](sql-and-cypher.md)). Types are DuckDB's. A column can be null only where its
meaning says so in italics. Of what is built, `raw_documents.modified_at` alone is of a wall clock, and `facts_now` of
today: a clean build has the same rows.
"""

_OTHERS = {
    "snapshots": "One row a snapshot that is kept, the oldest first.",
    "costs": "One row a month, source, purpose and model: sums of the ledger.",
    "ledger": "One row a step of a run that asked a model: calls, tokens and dollars. In the order of the entries.",
    "answers": "One row a question of the file that the setting `questions` names, asked of a snapshot.",
    "changes": "One row a document, entity, relation or fact that differs from the snapshot before; sorted in a kind.",
    "communities": "One row a group of entities that have more relations among each other than to others.",
    "duplicate_candidates": "One row a pair of entities that may be one; from the best 20 of each.",
    "evaluated_questions": "One row a snapshot, mode and question that was evaluated.",
    "retrieval_evaluation": "One row a snapshot, mode and metric: the mean over the questions.",
    "extraction_evaluation": "One row a snapshot, group of gold passages and kind of rows: precision, recall and F1.",
}

_GROUPS: tuple[tuple[str, str, Mapping[str, pa.Schema]], ...] = (
    (
        "Of each source",
        "One immutable version a source, as it was accepted. Rows are sorted within a source.",
        SOURCE_TABLES,
    ),
    (
        "Of each source and pass",
        "What passes read beside the entities, see [Facts](facts.md); without a pass they have no rows.",
        PASS_TABLES,
    ),
    ("Of the merge", "Made from all accepted sources together.", MERGED_TABLES),
    ("Of the merge of passes", "Made beside them where there is a pass.", MERGED_PASS_TABLES),
    ("Views", "Other forms of these tables.", DERIVED_VIEWS),
    (
        "Of the home",
        "What was published and bought so far, and what changed since the last snapshot; for `lightrag-dagster sql` "
        "and, `changes` apart, `sql` in Python.",
        {"snapshots": SNAPSHOTS, "costs": COSTS, "ledger": ENTRIES, "changes": CHANGES},
    ),
    (
        "Of the published snapshot",
        "Made from it by an asset or a command: Parquet files in the home, below `tables/NAME/all`, and no views; "
        "`lightrag-dagster sql` knows `communities`.",
        UNPARTITIONED_TABLES,
    ),
)


def page() -> str:
    """Return docs/tables.md."""
    return "\n".join([_INTRODUCTION, *(part for group in _GROUPS for part in _group(*group))])


def _group(title: str, text: str, tables: Mapping[str, pa.Schema]) -> Iterator[str]:
    yield f"## {title}\n\n{text}\n"
    for name, schema in tables.items():
        yield _table(name, schema)


def _table(name: str, schema: pa.Schema) -> str:
    kinds = duckdb.from_arrow(schema.empty_table()).types
    rows = [f"| `{field.name}` | `{kind}` | {_meaning(field)} |" for field, kind in zip(schema, kinds, strict=True)]
    head = ["| column | type | meaning |", "|---|---|---|"]
    return "\n".join([f"### `{name}`", "", _description(name), "", *head, *rows, ""])


def _description(name: str) -> str:
    keys = ", ".join(f"`{key}`" for key in (SORT_KEYS | PASS_SORT_KEYS).get(name, ()))
    return (DESCRIPTIONS | _OTHERS)[name] + (f" Sorted by {keys}." if keys else "")


def _meaning(field: pa.Field) -> str:
    description: str = field.metadata[b"description"].decode()
    return f"{description} *May be null.*" if field.nullable else description


if __name__ == "__main__":
    sys.stdout.write(page())
