"""The exports of snapshots in a home: which there are, and the index that says which are whole."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Export, Exports
from lightrag_dagster.storage.records import read_record, write_record

LATEST = "latest"


def read_exports(home: Home) -> Exports | None:
    """Return the index; None when nothing is exported, or its snapshot is gone; raises StoreError if it is damaged."""
    found = read_record(home.exported, Exports)
    return found if found and home.generation(found.snapshot_id).exists() else None


def exported_snapshots(home: Home) -> set[str]:
    """Return the snapshots of which there are exports, perhaps unfinished; raises StoreError."""
    stored = {path.relative_to(home.exports).parts[0] for path in home.files.list_folder(home.exports)}
    return stored | {path.name for path in home.exports.glob("gen-*")}


def place_of(home: Home, snapshot_id: str, form: str) -> str:
    """Return where an export of a home is, by its stable name if it has one."""
    if home.bucket:
        return f"{home.bucket}/exports/{snapshot_id}/{form}"
    latest, folder = home.exports / LATEST / form, home.exports / snapshot_id / form
    return str(latest if latest.exists() and latest.samefile(folder) else folder)


def forget_exports(home: Home, snapshots: Collection[str]) -> None:
    """Let neither the index nor `latest` lead to exports of some snapshots, whose folders are removed afterwards."""
    latest, found = home.exports / LATEST, _index(home)
    if found and found.snapshot_id in snapshots:
        home.exported.unlink()
    if latest.is_symlink() and latest.readlink().name in snapshots:
        latest.unlink()


def forget_comparisons(home: Home, kept: str) -> list[Path]:
    """Let the index not lead to exports of a kept snapshot that show another; return what it does not name, to remove.

    A killed export leaves some that may show another.
    """
    folder, left = home.exports / kept, dict[str, Export]()
    if (found := _index(home)) and found.snapshot_id == kept:
        left = {form: one for form, one in found.formats.items() if one.compared_with in (None, kept)}
        write_record(home.exported, found.model_copy(update={"formats": left}))
    stored = {path.relative_to(folder).parts[0] for path in [*home.files.list_folder(folder), *folder.glob("*")]}
    return [folder / form for form in sorted(stored - left.keys())]


def _index(home: Home) -> Exports | None:
    with suppress(StoreError):  # a damaged index leads nowhere
        return read_record(home.exported, Exports)
    return None
