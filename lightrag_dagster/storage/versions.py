"""Records of the tables of a source."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from lightrag_dagster.fact_schemas import of_pass, split_pass
from lightrag_dagster.storage.records import Record


class TableVersion(BaseModel):
    """One version of one source's table.

    `inputs` names what it was made from (table → version, or another fact → hash); `recipe` is that of the table, whose
    code and settings its step follows at once; rows have their own, in a column. So that nothing has to be read to
    judge the table, `counts` says of the columns status, error_kind, recipe and reason how many rows have each value,
    under `error` how many of each status have an error, and under `skipped` how many of each media type were, and
    `sums` adds up entities, relations, rejected_rows, file_words and lost_words; `new_sums` of the answers that the
    accepted version did not have when this one was made, and of the documents of a scope those that lack a value of
    `access`. `reasons` are the first few reasons of failed rows. `shards` is the number of shards it was made in. With
    `losses_accepted`, a person accepted what it lost of earlier versions.
    """

    model_config = ConfigDict(frozen=True)

    table: str
    source: str
    version: str
    rows: int
    inputs: dict[str, str]
    recipe: str
    counts: dict[str, dict[str, int]] = {}
    sums: dict[str, int] = {}
    new_sums: dict[str, int] = {}
    reasons: list[str] = []
    shards: int = 1
    losses_accepted: bool = False

    def count(self, column: str, value: str) -> int:
        """Return how many rows have `value` in one of the counted columns."""
        return self.counts.get(column, {}).get(value, 0)

    def outdated(self, recipe: str) -> int:
        """Return how many rows name another recipe."""
        return sum(rows for name, rows in self.counts.get("recipe", {}).items() if name != recipe)


class Refusal(Record):
    """`refused.json`: the files of a source that were read and not taken, by a hash of their listing, and why."""

    files: str
    reason: str


class Accepted(Record):
    """`accepted/<source>.json`: the version of each of a source's tables that the merge reads; of passes apart."""

    source: str
    tables: dict[str, str]
    passes: dict[str, dict[str, str]] = Field(default={}, description="pass → table → version")

    def version(self, table: str) -> str:
        """Return the version of a table, also of one of a pass; empty if there is none."""
        kind, name = split_pass(table)
        return self.passes.get(name, {}).get(kind, "") if name else self.tables.get(kind, "")

    def merged(self, passes: Iterable[str]) -> dict[str, str]:
        """Return the versions that the merge reads, with those of some passes."""
        found = {of_pass(table, name): one for name in passes for table, one in self.passes.get(name, {}).items()}
        return self.tables | found


class Upstream(Record):
    """`upstream.json`: the Dagster asset that a source reads, and partition → version of its last materialisation.

    `dimensions` are the names of those of its partitions, if it has several and Dagster told.
    """

    mended_by = "delete it and run `lightrag-dagster run`, which asks Dagster again"

    asset: str
    partitions: dict[str, str]
    dimensions: tuple[str, ...] = ()
