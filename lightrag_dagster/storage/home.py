"""Where everything lives below `LIGHTRAG_HOME`.

builder.lock, builder.pid             held by a process that builds, and which process that is
ingesting/<source>.lock, .pid         held by a process that ingests the source, and which process that is
CURRENT                               the published snapshot (one JSON file, replaced atomically)
NEWEST                                the newest built generation
HELD, pins.json, leases/              what a rollback holds, names of snapshots, which ones are open in readers
responses.sqlite, vectors.sqlite      what was paid for
in-flight/                            one locked file for each call whose answer a process is waiting for
batches.sqlite, batches/, batches.lock  batches at the provider, and files on their way there and back
ledger.sqlite                         what every run asked for, and what it cost
failures.jsonl                        runs of the daemon that failed, one JSON object a line
tables/<table>/<source>/              immutable Parquet versions, `current.json`, and `candidate.json` of a backfill
accepted/<source>.json                the versions of a source that the merge reads
generations/<id>/                     merged tables, graph, adjacency arrays, views, manifest
lance/                                LanceDB tables, in place; versions pinned by tag
dagster/                              the Dagster instance, unless $DAGSTER_HOME is set
"""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote


@dataclass(frozen=True)
class Home:
    """Paths below one home. Nothing is created until something is written."""

    root: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.root.expanduser().absolute())

    @property
    def lock(self) -> Path:
        """File that builders lock."""
        return self.root / "builder.lock"

    @property
    def lock_holder(self) -> Path:
        """File with the process id of the holder of the lock."""
        return self.root / "builder.pid"

    @property
    def current(self) -> Path:
        """Pointer to the published snapshot."""
        return self.root / "CURRENT"

    @property
    def held(self) -> Path:
        """Pointer to the snapshot that a rollback holds published; no file when none is held."""
        return self.root / "HELD"

    @property
    def pins(self) -> Path:
        """Names of snapshots."""
        return self.root / "pins.json"

    @property
    def failures(self) -> Path:
        """Runs of the daemon that failed, one JSON object a line."""
        return self.root / "failures.jsonl"

    @property
    def leases(self) -> Path:
        """Folder with one locked file a reader."""
        return self.root / "leases"

    @property
    def newest(self) -> Path:
        """Pointer to the newest built generation."""
        return self.root / "NEWEST"

    @property
    def responses(self) -> Path:
        """Response store."""
        return self.root / "responses.sqlite"

    @property
    def vectors(self) -> Path:
        """Vector store."""
        return self.root / "vectors.sqlite"

    @property
    def in_flight(self) -> Path:
        """Folder of locks, one for each call whose answer a process is waiting for."""
        return self.root / "in-flight"

    @property
    def batches(self) -> Path:
        """Ledger of batches at the provider."""
        return self.root / "batches.sqlite"

    @property
    def batch_files(self) -> Path:
        """Folder of files on their way to the provider and back."""
        return self.root / "batches"

    @property
    def batches_lock(self) -> Path:
        """File that whoever submits or collects batches locks."""
        return self.root / "batches.lock"

    @property
    def ledger(self) -> Path:
        """What every run asked for and what it cost."""
        return self.root / "ledger.sqlite"

    @property
    def lance(self) -> Path:
        """LanceDB database."""
        return self.root / "lance"

    @property
    def generations(self) -> Path:
        """Folder of generations."""
        return self.root / "generations"

    @property
    def dagster(self) -> Path:
        """Folder of the Dagster instance: `$DAGSTER_HOME` when set."""
        configured = os.environ.get("DAGSTER_HOME")
        return Path(configured) if configured else self.root / "dagster"

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

    def accepted(self, source: str) -> Path:
        """File that names a source's accepted versions."""
        return self.root / "accepted" / f"{quote(source, safe='')}.json"

    def generation(self, generation_id: str) -> Path:
        """Folder of one generation."""
        return self.generations / generation_id
