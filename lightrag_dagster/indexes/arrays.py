"""Arrays of a generation as files: written once, memory-mapped by readers."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Lists:
    """A list of rows for every row (compressed sparse rows)."""

    offsets: npt.NDArray[np.int64]
    values: Rows

    def of(self, row: int) -> Rows:
        """Return the list of one row, in its order."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def of_each(self, rows: npt.NDArray[Any]) -> tuple[Rows, Rows]:
        """Return the values of the lists of some rows, and before it for each the position of its row among them."""
        first, lengths = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        owners = np.repeat(np.arange(len(rows), dtype=np.int32), lengths)
        return owners, self.values[np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(owners))]

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of values in each list."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> npt.NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)


def lists_of(owners: npt.NDArray[Any], values: Rows, number: int) -> Lists:
    """Return the lists of a number of rows from pairs of row and value, which are sorted by row."""
    return Lists(offsets_of(np.bincount(owners, minlength=number)), values)


def offsets_of(lengths: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the start of each list of these lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def find_sorted(known: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the places of some values in sorted ones, and a mask of those that are there."""
    places = np.searchsorted(known, wanted)
    here = places < len(known)
    here[here] = known[places[here]] == wanted[here]
    return places, here


def write_array(folder: Path, name: str, array: npt.NDArray[Any]) -> None:
    """Write one array; raises OSError."""
    np.save(folder / f"{name}.npy", array, allow_pickle=False)


def write_lists(folder: Path, name: str, lengths: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
    """Write lists as two arrays, `name_offsets` and `name_values`; raises OSError."""
    write_array(folder, f"{name}_offsets", offsets_of(lengths))
    write_array(folder, f"{name}_values", values.astype(np.int32))


def map_array(folder: Path, name: str) -> npt.NDArray[Any]:
    """Map one array; raises OSError or ValueError when it is missing or damaged."""
    return read_array(folder / f"{name}.npy", mapped=True)


def read_array(path: Path, *, mapped: bool = False) -> npt.NDArray[Any]:
    """Read or map the array of a file; raises the same errors as `map_array`."""
    try:
        array: npt.NDArray[Any] = np.load(str(path), mmap_mode="r" if mapped else None)  # a Path is resolved
        array = array.view(np.ndarray)  # each slice of a `memmap` takes two microseconds more
    except EOFError as error:
        raise ValueError(f"{path.name} is empty") from error
    return array


def map_lists(folder: Path, name: str) -> Lists:
    """Map the lists that `write_lists` wrote; raises the same errors as `map_array`."""
    return Lists(map_array(folder, f"{name}_offsets"), map_array(folder, f"{name}_values"))


def map_table(folder: Path, name: str) -> pa.Table:
    """Map an Arrow file; raises OSError or ArrowException when it is missing or damaged."""
    return pa.ipc.open_file(pa.memory_map(str(folder / f"{name}.arrow"))).read_all()
