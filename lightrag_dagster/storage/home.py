"""Layout of `LIGHTRAG_HOME`.

builder.lock, builder.pid             lock of the builder, and its process id and host
ingesting/<source>.lock, .pid, .work  lock of an ingestion, its process id and host, and what it holds for a while
FORMAT                                number of this layout, as `storage.home_format` says
PUBLISHED                             pointer to the published snapshot (JSON, replaced atomically)
NEWEST                                pointer to the newest generation
HELD, pins.json                       snapshot that is held until `release`, and those with a name
exports/<id>/<format>/                the exports of a snapshot; `exports/latest` is a link, not of a bucket
exports.json                          the snapshot whose exports are whole, and their formats
collected.json                        last garbage collection
scopes.json                           names of the scopes that have a home
purging.json                          documents whose purge has begun and not ended
responses.sqlite, vectors.sqlite      stored responses and vectors, which were paid for
batches.sqlite, batches/, batches.lock  batches at the provider, and their files
ledger.sqlite                         calls and cost of every run, and the last attempts at each source
decisions.sqlite                      decisions of people about names
failures.jsonl                        failed runs of the daemon, one JSON object a line
tables/<table>/<source>/              immutable Parquet files, `current.json`, and `candidate.json` of a backfill;
                                      <version>.shards lists the files of a large version; `refused.json` of the
                                      documents says which files were not taken, `upstream.json` which partitions of
                                      an upstream asset there are
accepted/<source>.json                versions of a source that the merge reads
views.duckdb                          link to the views of the published snapshot; not of a bucket
generations/<id>/                     merged tables, graph, adjacency arrays, views, manifest, files.json
scratch/<id>/                         of a bucket alone: what the steps of a merge hand on, until it ends
lance/                                LanceDB tables, updated in place; versions are tagged
dagster/                              the Dagster instance, unless $DAGSTER_HOME is set
scopes/<scope>/                       the home of a scope: its tables are the rows of this home's that it shows, and
                                      responses, vectors, ledger and decisions are those of this home

With LIGHTRAG_DATABASE, the SQLite files and the locks are tables and locks of that Postgres database instead.

The home of a bucket is a folder of the cache that one process uses at a time. `storage.files` moves files between the
two; LanceDB reads and writes the bucket itself.
"""

import os
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from pydantic import SecretStr

from lightrag_dagster.errors import SettingsError, StoreError, one_line
from lightrag_dagster.settings import CacheSettings, Settings, load_settings
from lightrag_dagster.storage.database.address import Address, is_there
from lightrag_dagster.storage.files.bucket import BucketFiles
from lightrag_dagster.storage.files.cache import claim_folder
from lightrag_dagster.storage.files.files import Files
from lightrag_dagster.storage.files.network_mounts import require_local
from lightrag_dagster.storage.locks.base import Locks
from lightrag_dagster.storage.locks.file import FileLocks

# A `Path` of s3://bucket/prefix is s3:/bucket/prefix.
_BUCKET = re.compile(r"(s3|gs|az):/+(.+)")

# With these characters in a path, LanceDB makes empty folders beside it whose names encode them, or fails to; not so by
# this scheme, whose reading of single rows is slower.
_ENCODED = re.compile(r"[^ -~]|[]\[\"#%*<>^`{|}~]")


class _Below:
    """A file or folder of each home, by its name below the root."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: "Home", kind: type) -> Path:
        return home.root / self._name


class _Stored:
    """A database of each home: the Postgres database, if it has one, else a file of SQLite."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: "Home", kind: type) -> Address:
        return home.database or (home.parent or home).root / self._name


@dataclass(frozen=True)
class Home:
    """Paths below one home, its files, locks and databases; it creates only the folder of a cache.

    `cached_bytes` is how much of a bucket may be kept below `root`. The home of a scope has its name, and a `parent`.
    """

    root: Path
    database: SecretStr | None = None
    bucket: str | None = None
    cached_bytes: float = 0
    scope: str = ""
    parent: "Home | None" = None

    lock = _Below("builder.lock")  # lock file of builders
    format = _Below("FORMAT")  # number of the layout
    published = _Below("PUBLISHED")  # pointer to the published snapshot
    held = _Below("HELD")  # pointer to the snapshot that is held; missing when none is
    pins = _Below("pins.json")  # names of pinned snapshots
    purging = _Below("purging.json")  # documents whose purge has begun and not ended; missing when there are none
    collected = _Below("collected.json")  # the last garbage collection; missing before the first one
    scopes = _Below("scopes.json")  # names of the scopes that have a home; missing before the first one
    exports = _Below("exports")  # folder of the exports of snapshots
    exported = _Below("exports.json")  # index of the exports that are whole; missing before the first ones
    views = _Below("views.duckdb")  # link to the views of the published snapshot
    newest = _Below("NEWEST")  # pointer to the newest generation
    batches_lock = _Below("batches.lock")  # lock file for submitting and collecting batches
    lance = _Below("lance")  # LanceDB database; of a bucket, nothing is here, and its files are named as if they were
    generations = _Below("generations")  # folder of generations
    scratch = _Below("scratch")  # folder of what the steps of a merge hand on through a bucket
    responses = _Stored("responses.sqlite")  # response store
    vectors = _Stored("vectors.sqlite")  # vector store
    batches = _Stored("batches.sqlite")  # ledger of batches at the provider
    ledger = _Stored("ledger.sqlite")  # ledger of calls and cost; beside it the last attempts at each source
    decisions = _Stored("decisions.sqlite")  # decisions of people about names

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.root.expanduser().absolute())

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the home of settings, or of their scope; of a bucket, claim a folder of the cache for this process.

        Raises:
            SettingsError: it is a file, or has a `?` in its path, or no Postgres database is configured for a bucket or
                a folder on a network file system.
            StoreError: the cache cannot be written.
        """
        if settings.scope:
            parent, below = cls.of(settings.within(None)), f"scopes/{settings.scope}"
            if parent.bucket is None:
                return replace(parent, root=parent.root / below, scope=settings.scope, parent=parent)
            of_scope = cls._cached(f"{parent.bucket}/{below}", settings.cache, settings.database)
            return replace(of_scope, scope=settings.scope, parent=parent)
        uri = bucket_uri(settings.home)
        if uri is None:
            home = cls(_usable(settings.home, "home"), settings.database)
            if home.root.is_file():
                raise SettingsError(f"setting home: {home.root} is a file; name the folder of a home, or a bucket")
            if home.database is None:
                require_local(home.root)
            return home
        if settings.database is None:
            raise SettingsError(
                f"setting home: {uri} is a bucket, which needs a Postgres database as well; "
                "set LIGHTRAG_DATABASE=postgresql://…"
            )
        return cls._cached(uri, settings.cache, settings.database)

    @classmethod
    def existing(cls, settings: Settings) -> Self:
        """Return the home of some settings; raises as `of`, and StoreError if it does not exist."""
        home = cls.of(settings)
        if home.parent and not home.root.exists():
            raise StoreError(f"there is no scope {home.scope} in {home.parent.name}; name one that a run has published")
        if not home.root.exists():
            raise StoreError(f"there is no home {home.name}; name it by --home or LIGHTRAG_HOME, or make one by `run`")
        return home

    @staticmethod
    @cache
    def of_worker(uri: str) -> "Home":
        """Return a home in a bucket without its database, for a worker, cached where the worker's own settings say.

        Raises:
            SettingsError: the settings cannot be used.
            StoreError: the cache cannot be written.
        """
        return Home._cached(uri, load_settings().cache, None)

    def for_worker(self) -> "Home":
        """Return this home without the URL of a database, which no worker needs."""
        return replace(self, database=None, parent=None)

    def in_worker(self) -> "Home":
        """Return this home in a process that works for another: a bucket's has the cache of its own machine there.

        Raises as `of_worker`.
        """
        is_elsewhere = self.bucket is not None and not self.root.exists()
        return Home.of_worker(str(self.bucket)) if is_elsewhere else self

    def holds(self, place: Path) -> bool:
        """Return True for a file, folder or URI that is in the home, and for the home."""
        uri = bucket_uri(place)
        if uri is not None:
            return f"{uri}/".startswith(f"{self.bucket}/")
        return place.expanduser().resolve().is_relative_to(self.root.resolve())

    @classmethod
    def _cached(cls, uri: str, settings: CacheSettings, database: SecretStr | None) -> Self:
        return cls(claim_folder(_usable(settings.folder, "cache.folder"), uri), database, uri, settings.max_gb * 1e9)

    @property
    def files(self) -> Files:
        """The files, on the disk or in the bucket."""
        return BucketFiles(self.bucket, self.root, self.cached_bytes) if self.bucket else Files()

    @property
    def locks(self) -> Locks:
        """The locks: of the system beside SQLite, or of the Postgres database."""
        if self.database is None:
            return FileLocks()
        from lightrag_dagster.storage.locks.postgres import PostgresLocks

        return PostgresLocks(self.database, self.root, f"scopes/{self.scope}/" if self.scope else "")

    @property
    def name(self) -> str:
        """The folder or bucket URI, for messages."""
        return self.bucket or str(self.root)

    @property
    def of_machine(self) -> Path:
        """Folder of what is not in a bucket, and is the same for all processes of this machine."""
        return self.root.parent if self.bucket else self.root

    @property
    def failures(self) -> Path:
        """Failed runs of the daemon, one JSON object a line."""
        return self.of_machine / "failures.jsonl"

    @property
    def may_have_batches(self) -> bool:
        """False of a scope, and when no batch was ever recorded, as the missing file of SQLite shows."""
        return not self.scope and is_there(self.batches)

    @property
    def batch_files(self) -> Path:
        """Folder of files sent to the provider and received from it."""
        return self.of_machine / "batches"

    @property
    def lance_uri(self) -> str:
        """The address of LanceDB's database: the folder, or a URI in the bucket."""
        if self.bucket:
            return f"{self.bucket}/lance"
        path = str(self.lance)
        return f"file-object-store://{quote(path)}" if _ENCODED.search(path) else path

    @property
    def dagster(self) -> Path:
        """Folder of the Dagster instance: `$DAGSTER_HOME` when set."""
        configured = os.environ.get("DAGSTER_HOME")
        return Path(configured) if configured else self.own_dagster

    @property
    def own_dagster(self) -> Path:
        """Folder of the Dagster instance that this home makes; not used when `$DAGSTER_HOME` is elsewhere."""
        return self.of_machine / "dagster"

    def source_table(self, table: str, source: str) -> Path:
        """Folder of one per-source table; the source name is percent-encoded."""
        return self.root / "tables" / table / quote(source, safe="")

    @staticmethod
    def source_of(folder: Path) -> str:
        """Return the source whose table lies in a folder."""
        return unquote(folder.name)

    def source_lock(self, source: str) -> Path:
        """File that an ingestion of a source locks."""
        return self.root / "ingesting" / f"{quote(source, safe='')}.lock"

    def ingestion_folder(self, source: str) -> Path:
        """Folder of what an ingestion of a source holds for a while."""
        return self.source_lock(source).with_suffix(".work")

    def accepted(self, source: str) -> Path:
        """File that names a source's accepted versions."""
        return self.root / "accepted" / f"{quote(source, safe='')}.json"

    def generation(self, generation_id: str) -> Path:
        """Folder of one generation."""
        return self.generations / generation_id


def _usable(folder: Path, setting: str) -> Path:
    """Return the absolute path of a folder; raises SettingsError for none, and where DuckDB opens no database."""
    try:
        absolute = folder.expanduser().absolute()
        absolute.resolve()
    except (OSError, RuntimeError) as error:  # an unknown user, links that lead to each other
        raise SettingsError(f"setting {setting}: {folder} leads nowhere: {one_line(error)}; name another") from error
    if found := re.search(r"[?\\\ud800-\udfff]", str(absolute)):  # the last of a name that is not UTF-8
        said = f"setting {setting}: {folder} has a {found[0]}, where DuckDB keeps no database; name another"
        raise SettingsError(said.encode("utf-8", "backslashreplace").decode())
    return absolute


def bucket_uri(home: Path) -> str | None:
    """Return the URI of a home that is a bucket, such as s3://bucket/prefix; None for a folder."""
    found = _BUCKET.fullmatch(str(home))
    return f"{found[1]}://{found[2]}" if found else None
