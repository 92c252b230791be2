"""`import`: what another system has stored, as a source."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.imports import Imported, StoredBase, import_base, read_lightrag
from lightrag_dagster.plan.overlay import as_todays
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.files.atomic import disk_errors

_OUTCOMES = {
    "new": "new",
    "changed": "changed there",
    "unchanged": "unchanged",
    "differ": "differ from files that were changed here, which stay",
    "removed here": "removed here, and stay so",
    "empty": "without text, left out",
    "too large": "larger than documents.max_bytes, left out",
}
_TOLD = ("differ", "too large")


@dataclass(frozen=True)
class Wanted:
    """The options of an import."""

    source: str
    names: Path | None
    same_embedder: bool
    dry_run: bool
    as_json: bool


def run_import(console: Console, folder: Path, wanted: Wanted) -> None:
    """Import LightRAG's working directory, and print what came along, what did not, and the price of what remains.

    Raises:
        SourceError: the folder has nothing to import, or the source cannot be a folder of this name.
        LightRAGError: as `import_base`.
    """
    settings = load_settings()
    base = read_lightrag(folder, settings.documents.max_bytes)
    options = {"same_embedder": wanted.same_embedder, "dry_run": wanted.dry_run}
    if wanted.dry_run:
        with as_todays(settings) as (todays, _):
            made = import_base(todays, wanted.source, base, **options)
    else:
        made = import_base(settings, wanted.source, base, **options)
    if wanted.names:
        _write_names(wanted.names, base)
    if wanted.as_json:
        print_json(_facts(made, base, wanted))
        return
    for line in _lines(settings, made, base, wanted):
        console.print(line)
    print_plan(console, made.plan)


def _facts(made: Imported, base: StoredBase, wanted: Wanted) -> dict[str, object]:
    return {
        "source": wanted.source,
        "dry_run": wanted.dry_run,
        "documents": dict(made.documents.counts),
        "first_documents": made.documents.first,
        "chunks": made.chunks._asdict(),
        "vectors": made.vectors,
        "vectors_made_again": base.made_again,
        "edited": [name._asdict() for name in base.edited],
        "notes": base.notes,
        "plan": made.plan.to_dict(),
    }


def _lines(settings: Settings, made: Imported, base: StoredBase, wanted: Wanted) -> Iterator[str]:
    """Yield what came along, and what did not."""
    counts, chunks = made.documents.counts, made.chunks
    would = "would be " if wanted.dry_run else ""
    found = ", ".join(f"{counts[name]:,} {what}" for name, what in _OUTCOMES.items() if counts[name])
    yield f"Documents in {settings.sources / wanted.source}: {found or 'none'}."
    for name in _TOLD:
        if paths := made.documents.first.get(name):
            yield f"{_OUTCOMES[name][0].upper()}{_OUTCOMES[name][1:]}: first {', '.join(paths)}"
    left = chunks.chunks - chunks.known - chunks.answered
    yield f"Chunks: {chunks.chunks:,}; answers of LightRAG {would}taken for {chunks.answered:,}, {left:,} have none."
    if chunks.known:
        yield f"{chunks.known:,} chunks have their answers here already."
    if chunks.unused:
        yield f"Answers about texts that are cut differently here: {chunks.unused:,}; they are not taken."
    why = "" if made.vectors else "; --same-embedder takes them, if the configured embedder is the one that made them"
    yield f"Vectors of chunks: {made.vectors:,} {would}taken{'' if wanted.same_embedder else why}."
    if base.made_again is not None and chunks.answered:
        yield f"Vectors of {base.made_again:,} names and relations are made again by the run."
    if base.edited:
        yield _edited(base, wanted)
    for note in base.notes:
        yield f"note: {note}"
    if wanted.dry_run:
        yield "Nothing was changed. The next run after this import:"
    else:
        yield "Nothing was asked. The next run:"


def _edited(base: StoredBase, wanted: Wanted) -> str:
    """Return a line about names that people edited in the other system."""
    words = {"graph": "in its graph alone", "answers": "in the answers alone", "description": "described otherwise"}
    numbers = [(sum(one.where == where for one in base.edited), what) for where, what in words.items()]
    said = ", ".join(f"{number:,} {what}" for number, what in numbers if number)
    listed = f"they are in {wanted.names}" if wanted.names else "--names FILE lists them"
    return f"Names that were edited or merged there did not come along: {said}; {listed}, to be decided by `curate`."


def _write_names(file: Path, base: StoredBase) -> None:
    """Write the names that were edited there as CSV; raises StoreError."""
    with disk_errors(file), file.open("w", encoding="utf-8", newline="") as lines:
        rows = csv.writer(lines)
        rows.writerow(("name", "where", "description"))
        rows.writerows(base.edited)
