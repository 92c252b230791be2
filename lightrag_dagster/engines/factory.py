"""The engine that the settings name."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pyarrow as pa

from lightrag_dagster.engines.engine import LOCAL, Engine, Result
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.engines.ray import RayEngine
from lightrag_dagster.settings.sections import EngineName


def open_engine(name: EngineName) -> AbstractContextManager[Engine]:
    """Open an engine; its workers start when there is work for several, and end with the block."""
    if name == "local":
        return nullcontext(LOCAL)
    return ProcessEngine() if name == "processes" else RayEngine()


def shares_disk(name: EngineName) -> bool:
    """Return True if all workers of an engine always see the disk of this process."""
    return name != "ray"


def map_rows(engine: Engine, function: Callable[[pa.Table], Result], rows: pa.Table, a_worker: int) -> list[Result]:
    """Apply a function to a table, cut into parts if an engine has workers for them; parts in order.

    Args:
        engine: The engine.
        function: Can be pickled; its results for the parts are those for the whole.
        rows: The table; a part is empty only if the table is.
        a_worker: The least rows that are worth a worker.
    """
    parts = rows.num_rows // a_worker
    parts = min(engine.workers, parts) if parts > 1 else 1
    size = -(-rows.num_rows // parts)
    return engine.map(function, [rows.slice(part * size, size) for part in range(parts)])
