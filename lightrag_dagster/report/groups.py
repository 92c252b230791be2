"""The groups of a picture: communities, or types of entities where the algorithm is not installed."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.indexes.communities import find_communities

_COLOURS = (
    "#4c78d8", "#e07b39", "#2f9e6e", "#c2527a", "#8a63c9", "#b8912b",
    "#2b9fb3", "#a65f4b", "#6f8f2f", "#cc5fc0", "#5f7a9e", "#d3564f",
)  # fmt: skip
"""Legible on white and on black alike."""


class Groups(NamedTuple):
    """The groups of some entities.

    `parts` is for each entity the smallest group that it is in, and `wholes` the largest; -1 is none. `parents` is for
    each of the parts its whole. `names` are those of the wholes, largest first, `part_names` those of the parts. `kind`
    says what they are.
    """

    kind: str
    parts: npt.NDArray[np.int64]
    parents: npt.NDArray[np.int64]
    part_names: list[str]
    names: list[str]

    @property
    def wholes(self) -> npt.NDArray[np.int64]:
        """The largest group of each entity; -1 is none."""
        return np.where(self.parts >= 0, np.append(self.parents, -1)[self.parts], -1)


def groups_of(entities: pa.Table, relations: pa.Table) -> tuple[Groups, list[str]]:
    """Return the communities of a graph, or its types without the extra `graph`, and notes.

    Args:
        entities: `entity_id`, `name`, `type`, `description`, `degree`.
        relations: `src_id`, `tgt_id`, `weight`.
    """
    ids = entities["entity_id"].to_pylist()
    try:
        found = find_communities(entities, relations)
    except SettingsError as error:
        return _types(entities), [f"colours are types of entities, not communities: {error}"]
    return _communities(ids, found), []


def _communities(ids: list[str], found: pa.Table) -> Groups:
    number_of = {one: number for number, one in enumerate(ids)}
    rows = sorted(found.to_pylist(), key=lambda row: (row["level"], -row["size"], row["community_id"]))
    by_id = {row["community_id"]: row for row in rows}
    wholes = {row["community_id"]: number for number, row in enumerate(r for r in rows if r["parent_id"] is None)}
    smallest = np.full(len(ids), -1)
    for number, row in enumerate(rows):  # those of a deeper level come later
        smallest[[number_of[one] for one in row["entity_ids"]]] = number
    kept = np.unique(smallest[smallest >= 0])
    parts = np.where(smallest >= 0, np.searchsorted(kept, smallest), -1)
    parents = []
    for number in kept.tolist():
        row = rows[number]
        while row["parent_id"] is not None:
            row = by_id[row["parent_id"]]
        parents.append(wholes[row["community_id"]])
    names = [by_id[one]["name"] for one in wholes]
    return Groups(
        "community", parts, np.array(parents, dtype=np.int64), [rows[one]["name"] for one in kept.tolist()], names
    )


def _types(entities: pa.Table) -> Groups:
    types = entities["type"].to_pylist()
    counts = Counter(types)
    number_of = {name: number for number, name in enumerate(sorted(counts, key=lambda one: (-counts[one], one)))}
    parts = np.array([number_of[one] for one in types], dtype=np.int64)
    listed = list(number_of)
    return Groups("type", parts, np.arange(len(listed)), listed, listed)


def colours(number: int) -> list[str]:
    """Return a colour for each of some groups: the first ones have one of their own."""
    return [_COLOURS[one % len(_COLOURS)] for one in range(number)]
