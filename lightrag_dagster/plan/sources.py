"""The work of a run on one source: it is read and cut on the overlay, and the questions about it are counted."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.fact_schemas import split_pass
from lightrag_dagster.models.stored_answers import StoredAnswers
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import EXTRACTION, Reading, extract_source, readings_of
from lightrag_dagster.pipeline.facts import parse_pass
from lightrag_dagster.pipeline.listings import watermark_of
from lightrag_dagster.pipeline.losses import unread_warning
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.outdated import outdated_rows
from lightrag_dagster.pipeline.pending import why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.plan.estimates import NOTHING, Estimate
from lightrag_dagster.plan.sample import SAMPLE, SampledDocuments, in_all, sampled
from lightrag_dagster.plan.to_ask import ToAsk, first_questions
from lightrag_dagster.plan.unanswered import Unanswered
from lightrag_dagster.stages.documents.connectors.origin import Incremental
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion


@dataclass(frozen=True)
class DocumentChanges:
    """Differences of a source's documents from those that were ingested last, by their texts."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass(kw_only=True)
class PassPlan:
    """The work of a run on the chunks of one source in one pass; see `SourcePlan`."""

    chunks_new: int = 0
    chunks_stored: int = 0
    chunks_failed: int = 0
    question_tokens: int = 0
    outdated: int = 0


@dataclass
class SourcePlan(PassPlan):
    """The work of a run on one source.

    `question_tokens` are of the first questions about new chunks. After a look at a random sample of `looked_at`
    documents, the numbers are about right. `watermark` is the column from whose highest value on rows are read.
    `outdated` counts the rows of other recipes, which a run keeps. `problem` says why the source would fail, `warning`
    why most of its files are not read. `passes` have the same numbers of each pass.
    """

    source: str
    documents: DocumentChanges = field(default_factory=DocumentChanges)
    looked_at: int | None = None
    watermark: str | None = None
    problem: str | None = None
    warning: str | None = None
    passes: dict[str, PassPlan] = field(default_factory=dict)


class Asked(NamedTuple):
    """First questions about chunks without a stored answer, questions about images, and the tokens of both."""

    first: Estimate = NOTHING
    first_tokens: Estimate = NOTHING
    described: Estimate = NOTHING
    described_tokens: Estimate = NOTHING

    @classmethod
    def total(cls, several: "Iterable[Asked]") -> "Asked":
        """Return the sum; the ends of the ranges are added up."""
        return cls(*map(Estimate.total, zip(cls(), *several, strict=True)))


class Planning(NamedTuple):
    """The overlay in which sources are planned, the answers there, and whether to backfill.

    `later` are questions about chunks without an answer, by table, and `images` those about images; `planned` has the
    keys of first questions about chunks, `of_passes` what each pass asks of all sources so far.
    """

    trial: Recipes
    extracting: Callable[[Unanswered], StoredAnswers]
    later: Mapping[str, Unanswered]
    describing: StoredAnswers
    images: Unanswered
    planned: set[str]
    of_passes: dict[str, Asked]
    backfill: bool


def plan_source(source: Source, planning: Planning) -> tuple[SourcePlan, Asked]:
    """Ingest a source of the overlay, up to the first question without an answer; what has all answers is accepted.

    Raises:
        StoreError: the home is damaged.
    """
    plan, asked = SourcePlan(source.name), Asked()
    tables = SourceTables(Home.of(planning.trial.settings), candidate=planning.backfill)
    try:
        known = tables.current("raw_documents", source.name)
        plan.documents = DocumentChanges(unchanged=known.rows if known else 0)
        plan.watermark = watermark_of(source)
        if why := why_ingest(source, tables, planning.trial):
            asked = _ingest(source, tables, planning, plan, why.partition(",")[0])
        recipes = planning.trial.of_source(source.name)
        current = tables.current_versions(source.name, recipes.pass_names(source.name))
        for reading in readings_of(recipes, source.name) if not why else ():
            if answered := current.get(reading.table):
                failed = answered.count("status", "failed")
                of = _plan_of(plan, reading.table)
                of.chunks_failed, of.chunks_stored = failed, answered.rows - failed
        plan.warning = unread_warning(source.name, current)
        for table, rows in outdated_rows(current, recipes).items() if not planning.backfill else ():
            _plan_of(plan, table).outdated += rows
    except (SettingsError, SourceError) as error:
        plan.problem = str(error)
    return plan, asked


def _ingest(source: Source, tables: SourceTables, planning: Planning, plan: SourcePlan, outdated: str) -> Asked:
    """Make the tables of a source from the `outdated` one on, fill in its plan, and return its questions."""
    recipes = planning.trial.of_source(source.name)
    model = planning.extracting(planning.later[EXTRACTION.table])
    known, sample = tables.current("raw_documents", source.name), None
    shown = len(planning.images.first)
    for most in (SAMPLE, sys.maxsize):
        if outdated == "raw_documents":
            plan.documents, sample = _read(source, tables, known, planning, most)
        if outdated in ("raw_documents", "chunks"):
            chunk_source(source.name, tables, recipes)
        found = first_questions(source.name, tables, recipes, model, planning.planned)
        if not sample or found.left:
            break  # else only all documents can show that nothing is left to pay
    if not found.left:
        extract_source(source.name, tables, recipes, model.open)
        parse_and_accept(source.name, tables, recipes)
    plan.looked_at = len(sample.paths) if sample else None
    new, tokens = _fill_in_asked(plan, EXTRACTION, found, sample)
    for one in recipes.passes_to_read(source.name):
        model = planning.extracting(planning.later[Reading(one).table])
        read = first_questions(source.name, tables, recipes, model, planning.planned, Reading(one))
        if not read.left:
            extract_source(source.name, tables, recipes, model.open, Reading(one))
            parse_pass(source.name, tables, recipes, one)
        more = Asked(*_fill_in_asked(plan, Reading(one), read, sample))
        planning.of_passes[one.name] = Asked.total((planning.of_passes.get(one.name, Asked()), more))
    pictures = [*planning.images.first.values()][shown:]
    factor = sample.factor if sample else 1
    described, described_tokens = (Estimate.exactly(factor * one) for one in (len(pictures), sum(pictures)))
    return Asked(new, tokens, described, described_tokens)


def _plan_of(plan: SourcePlan, table: str) -> PassPlan:
    """Return the part of a source's plan that has the numbers of a table, which is that of a pass or of all."""
    _, name = split_pass(table)
    return plan.passes.setdefault(name, PassPlan()) if name else plan


def _fill_in_asked(
    plan: SourcePlan, reading: Reading, found: ToAsk, sample: SampledDocuments | None
) -> tuple[Estimate, Estimate]:
    """Note the chunks that are to be asked about; return the questions and their tokens."""
    new, tokens, free = (in_all(one, sample) for one in (found.new, found.tokens, found.free))
    kept = found.chunks - found.failed - found.new.total() - found.free.total()
    of = _plan_of(plan, reading.table)
    of.chunks_new, of.question_tokens = round(new.expected), round(tokens.expected)
    of.chunks_failed, of.chunks_stored = found.failed, kept + round(free.expected)
    return new, tokens


def _read(
    source: Source, tables: SourceTables, known: TableVersion | None, planning: Planning, most: int
) -> tuple[DocumentChanges, SampledDocuments | None]:
    """Read a source, or at most a number of its changed documents; return the changes, and the sample if it is one."""
    recipes, into = planning.trial, _read_into(source, tables, known, planning.trial)
    part, sample = sampled(source, into, recipes, most)
    before = _documents(tables, known) if known else None
    changes = compare(before, _documents(tables, read_source(part, into, recipes, planning.describing.open).version))
    if sample:
        more = round(changes.changed * (sample.factor - 1))
        changes = replace(changes, changed=changes.changed + more, unchanged=changes.unchanged - more)
    return changes, sample


def _read_into(source: Source, tables: SourceTables, known: TableVersion | None, recipes: Recipes) -> SourceTables:
    """Return the tables to read a source into: for a backfill, the accepted ones where these tell what is unchanged.

    A backfill itself reads all files, so that one is found that changed and kept its size and time; a plan reads all
    only to describe images again.
    """
    described = recipes.row_recipe("raw_documents")
    reads_all = isinstance(source.origin, Incremental) or (known and described and known.outdated(described))
    return tables if reads_all or tables.has_candidate(source.name) else SourceTables(tables.home)


def _documents(tables: SourceTables, version: TableVersion) -> pa.Table:
    """Return path and text of each document, the text as a hash."""
    return tables.read(version.table, version.source, version.version, ["path", "content_hash"])


def compare(previous: pa.Table | None, current: pa.Table) -> DocumentChanges:
    """Compare two versions of RAW_DOCUMENTS by path and content."""
    columns = ["path", "content_hash"]
    before = (previous if previous is not None else current.slice(0, 0)).select(columns)
    after = current.select(columns).rename_columns(["path", "now"])
    both = before.join(after, "path", join_type="full outer")
    return DocumentChanges(
        added=both["content_hash"].null_count,
        changed=pc.sum(pc.not_equal(both["content_hash"], both["now"])).as_py() or 0,
        removed=both["now"].null_count,
        unchanged=pc.sum(pc.equal(both["content_hash"], both["now"])).as_py() or 0,
    )
