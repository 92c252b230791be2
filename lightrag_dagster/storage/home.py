"""Layout of `LIGHTRAG_HOME`.

builder.lock, builder.pid             lock of the builder, and its process id
ingesting/<source>.lock, .pid         lock of an ingestion, and its process id
CURRENT                               pointer to the published snapshot (JSON, replaced atomically)
NEWEST                                pointer to the newest generation
HELD, pins.json                       snapshot that a rollback holds, names of snapshots
responses.sqlite, vectors.sqlite      stored responses and vectors, which were paid for
batches.sqlite, batches/, batches.lock  batches at the provider, and their files
ledger.sqlite                         calls and cost of every run
failures.jsonl                        failed runs of the daemon, one JSON object a line
tables/<table>/<source>/              immutable Parquet versions, `current.json`, and `candidate.json` of a backfill
accepted/<source>.json                versions of a source that the merge reads
generations/<id>/                     merged tables, graph, adjacency arrays, views, manifest, files.json
lance/                                LanceDB tables, updated in place; versions are tagged
dagster/                              the Dagster instance, unless $DAGSTER_HOME is set
"""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote


@dataclass(frozen=True)
class Home:
    """Paths below one home. Creates nothing."""

    root: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.root.expanduser().absolute())

    @property
    def lock(self) -> Path:
        """Lock file of builders."""
        return self.root / "builder.lock"

    @property
    def lock_holder(self) -> Path:
        """File with the process id of the builder."""
        return self.root / "builder.pid"

    @property
    def current(self) -> Path:
        """Pointer to the published snapshot."""
        return self.root / "CURRENT"

    @property
    def held(self) -> Path:
        """Pointer to the snapshot that a rollback holds; missing when none is held."""
        return self.root / "HELD"

    @property
    def pins(self) -> Path:
        """Names of snapshots."""
        return self.root / "pins.json"

    @property
    def failures(self) -> Path:
        """Failed runs of the daemon, one JSON object a line."""
        return self.root / "failures.jsonl"

    @property
    def newest(self) -> Path:
        """Pointer to the newest generation."""
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
    def batches(self) -> Path:
        """Ledger of batches at the provider."""
        return self.root / "batches.sqlite"

    @property
    def batch_files(self) -> Path:
        """Folder of files sent to the provider and received from it."""
        return self.root / "batches"

    @property
    def batches_lock(self) -> Path:
        """Lock file for submitting and collecting batches."""
        return self.root / "batches.lock"

    @property
    def ledger(self) -> Path:
        """Ledger of calls and cost."""
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
