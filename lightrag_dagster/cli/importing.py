"""`import`: the stores of another system become a source."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import yaml
from rich.console import Console

from lightrag_dagster import imports
from lightrag_dagster.cli.curate import NEXT, signed
from lightrag_dagster.cli.losses import print_warnings
from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.cli.rows import require_new, write_new_csv
from lightrag_dagster.cli.run import print_cost
from lightrag_dagster.cli.terminal import console as terminal
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.pricing import plan_questions
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.files.atomic import disk_errors, write_text
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building

_OUTCOMES = {
    "new": "new",
    "changed": "changed there",
    "unchanged": "unchanged",
    "differ": "left out for a file here of another text, as a person wrote it, which stays",
    "removed here": "removed here, and stay so",
    "empty": "without text, left out",
    "too large": "larger than documents.max_bytes, left out",
    "deleted there": "deleted there, or of another import, which stay until you delete the files here",
    "renamed": "with another path than there, which every system takes",
    "beside": "new beside files of the same path there, of which one may be what it was before; all are kept",
}
_NEXT = NEXT.replace("It takes", "They take")
_TYPES_STAY = "A row with a description leaves the type of a name that documents have; one without sets it."
_READERS = {"lightrag": imports.read_lightrag, "graphrag": imports.read_graphrag}


class ImportOptions(NamedTuple):
    """The options of an import; `overrides` are settings of this command alone, by section."""

    kind: str
    source: str
    names: Path | None
    same_embedder: bool
    dry_run: bool
    as_json: bool
    overrides: Mapping[str, Mapping[str, object]]


def run_import(console: Console, folder: Path, options: ImportOptions) -> None:
    """Import the folder of another system, and print all that came along, all that did not, and the price of the rest.

    Raises:
        SourceError: the folder has nothing to import, or the source cannot be a folder of this name.
        LightRAGError: as `import_base`.
    """
    if options.names:
        require_new(options.names, "perhaps with notes of yours; remove it", SettingsError)
    settings = load_settings(**options.overrides)
    _import(console, settings, _READERS[options.kind](folder, settings.documents.max_bytes), options, {})


def run_import_of_table(console: Console, file: Path, options: ImportOptions) -> None:
    """Take the rows of a table as decisions, import its chunks, and make its facts the rows of a source; print all.

    Raises:
        SettingsError: an option cannot be used; then nothing is taken.
        SourceError: the file cannot be read, or the source cannot be a folder of this name; nor then.
        DecisionError: a row is neither a decision nor a fact, or contradicts others; nor then.
        LightRAGError: as `import_base`.
    """
    if options.names:
        raise SettingsError("in a table no names were edited; leave out --names")
    settings = load_settings(**options.overrides)
    reason = f"import table {file.name} --source {options.source}"
    base, decisions, (lines, stated), over = imports.read_table(file, signed() | {"reason": reason})
    if base:
        imports.require_importable(settings, options.source, same_embedder=options.same_embedder)
    with building(Home.of(settings)) if base and not options.dry_run else nullcontext():
        new = len(imports.new_decisions(settings, decisions))
        facts: dict[str, object] = {"decisions": new, "decisions_before": len(decisions) - new}
        if lines:
            rows = {"text": "{subject}", "facts": stated}
            named = {"uri": str(file.with_name(f"{file.stem}.facts.jsonl")), "rows": rows}
            facts |= {"facts": len(lines), "named_sources": {options.source: named}}
            _write_facts(console, lines, named, options)
        numbers = [] if options.dry_run else imports.take_new(settings, decisions)
        print_warnings(terminal(stderr=True), [f"columns passed over: {', '.join(over)}"] if over else [])
        if not options.as_json and (decisions or not lines):
            taken = "would be taken" if options.dry_run else "taken"
            before = f"; {len(decisions) - new:,} were taken before" if new < len(decisions) else ""
            console.print(f"Decisions {taken}: {new:,}{before}.{f' {_NEXT}' if numbers else ''}")
            if numbers:
                if any(one.decision.action == "add" and one.decision.type for one in decisions):
                    console.print(_TYPES_STAY)
                several = f"{numbers[0]}-{numbers[-1]}` takes them back"
                back = several if len(numbers) > 1 else f"{numbers[0]}` takes it back"
                console.print(f"`lightrag-dagster curate undo {back}.")
        if base:
            _import(console, settings, base, options, facts)
        elif options.as_json:
            print_json({"dry_run": options.dry_run, **facts})


def _write_facts(console: Console, lines: Sequence[str], named: Mapping[str, object], options: ImportOptions) -> None:
    """Write the facts of a table, unless it is a trial, and print the settings that make them a source."""
    file, text = Path(str(named["uri"])), "\n".join([*lines, ""])
    with disk_errors(file):
        is_other = file.exists() and file.read_text(encoding="utf-8", errors="replace") != text
    others = ", in place of those in it" if is_other else ""
    if not options.dry_run:
        write_text(file, text)
    if not options.as_json:
        written = "would be written" if options.dry_run else "written"
        console.print(f"Facts {written} to {file}{others}: {len(lines):,}. These lines of lightrag.yaml read them:\n")
        console.print(yaml.safe_dump({"named_sources": {options.source: named}}, sort_keys=False, allow_unicode=True))


def _import(
    console: Console, settings: Settings, base: imports.StoredBase, options: ImportOptions, said: dict[str, object]
) -> None:
    made = imports.import_base(
        settings, options.source, base, same_embedder=options.same_embedder, dry_run=options.dry_run
    )
    plan_questions(made.plan, settings)
    if options.names and not options.dry_run:
        rows = (("", one.name, "", "", one.where, one.description) for one in base.edited)
        write_new_csv(options.names, ("action", "name", "with", "into", "where", "text"), rows, SettingsError)
    notes = list(dict.fromkeys(base.notes))
    if options.as_json:
        documents, edited = made.documents, [name._asdict() for name in base.edited]
        facts = {"documents": documents.counts, "first_documents": documents.first, "chunks": made.chunks._asdict()}
        facts |= {"vectors": made.vectors, "cost_usd": made.cost_usd or 0.0, "edited": edited, "notes": notes}
        print_json({"source": options.source, "dry_run": options.dry_run, **said, **facts, "plan": made.plan.to_dict()})
        return
    for line in (*_lines(made, base, options), *(f"note: {note}" for note in notes)):
        console.print(line)
    print_cost(console, made.cost_usd or 0)
    nothing = "Nothing was changed. " if options.dry_run else "Nothing was asked. " if made.cost_usd is None else ""
    console.print(f"{nothing}The run that follows:")
    print_plan(console, made.plan)


def _lines(made: imports.Imported, base: imports.StoredBase, options: ImportOptions) -> Iterator[str]:
    """Yield all that came along, and all that did not."""
    documents, chunks, would = made.documents, made.chunks, "would be " if options.dry_run else ""
    for name in filter(documents.counts.get, _OUTCOMES):
        yield f"Documents {_OUTCOMES[name]}: {documents.counts[name]:,}, first {documents.first[name]}"
    left = chunks.chunks - chunks.known - chunks.answered
    stored = counted(chunks.answered, "stored answer", "stored answers")
    yield f"Chunks: {chunks.chunks:,}; {stored} {would}taken, {counted(left, 'is', 'are')} to be asked about."
    if chunks.known:
        yield f"Chunks that had their answers here already: {chunks.known:,}"
    if chunks.unused:
        causes = "as of documents edited, removed or left out, and of chunks cut by other methods, or by hand"
        advice = "if chunking.size, overlap or encoding differ there, set them, and import into a new source"
        yield f"Answers about texts that no chunk has here, not taken: {chunks.unused:,}, {causes}; {advice}"
    offered = options.kind == "lightrag" and not options.same_embedder
    how = "; --same-embedder takes them, if embedding.model is the one that made them" if offered else ""
    yield f"Vectors of chunks: {made.vectors:,} {would}taken{how}."
    if base.edited:
        wheres = [one.where for one in base.edited]
        lists = "would list" if would and options.names else "lists"
        yield (
            f"Names that were edited or merged there: {wheres.count('graph'):,} in its graph alone, "
            f"{wheres.count('answers'):,} in the answers alone, {wheres.count('description'):,} with another "
            f"description; these edits do not come along, {options.names or '--names FILE'} {lists} them for `curate`."
        )
