"""Losses of a source that fail nothing: the parts of answers about its chunks that are missing, counted and said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lightrag_dagster.storage.acceptance import AnswerRows, most_frequent
from lightrag_dagster.storage.tables import TableVersion


@dataclass(frozen=True)
class Losses:
    """Parts that the answers about a source lack, counted from the records of its tables.

    They have `rows`, among which `rejected_rows` could not be used, in `rejected_chunks`, most often for `reason`. The
    answers about `truncated_chunks` were cut off, and a round after the first failed about `failed_rounds` chunks.
    """

    rows: int = 0
    rejected_rows: int = 0
    rejected_chunks: int = 0
    reason: str | None = None
    truncated_chunks: int = 0
    failed_rounds: int = 0

    @classmethod
    def of(cls, versions: Mapping[str, TableVersion]) -> "Losses":
        """Count them in the versions of a source's tables; of a table that is not there, nothing is lost."""
        extractions, parsed = versions.get("extractions"), versions.get("parsed")
        failed = truncated = 0
        if extractions:
            truncated = extractions.count("status", "truncated")
            failed = sum(extractions.counts.get("error_kind", {}).values()) - extractions.count("status", "failed")
        if not parsed:
            return cls(truncated_chunks=truncated, failed_rounds=failed)
        rows, reasons = AnswerRows.of(parsed.sums), parsed.counts.get("reason", {})
        chunks, reason = sum(reasons.values()), most_frequent(reasons)
        return cls(rows.rows, rows.rejected, chunks, reason, truncated, failed)

    @property
    def rejected_share(self) -> float:
        """The share of rejected rows, 0 to 1."""
        return AnswerRows(self.rows, self.rejected_rows).share

    @property
    def rejected(self) -> str:
        """The rejected rows and their share in a few words; empty if there are none."""
        return f"{self.rejected_rows:,} ({self.rejected_share:.1%})" if self.rejected_rows else ""

    def lines(self, source: str, *, commands: bool) -> list[str]:
        """Return a line for people about each kind of loss, with `commands` also what shows more of it."""
        answers = f"{self.rejected_rows:,} of {self.rows:,} rows of answers could not be used"
        kinds = (
            _Kind(
                self.rejected_rows,
                f"{answers} ({self.rejected_share:.1%}), in {_chunks(self.rejected_chunks)}",
                "select chunk_id, rejected_rows, reason from parsed",
                "rejected_rows > 0",
            ),
            _Kind(
                self.truncated_chunks,
                f"the answers about {_chunks(self.truncated_chunks)} were cut off, so that rows are missing",
                "select chunk_id from extractions",
                "status = 'truncated'",
            ),
            _Kind(
                self.failed_rounds,
                f"a further round about {_chunks(self.failed_rounds)} failed",
                "select chunk_id, error from extractions",
                "status <> 'failed' and error is not null",
            ),
        )
        return [f"{source}: {kind.said}{kind.command(source) if commands else ''}" for kind in kinds if kind.number]


class _Kind(NamedTuple):
    """A kind of loss: how many, a sentence about them, and SQL that shows them."""

    number: int
    said: str
    selected: str
    condition: str

    def command(self, source: str) -> str:
        """Return the end of a line that says what to run."""
        quoted = source.replace("'", "''")
        return f": lightrag-dagster sql \"{self.selected} where source = '{quoted}' and {self.condition}\""


def _chunks(number: int) -> str:
    return f"{number:,} chunk{'' if number == 1 else 's'}"
