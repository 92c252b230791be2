"""The engine that the settings name."""

from contextlib import AbstractContextManager, nullcontext

from lightrag_dagster.engines.engine import LOCAL, Engine
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.engines.ray import RayEngine
from lightrag_dagster.settings.sections import EngineName


def open_engine(name: EngineName) -> AbstractContextManager[Engine]:
    """Open an engine; its workers start when there is work for several, and end with the block."""
    return nullcontext(LOCAL) if name == "local" else ProcessEngine() if name == "processes" else RayEngine()


def shares_disk(name: EngineName) -> bool:
    """Return True if all workers of an engine always see the disk of this process."""
    return name != "ray"
