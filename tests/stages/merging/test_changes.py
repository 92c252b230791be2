"""Rows of the last merge that are kept are those that a merge of everything makes."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.stages.merging.inputs import Evidence, MergeInput, Previous
from lightrag_dagster.storage.files import atomic
from tests.stages.merging.tables import Exact, Tables, merged_from
from tests.stages.merging.test_parts import State, inputs_of, states

Rows = list[tuple[str, str, str]]
"""Chunk, name and description of mentions."""


def kept(folder: Path, merged: Tables, before: Sequence[MergeInput], now: Sequence[MergeInput]) -> Previous:
    """Store merged tables as those of the last merge."""
    files = {table: folder / f"{table}.parquet" for table in MERGED_TABLES}
    for table, path in files.items():
        atomic.write_parquet(path, getattr(merged, table))
    old, new = ({path for one in inputs for path in one.chunks} for inputs in (before, now))
    evidence = Evidence(
        files["entity_evidence"], files["relation_evidence"], tuple(sorted(old - new)), tuple(sorted(new - old))
    )
    return Previous(files["entities"], files["relations"], evidence=evidence)


@given(st.lists(states, min_size=2, max_size=3), st.sampled_from((1, 2, 300)), st.sampled_from((2, 6)), st.booleans())
@bounds(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_merge_after_any_other_is_that_of_everything(
    history: list[State], most: int, summarised: int, first: bool
) -> None:
    rules: dict[str, Any] = {
        "max_chunks": most,
        "summary_min_descriptions": summarised,
        "chunk_limit_method": "KEEP" if first else "FIFO",
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        last = inputs_of(folder / "0", history[0])
        merged = merged_from(last, folder, Exact(), **rules)
        for night, state in enumerate(history[1:], start=1):
            now = inputs_of(folder / str(night), state)
            merged = merged_from(now, folder, Exact(), kept(folder / f"kept{night}", merged, last, now), **rules)
            assert merged == merged_from(now, folder, Exact(), **rules)
            last = now
