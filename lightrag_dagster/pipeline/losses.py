"""Losses: the rows of each source that failed, were skipped or cut, counted without reading a table."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lightrag_dagster.core.text.counted import counted, some_of
from lightrag_dagster.fact_schemas import kind_of, split_pass
from lightrag_dagster.pipeline.absent import removed_sources
from lightrag_dagster.pipeline.inputs import failed_summaries
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.unread import unread_lines
from lightrag_dagster.readers import UNSUPPORTED
from lightrag_dagster.schemas import NO_ROW
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import CurationRecord, Manifest
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import previous_snapshot
from lightrag_dagster.storage.tables.acceptance import AnswerRows
from lightrag_dagster.storage.versions import TableVersion


@dataclass(frozen=True)
class Loss:
    """Rows of one kind that are not in the knowledge base, or not whole.

    `counts` has their number by fate, 0 included, and `total` the number of all rows of the kind. `sources` are those
    that lost some. `query` is SQL that lists the rows.
    """

    of: str
    counts: Mapping[str, int]
    total: int
    sources: tuple[str, ...]
    query: str

    def __str__(self) -> str:
        """Return a line such as `documents: 1 failed, 2 skipped of 35 (incidents)`."""
        counts = ", ".join(f"{rows:,} {what}" for what, rows in self.counts.items() if rows)
        return f"{self.of}: {counts} of {self.total:,} ({some_of(self.sources)})"


def lost_of_source(source: str, tables: Mapping[str, TableVersion]) -> list[Loss]:
    """Return the losses of one source from the current versions of its tables, one a kind of rows."""
    found = []
    if documents := tables.get("raw_documents"):
        fates = ("failed", "stale", "skipped", "empty", "disabled")
        counts = {status: documents.count("status", status) for status in fates}
        counts["read with a note"] = documents.count("error", "processed")
        query = "select source, path, status, error from raw_documents where status = 'empty' or error is not null"
        found.append(_loss(source, "documents", counts, documents.rows, query))
        words = {"lost words": documents.sums.get("lost_words", 0)}
        query = (
            "select source, path, lost_words, file_words, lost_example from raw_documents where lost_words > 0 "
            "order by lost_words desc"
        )
        found.append(_loss(source, "words of files", words, documents.sums.get("file_words", 0), query))
    if extractions := tables.get("extractions"):
        counts = {status: extractions.count("status", status) for status in ("failed", "truncated")}
        counts["without the last round"] = extractions.count("error", "ok")
        query = "select source, chunk_id, status, error from extractions where status <> 'ok' or error is not null"
        found.append(_loss(source, "chunks", counts, extractions.rows, query))
    if parsed := tables.get("parsed"):
        rows = AnswerRows.of(parsed.sums)
        query = "select source, chunk_id, rejected_rows, reason from parsed where rejected_rows > 0"
        found.append(_loss(source, "rows of answers", {"rejected": rows.rejected}, rows.rows, query))
        query = f"select source, chunk_id from parsed where reason = '{NO_ROW}'"
        found.append(_loss(source, "answers", {"without a row": parsed.count("reason", NO_ROW)}, parsed.rows, query))
    for table, version in tables.items():
        found += _lost_of_pass(source, table, version)
    return found


def _lost_of_pass(source: str, table: str, version: TableVersion) -> Iterator[Loss]:
    """Yield the losses that a table of a pass tells; any other table, and `facts`, tell none."""
    kind, name = split_pass(table)
    of, lists = f"of pass {name}", f"select source, chunk_id, {{}} from {{}} where pass = '{name}' and {{}}"
    if kind == "readings":
        counts = {status: version.count("status", status) for status in ("failed", "truncated")}
        yield _loss(source, f"chunks {of}", counts, version.rows, lists.format("status, error", kind, "status <> 'ok'"))
    elif kind == "read_facts":
        facts, rejected, dates = (version.sums.get(what, 0) for what in ("facts", "rejected_rows", "open_dates"))
        query = lists.format("rejected_rows, reason", kind, "rejected_rows > 0")
        yield _loss(source, f"rows of answers {of}", {"rejected": rejected}, facts + rejected, query)
        is_open = "when_words is not null and coalesce(valid_from, valid_to) is null"
        query = lists.format("when_words", "facts", f"({is_open} or 'unread' in (from_precision, to_precision))")
        yield _loss(source, f"dates of facts {of}", {"open": dates}, facts, query)


def added_up(losses: Iterable[Loss]) -> list[Loss]:
    """Return the sums over several sources, one a kind of rows, where some were lost."""
    sums: dict[str, Loss] = {}
    for one in losses:
        before = sums.get(one.of, Loss(one.of, {}, 0, (), one.query))
        counts = {what: before.counts.get(what, 0) + rows for what, rows in one.counts.items()}
        sums[one.of] = Loss(one.of, counts, before.total + one.total, before.sources + one.sources, one.query)
    return [loss for loss in sums.values() if loss.sources]


def source_warning(source: str, tables: Mapping[str, TableVersion], recipes: Recipes) -> str | None:
    """Return a line, with the next step, on an empty source, or one with too few names and facts in its chunks."""
    documents = tables.get("raw_documents")
    if documents and not documents.rows:
        return f"{source} is empty: nothing is listed in it; check its place, include and exclude, or remove it"
    extractions = tables.get("extractions")
    if extractions is None or "entity_mentions" not in tables:
        return None
    asked = extractions.rows - extractions.count("status", "failed")
    by_rules = _by_rules(recipes.of_source(source))
    names = sum(one.rows for table, one in tables.items() if kind_of(table) in ("entity_mentions", "facts"))
    if 3 * names >= 2 * asked:
        return None
    which = f"few names of {source} are" if names else f"no name of {source} is"
    return f"{which} in the graph: {_named(names, asked, by_rules)}; {_NAME_IT[by_rules]}"


def unread_warning(source: str, tables: Mapping[str, TableVersion]) -> str | None:
    """Return a line, with the next step, on a source of whose files most are of no type that is known; else None."""
    documents = tables.get("raw_documents")
    unknown = documents.count("skipped", UNSUPPORTED) if documents else 0
    if documents is None or 2 * unknown <= documents.rows:
        return None
    return (
        f"{unknown:,} of {counted(documents.rows, 'file', 'files')} of {source} are skipped, since their types are not "
        f"known; name these by types, or leave the files out by exclude: settings of named_sources.{source}, as "
        "docs/sources.md says under “Types”"
    )


def snapshot_warnings(recipes: Recipes, manifest: Manifest | None, sources: Collection[str] = ()) -> list[str]:
    """Return the lines of `decision_warnings`, `completeness_warnings` and `unread_lines`; none before a snapshot."""
    if manifest is None:
        return []
    lines = decision_warnings(Home.of(recipes.settings), manifest) + completeness_warnings(recipes, manifest, sources)
    return [*lines, *unread_lines(recipes.settings, manifest.vectors).values()]


def decision_warnings(home: Home, manifest: Manifest) -> list[str]:
    """Return a line for each way in which decisions, or the settings of types, did less to a snapshot than meant.

    Raises:
        StoreError: the snapshot is damaged.
    """
    return list(_of_decisions(Generation(home, manifest.snapshot_id).record().curation))


def completeness_warnings(recipes: Recipes, manifest: Manifest, sources: Collection[str] = ()) -> list[str]:
    """Return a line for each part that a snapshot lacks although nothing was refused; raises StoreError.

    No source among `sources`, which are there now, counts as gone: it may have come back.
    """
    home, rows = Home.of(recipes.settings), manifest.rows
    warnings = failed_summaries(Generation(home, manifest.snapshot_id))
    if rows["chunks"] and not rows["entities"]:
        by_rules = _by_rules(recipes)
        warnings.append(
            f"the graph of {manifest.snapshot_id} is empty: {_named(0, rows['chunks'], by_rules)}. Questions "
            "in the modes local, global and hybrid find nothing; ask in the mode fusion, bm25 or naive, or "
            f"{_NAME_IT[by_rules]}"
        )
    for table, entry in manifest.vectors.tables.items():
        if refused := entry.refused:
            named = ", ".join(f"“{words}”" for words in list(refused.values())[:_NAMED])
            texts = counted(len(refused), "text has", "texts have")
            warnings.append(f"{texts} no vector in {table}, since the embedder refuses them; words find them: {named}")
    left = removed_sources(home, previous_snapshot(home, manifest.snapshot_id), manifest.inputs)
    return warnings + [
        f"{source} is no longer a source: its {counted(count, 'document is', 'documents are')} no longer in the "
        "knowledge base"
        for source, count in left.items()
        if source not in sources
    ]


def _of_decisions(curation: CurationRecord) -> Iterator[str]:
    if names := curation.unmatched:
        named = ", ".join(f"“{name}”" for name in names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
        yield (
            f"{counted(len(names), 'name in decisions is', 'names in decisions are')} in no document, as {named}; "
            "`lightrag-dagster curate check` says which decisions, and the nearest names"
        )
    if curation.idle:
        named = ", ".join(curation.idle[:_NAMED]) + (" and others" if len(curation.idle) > _NAMED else "")
        fit = counted(len(curation.idle), "split or relation in decisions fits", "splits or relations in decisions fit")
        yield f"{fit} nothing in documents, as {named}; `lightrag-dagster curate` shows the decisions"
    if curation.undecided:
        mentions = counted(curation.undecided, "mention fits", "mentions fit")
        yield f"{mentions} several `split` decisions of a name, which stays; make their conditions exclusive"
    if curation.disallowed:
        mentions = counted(curation.disallowed, "mention is", "mentions are")
        yield f"{mentions} `other`, since `merging.types.allowed` lacks their type"


_NAMED = 3
_NAME_IT = {
    True: "extract with a model, or let terms stand in for names (docs/extraction.md)",
    False: 'read what it answered (`lightrag-dagster sql "select responses from extractions limit 3"`) and mend the '
    "prompts, or take another model",
}


def _named(names: int, chunks: int, by_rules: bool) -> str:
    finder = "the offline rules, which know names of people, places and organizations," if by_rules else "the model"
    return f"{finder} found {f'names {names:,} times' if names else 'no name'} in {chunks:,} chunks"


def _by_rules(recipes: Recipes) -> bool:
    settings = recipes.settings
    return settings.extraction.method != "llm" or settings.llm.of("extract").provider == "offline"


def _loss(source: str, of: str, counts: Mapping[str, int], total: int, query: str) -> Loss:
    return Loss(of, counts, total, (source,) if any(counts.values()) else (), query)
