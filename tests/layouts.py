"""Homes as another version of this package may have written them."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import generations

LACKED = {"raw_documents": "tags", "chunks": "page_end", "extractions": "error_kind", "entities": "capped"}
"""Table → a column that it does not have there."""


def as_another_layout(home: Home) -> None:
    """Give tables and records of a home a column and a field that are not today's, and take some columns away.

    Versions have other names, as other columns give them.
    """
    names = [path.stem for path in home.root.glob("tables/*/*/*.parquet")]
    for path in list(home.root.glob("tables/*/*/*.parquet")):
        _change(path, path.parent.parent.name)
        path.rename(path.with_stem(path.stem[::-1]))
    for path in home.generations.glob("*/*.parquet"):
        _change(path, path.stem)
    records = [*home.root.glob("tables/*/*/*.json"), *home.root.glob("accepted/*.json")]
    records += [
        path for name in (generations.MANIFEST, generations.RECORD) for path in home.generations.glob(f"*/{name}")
    ]
    for path in records:
        text = path.read_text()
        for name in names:
            text = text.replace(name, name[::-1])
        path.write_text(json.dumps(json.loads(text) | {"mood": "fair"}))
    home.format.write_text(json.dumps(json.loads(home.format.read_text()) | {"layout": "another"}))


def _change(path: Path, table: str) -> None:
    rows = pq.ParquetFile(path).read()
    rows = rows.drop_columns([one for one in [LACKED.get(table)] if one in rows.column_names])
    path.unlink()  # copies may be links
    pq.write_table(rows.append_column("mood", pa.array(["fair"] * len(rows))), path)
