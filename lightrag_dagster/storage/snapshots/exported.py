"""The exports of snapshots in a home: which there are, and the index that says which are whole."""

from collections.abc import Collection, Mapping
from contextlib import suppress

from pydantic import Field

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.records import Record, read_record

LATEST = "latest"


class Export(Record):
    """An export of one format."""

    rows: dict[str, int] = Field(description="File → rows")
    bytes: int
    notes: list[str] = Field(description="Losses of the format")
    recipe: str = Field(default="", description="Revision of the code that wrote it")


class Exports(Record):
    """`exports.json`: the exports of the snapshot that was exported last."""

    mended_by = "delete it and run `lightrag-dagster export` again"

    snapshot_id: str
    formats: Mapping[str, Export] = Field(description="Format → its export, in exports/<snapshot_id>/<format>")


def read_exports(home: Home) -> Exports | None:
    """Return the index; None when nothing is exported, or its snapshot is gone; raises StoreError if it is damaged."""
    found = read_record(home.exported, Exports)
    return found if found and home.generation(found.snapshot_id).exists() else None


def exported_snapshots(home: Home) -> set[str]:
    """Return the snapshots of which there are exports, perhaps unfinished; raises StoreError."""
    stored = {path.relative_to(home.exports).parts[0] for path in home.files.list_folder(home.exports)}
    return stored | {path.name for path in home.exports.glob("gen-*")}


def forget_exports(home: Home, snapshots: Collection[str]) -> None:
    """Let neither the index nor `latest` lead to exports of some snapshots, whose folders are removed afterwards."""
    latest, found = home.exports / LATEST, None
    with suppress(StoreError):  # a damaged index leads nowhere
        found = read_record(home.exported, Exports)
    if found and found.snapshot_id in snapshots:
        home.exported.unlink()
    if latest.is_symlink() and latest.readlink().name in snapshots:
        latest.unlink()
