"""States of passes: what is to be said of those of a source."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow.compute as pc

from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.fact_schemas import of_pass
from lightrag_dagster.pipeline.again import failed_for_now
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings.unknown import nearest
from lightrag_dagster.storage.tables.acceptance import Bounds, judge_pass
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import Accepted


class PassStates(NamedTuple):
    """Lines about the passes of a source: those that may not be merged, those to be read or cut; and if any may be.

    `transient` is set if chunks of one failed that may succeed now.
    """

    rejected: Sequence[str] = ()
    others: Sequence[str] = ()
    accept: bool = False
    transient: bool = False


def pass_states(tables: SourceTables, source: str, situation: Situation) -> PassStates:
    """Return what is to be said of the passes of a source."""
    recipes, record = situation.recipes, situation.accepted.get(source)
    rejected, others, accept, transient = misnamed_passes(situation, source), [], False, False
    to_read = {one.name for one in recipes.passes_to_read(source)}
    for name in recipes.pass_names(source):
        judged = judge_pass(tables, source, name, Bounds.of(recipes.settings))
        before = (record and record.passes) or {}
        accept |= judged.accepted and before.get(name) != judged.tables
        if judged.whole and judged.reason:
            kept = f"; {_kept(tables, source, name, record)}" if record and name in before else ""
            rejected.append(f"{judged.reason}{kept}")
        elif not judged.accepted and name in to_read:
            others.append(f"pass {name} has not read {source} yet; the next run does")
        readings = tables.current(of_pass("readings", name), source)
        transient |= readings is not None and failed_for_now(readings) > 0
        if readings and (cut := readings.count("status", "truncated")):
            others.append(f"pass {name}: the answers about {counted(cut, 'chunk', 'chunks')} of {source} were cut off")
    return PassStates(rejected, others, accept, transient)


def misnamed_passes(situation: Situation, source: str) -> list[str]:
    """Return a line for each pass that does not read a source, and whose facts of it stay."""
    kept = situation.pass_names(source)[len(situation.recipes.pass_names(source)) :]
    tables, record = SourceTables(situation.home), situation.accepted.get(source)
    told = {name: _kept(tables, source, name, record) for name in kept if record and name in situation.misnaming}
    return [f"{_names_no_source(situation, name)}; of {source}, {stays}" for name, stays in told.items()]


def _kept(tables: SourceTables, source: str, name: str, record: Accepted) -> str:
    """Say what stays of the accepted facts of a pass: those of chunks that are still there."""
    facts = tables.read(of_pass("facts", name), source, record.passes[name]["facts"], ["chunk_id"])["chunk_id"]
    chunks = tables.read("chunks", source, record.tables["chunks"], ["chunk_id"])["chunk_id"]
    gone = pc.sum(pc.invert(pc.is_in(facts, value_set=chunks))).as_py()
    without = f", without {counted(gone, 'fact', 'facts')} of chunks that were edited or removed" if gone else ""
    return f"its last accepted facts stay{without}"


def pass_warnings(situation: Situation) -> Iterator[str]:
    """Yield a line for passes that read nothing: without a model, or of sources that are not there."""
    recipes = situation.recipes
    if recipes.passes and recipes.settings.llm.of("extract").provider == "offline":
        yield f"pass {', '.join(recipes.passes)} reads nothing: `llm.provider` is offline, and a pass needs a model"
    yield from (_names_no_source(situation, name) for name in situation.misnaming)


def _names_no_source(situation: Situation, name: str) -> str:
    """Say which sources of a pass are not there, and which one the first may be."""
    return names_no_source(f"pass {name}", situation.misnaming[name], situation)


def names_no_source(what: str, gone: Sequence[str], situation: Situation) -> str:
    """Say that a pass or a scope names sources that are not there, and which one the first may be."""
    near = nearest(gone[0], situation.sources)
    meant = f" (did you mean {near}?)" if near else ""
    return f"{what} names {', '.join(gone)} in `sources`, and there is no such source{meant}"
