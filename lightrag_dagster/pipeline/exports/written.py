"""The result of an export, and the text that some formats cannot hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Written:
    """An export: its files, the rows of each, and sentences about what the format cannot hold."""

    rows: Mapping[Path, int]
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Size of its files."""
        return sum(path.stat().st_size for path in self.rows)
