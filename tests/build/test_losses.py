"""What the records of a source's tables say of the answers about it."""

from pathlib import Path

import pytest

from lightrag_dagster.build.losses import Losses
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables, TableVersion

SQL = 'lightrag-dagster sql "select'


def version(
    table: str, counts: dict[str, dict[str, int]], sums: dict[str, int] | None = None
) -> dict[str, TableVersion]:
    return {
        table: TableVersion(
            table=table, source="s", version="v", rows=9, inputs={}, fingerprint="", counts=counts, sums=sums or {}
        )
    }


def parsed(rejected: int, **reasons: int) -> dict[str, TableVersion]:
    counts = {name.replace("_", " "): number for name, number in reasons.items()}
    return version(
        "parsed", {"reason": counts}, {"entities": 60, "relations": 40 - rejected, "rejected_rows": rejected}
    )


def extractions(status: dict[str, int], error_kind: dict[str, int] | None = None) -> dict[str, TableVersion]:
    return version("extractions", {"status": status, "error_kind": error_kind or {}})


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({}, Losses()),
        (parsed(0), Losses(rows=100)),
        (parsed(6, self_loop=1, no_name=3), Losses(100, 6, 4, "no name")),
        (parsed(6, self_loop=1, no_name=1), Losses(100, 6, 2, "self loop")),
        (extractions({"ok": 8, "truncated": 2}), Losses(truncated_chunks=2)),
        # A failed chunk has an error as well as one of which a later round failed.
        (extractions({"ok": 8, "failed": 2}, {"permanent": 3, "transient": 1}), Losses(failed_rounds=2)),
        (parsed(1, no_name=1) | extractions({"truncated": 1}), Losses(100, 1, 1, "no name", 1)),
    ],
)
def test_losses_are_counted_from_records(versions: dict[str, TableVersion], expected: Losses) -> None:
    assert Losses.of(versions) == expected


def test_each_kind_is_a_line_with_a_command() -> None:
    assert Losses(rows=5000).lines("s", commands=True) == []
    losses = Losses(5204, 312, 34, "r", 1, 2)
    assert losses.lines("O'Neill", commands=True) == [
        "O'Neill: 312 of 5,204 rows of answers could not be used (6.0%), in 34 chunks: "
        f"{SQL} chunk_id, rejected_rows, reason from parsed where source = 'O''Neill' and rejected_rows > 0\"",
        "O'Neill: the answers about 1 chunk were cut off, so that rows are missing: "
        f"{SQL} chunk_id from extractions where source = 'O''Neill' and status = 'truncated'\"",
        "O'Neill: a further round about 2 chunks failed: "
        f"{SQL} chunk_id, error from extractions where source = 'O''Neill' and status <> 'failed' "
        'and error is not null"',
    ]
    assert losses.lines("s", commands=False) == [
        "s: 312 of 5,204 rows of answers could not be used (6.0%), in 34 chunks",
        "s: the answers about 1 chunk were cut off, so that rows are missing",
        "s: a further round about 2 chunks failed",
    ]


def test_the_share_is_one_of_the_rows() -> None:
    assert (Losses(5204, 312).rejected, Losses(5204).rejected) == ("312 (6.0%)", "")
    assert Losses(100, 6).rejected_share == 0.06
    assert Losses().rejected_share == 0.0


def test_clean_answers_lack_nothing(published_home: Path) -> None:
    tables = SourceTables(Home(published_home))
    for source in ("archive", "office"):
        rows = sum(tables.require(table, source).rows for table in ("entity_mentions", "relation_mentions"))
        assert Losses.of(tables.current_versions(source)) == Losses(rows=rows)
        assert rows > 0
