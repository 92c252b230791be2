"""Placeholder until the engine of candidates is merged."""

from typing import NamedTuple

import pyarrow as pa

from lightrag_dagster.settings import Settings


class Found(NamedTuple):
    """Candidates and what was cut."""

    rows: pa.Table
    cut: int = 0
    outdone: int = 0


def duplicate_candidates(settings: Settings) -> Found:
    """Return candidates."""
    raise NotImplementedError
