"""Names that may be one, of a fixed table of entities."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lightrag_dagster.curation.desk.finder.finding import compare

_NAMES = (
    ("Marta Lindqvist", "keeps the gauge of Halden Weir since the flood and writes to Jonas Feld in Bergen", "a"),
    ("Marta Lindquist", "keeps the gauge of Halden Weir since the flood and wrote to Jonas Feld in Bergen", "b"),
    ("M. Lindqvist", "keeper of the gauge", "c"),
    ("Environmental Survey Office", "counts the gauges of the Ostrel and of the Lysk", "d"),
    ("ESO", "counts the gauges of the Lysk", "e"),
    ("Station 14", "on the Ostrel, closed in 2021", "f"),
    ("Station 15", "on the Ostrel, closed in 2021", "g"),
    ("Halden-Weir", "dams the Ostrel", "h"),
    ("Haldenweir", "a dam of the Ostrel from 1903", "i"),
    ("Bolt 7", "Bolt 7 and Bolt 8 hold the flange", "j"),
    ("Bolt 8", "Bolt 7 and Bolt 8 hold the flange", "j"),
)
_TYPES = {7: "artifact"}


def duplicates() -> Mapping[str, Any]:
    """Return the rows and counts of eleven names."""
    entities = [
        {"entity_id": f"ent-{at:02}", "name": name, "type": _TYPES.get(at, "thing"), "description": text}
        | {"chunk_ids": [chunk]}
        for at, (name, text, chunk) in enumerate(_NAMES)
    ]
    relations = pa.table({"src_id": ["ent-00", "ent-01", "ent-09"], "tgt_id": ["ent-07", "ent-07", "ent-10"]})
    found = compare(pa.Table.from_pylist(entities), relations)
    return {"rows": found.rows.to_pylist(), "counts": [found.cut, found.outdone, found.unlikely]}
