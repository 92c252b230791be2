"""Pack small homes that an older version built, with what it asks for and publishes next; README.md says how to run it.

The older version runs in processes of its own; the servers that it talks to are those of today's tests, in this one.
"""

import json
import shutil
import sys
import tarfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.buckets import serving_buckets
from tests.homes.older import OTHER_MODEL, Cloud, Older
from tests.homes.provider import serve_homes
from tests.loopback import serving
from tests.loopback_batches import Fate
from tests.postgres import serving_postgres
from tests.support import FLOOD, OFFICE, RIVER

_HERE = Path(__file__).parent
_SAMPLES = _HERE.parent / "documents_samples"

# Dagster's event log is not needed, a cache is filled again, and process ids are those of this machine.
_LEFT_OUT = shutil.ignore_patterns("dagster", "cache", "*.pid")


def build_two_sources(older: Older) -> None:
    """Build a home of several media types, with a duplicate, a failed document, and all that is paid for."""
    older.configure(
        documents={"describe_figures": True, "max_failed_share": 0.5},
        chunking={"rules": [{"path": "notes/*.txt", "method": "semantic"}]},
    )
    older.write(
        "notes", {"river.md": RIVER, "flood.txt": FLOOD, "again.txt": FLOOD, "broken.pdf": b"%PDF-1.7 and then"}
    )
    page = f"<html><head><title>Office</title></head><body><h1>Office</h1><p>{OFFICE}</p></body></html>"
    letter = f"From: Jonas Feld <jonas@feld.example>\nSubject: Office\nDate: 1 Mar 2021 10:00 +0000\n\n{OFFICE}"
    people = "name,place\nMarta Lindqvist,Halden Weir\nPriya Nair,Station 14\n"
    older.write("office", {"page.html": page, "letter.eml": letter, "people.csv": people})
    older.write("office", {name: (_SAMPLES / name).read_bytes() for name in ("reportlab.pdf", "figures.docx")})
    older.run("run")


def build_open_batch(older: Older) -> None:
    """Build a home with a published source, and another whose extraction waits for a batch at the provider."""
    older.configure(llm={"mode": "batch"}, extraction={"gleaning": 0})
    older.write("notes", {"river.md": RIVER, "flood.txt": FLOOD})
    older.run("run", LIGHTRAG_LLM__MODE="realtime")
    older.write("office", {"office.txt": OFFICE, "plan.md": f"# Plan\n\n{OFFICE} {RIVER}"})
    older.provider.batches.spoil = lambda batch: Fate(looks=1000)
    assert "Waiting for batches: office" in older.run("run")
    for batch in older.provider.batches.batches.values():
        batch.fate = Fate()  # answered from now on


def build_unfinished_backfill(older: Older) -> None:
    """Build a home with a published source whose backfill, by another model, was killed after three answers."""
    older.write("notes", {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
    older.run("run")
    older.configure(llm={"model": OTHER_MODEL})
    older.run_and_kill(3, "backfill", "--source", "notes")


def build_held_rollback(older: Older) -> None:
    """Build a home of three snapshots: a rollback holds the second, and the third was published while it did."""
    for place in ("Bergen", "Oslo", "Paris"):
        older.write("notes", {"river.md": RIVER.replace("Bergen", place)})
        older.run("run")
        if place == "Oslo":
            older.run("rollback", json.loads(older.run("status", "--json"))["snapshot_id"])


class Packed(NamedTuple):
    """A way to build a home, and the commands that come next, of which is recorded what the older version did."""

    build: Callable[[Older], None]
    following: tuple[tuple[str, ...], ...] = (("run",),)
    in_bucket: bool = False


HOMES = {
    "disk": Packed(build_two_sources),
    "bucket": Packed(build_two_sources, in_bucket=True),
    "open_batch": Packed(build_open_batch, (("run", "--wait"),)),
    "unfinished_backfill": Packed(build_unfinished_backfill, (("run",), ("backfill", "--source", "notes"))),
    "held_rollback": Packed(build_held_rollback, (("run",), ("release",))),
}


def pack(name: str, python: str, work: Path) -> Path:
    """Build a home in an empty folder, and return its archive, which is here."""
    packed, folder = HOMES[name], work / "packed"
    folder.mkdir()
    kept, archive = work / "kept", _HERE / f"{name}.tar.xz"
    with ExitStack() as servers:
        provider = servers.enter_context(serving())
        serve_homes(provider)
        older, cloud = Older(python, folder, provider), None
        if packed.in_bucket:
            cloud = Cloud(servers.enter_context(serving_buckets()), servers.enter_context(serving_postgres()))
            older.environment |= cloud.environment
        packed.build(older)
        shutil.copytree(folder, kept, symlinks=True, ignore=_LEFT_OUT)
        if cloud:
            cloud.save(kept)
        record = {
            "commit": older.commit(),
            "host": provider.host,
            "batches": [asdict(batch) for batch in provider.batches.batches.values()],
            "contents": older.contents(),
            "steps": [older.follow(*command) for command in packed.following],
        }
    (kept / "record.json").write_text(json.dumps(record, indent=1))
    with tarfile.open(archive, "w:xz", preset=9) as members:
        for path in sorted(kept.iterdir()):
            members.add(path, path.name, filter=_of_nobody)
    return archive


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    for chosen in sys.argv[2:] or HOMES:
        with TemporaryDirectory(prefix="older-home-") as temporary:
            written = pack(chosen, str(Path(sys.argv[1]).absolute()), Path(temporary))
        sys.stdout.write(f"{written.name}: {written.stat().st_size:,} bytes\n")
