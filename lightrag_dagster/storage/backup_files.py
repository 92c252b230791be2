"""Places that a home is copied from and to: folders and buckets, with the layout of a home or of a backup.

A backup has the layout of a home in a bucket, whether it is in one or in a folder: records below `records/`, data as
it is. Beside them are `batches/`, and `database/` with a Parquet file for each table of the database.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lightrag_dagster.core.objects import Objects, Stored
from lightrag_dagster.core.progress import report
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import SettingsError, StoreError
from lightrag_dagster.storage.database.table_dump import reading
from lightrag_dagster.storage.files import atomic, packed
from lightrag_dagster.storage.files.mirror import DATA, each
from lightrag_dagster.storage.files.session import POINTERS, RECORDS, is_record, rank
from lightrag_dagster.storage.home import Home, bucket_uri
from lightrag_dagster.storage.home_format import Format

_FORMAT = "FORMAT"
_EXPORTS = "exports.json"
_VIEWS = "gen-*/views.*"
_BATCHES = "batches"
_BLOCK = 256
"""Files that are copied between two reports of progress."""


class Folder:
    """A folder with the part of `Objects` that copying needs. Hidden files, which are unfinished, are not seen."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().absolute()
        self.name = str(self.root)

    def list(self, folder: str) -> dict[str, Stored]:
        """Return key → file of everything below a folder, or of one file."""
        found = {path.relative_to(self.root): one for path, one in atomic.files_below(self.root / folder).items()}
        seen = {name: one for name, one in found.items() if not any(part[0] == "." for part in name.parts)}
        return {name.as_posix(): one for name, one in seen.items()}

    def get(self, key: str) -> tuple[bytes, dict[str, str]] | None:
        """Return a file, or None when there is none."""
        path = self.root / key
        with reading(path):
            return (path.read_bytes(), {}) if path.is_file() else None

    def upload(self, key: str, content: Path | bytes, *, create: bool) -> None:
        """Store a file whole, or not at all."""
        with atomic.replacing(self.root / key) as temporary:
            if isinstance(content, Path):
                with reading(content):  # an error of the copy is taken for one of the target
                    content.open("rb").close()
                shutil.copyfile(content, temporary)
            else:
                temporary.write_bytes(content)

    def delete(self, keys: Sequence[str]) -> None:
        """Remove files; those that are not there are no error."""
        for key in keys:
            (self.root / key).unlink(missing_ok=True)


Place = Folder | Objects


@contextmanager
def local(place: Place, key: str) -> Iterator[Path]:
    """Give a path with the content of a file: itself, or fetched from a bucket for the block; raises StoreError."""
    with ExitStack() as opened:
        if isinstance(place, Folder):
            path = place.root / key
            found = path.is_file()
        else:
            path = opened.enter_context(temporary_folder("lightrag-copy-")) / "content"
            found = place.download(key, path)
        if not found:
            raise StoreError(f"{place.name}/{key} is missing; run again, or use another backup")
        yield path


@dataclass(frozen=True)
class Contents:
    """The contents of a home or backup, by their names in a home on disk. Every method raises StoreError.

    `machine` has the files of batches. If it is `flat`, as a home on disk, records lie beside the data. A home in a
    bucket `packs` some files; a backup has them as it got them.
    """

    place: Place
    machine: Place
    flat: bool = False
    packs: bool = False

    @classmethod
    def of_home(cls, home: Home) -> Self:
        """Return those of a home."""
        place = Objects.open(home.bucket) if home.bucket else Folder(home.root)
        return cls(place, Folder(home.of_machine), flat=home.bucket is None, packs=home.bucket is not None)

    @classmethod
    def of_backup(cls, where: str) -> Self:
        """Return those of a backup in a folder, or below a URI such as s3://bucket/prefix; raises SettingsError."""
        if not where:
            raise SettingsError("the place of a backup has no name; name a folder, or a URI such as s3://bucket/prefix")
        uri = bucket_uri(Path(where))
        place = Objects.open(uri) if uri else Folder(Path(where))
        return cls(place, place)

    def format(self) -> Format | None:
        """Return the format, or None where there is none."""
        content = self._read(_FORMAT)
        with reading(f"{self.place.name}/{self._key(_FORMAT)}"):
            return Format.model_validate_json(content) if content else None

    def set_format(self, found: Format) -> None:
        """Store the format."""
        self._store(_FORMAT, found.model_dump_json(exclude_none=True).encode())

    def names(self) -> dict[str, int]:
        """Return name → bytes of all files except FORMAT, exports, and the views of a home on disk."""
        places = (*POINTERS, "accepted") if self.flat else (RECORDS,)
        found = self.machine.list(_BATCHES)
        for folder in (*places, *DATA, "lance"):
            found |= self.place.list(folder)
        sizes = {key.removeprefix(f"{RECORDS}/"): one.size for key, one in found.items()}
        left_out = (_FORMAT, _EXPORTS, *(name for name in sizes if Path(name).match(_VIEWS)))
        return {name: size for name, size in sizes.items() if name not in left_out}

    def has_files(self) -> bool:
        """Return True if there are files; in a home on disk, beside which others may lie, only its own count."""
        return bool(self.names() if self.flat else self.place.list(""))

    def records(self) -> dict[str, bytes]:
        """Return record → content, except FORMAT."""
        found = each(lambda name: (name, self._read(name)), filter(is_record, self.names()))
        return {name: content for name, content in found if content is not None}

    def store_records(self, records: Mapping[str, bytes]) -> None:
        """Store records, PUBLISHED last, and remove all others."""
        self._delete(name for name in self.names() if is_record(name) and name not in records)
        for name in sorted(records, key=rank):
            self._store(name, records[name])

    def store_data(self, source: "Contents") -> dict[str, int]:
        """Copy all files of another home or backup that are not records, and remove all others; return their bytes."""
        found = source.names()
        sizes = {name: size for name, size in found.items() if not is_record(name)}
        kept = set(map(self._name_here, sizes))
        self._delete(name for name in self.names() if not is_record(name) and name not in kept)
        names = sorted(sizes)
        for start in range(0, len(names), _BLOCK):
            each(lambda name: self._copy(source, name), names[start : start + _BLOCK])
            report("files", min(start + _BLOCK, len(names)), len(names))
        return sizes

    def _copy(self, source: "Contents", name: str) -> None:
        here = self._name_here(name)
        with local(source._of(name), name) as path:
            if here == name:
                self._store(name, path)
                return
            with temporary_folder("lightrag-copy-") as folder:
                content = folder / "content"
                if self.packs:
                    packed.pack(path, content)
                else:
                    packed.unpack(f"{source.place.name}/{name}", path, content)
                self._store(here, content)

    def _name_here(self, name: str) -> str:
        """Return the name that a file of another home or backup gets."""
        return packed.key_of(name) if self.packs else packed.name_of(name) if self.flat else name

    def _read(self, name: str) -> bytes | None:
        found = self._of(name).get(self._key(name))
        return found[0] if found else None

    def _store(self, name: str, content: Path | bytes) -> None:
        self._of(name).upload(self._key(name), content, create=False)

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._of(name).delete([self._key(name)])

    def _of(self, name: str) -> Place:
        return self.machine if name.startswith(f"{_BATCHES}/") else self.place

    def _key(self, name: str) -> str:
        return f"{RECORDS}/{name}" if is_record(name) and not self.flat else name
