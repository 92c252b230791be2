"""A situation is one moment of a home: what comes later is in the next one."""

import dataclasses
import re
import shutil

import pytest

from lightrag_dagster.errors import BuilderLockedError, DecisionError, SourceError
from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from tests.pipeline.test_ingest import ingest_all
from tests.support import FLOOD, RIVER, build, first_build, published, write_source
from tests.test_floors import product

HERE = {"pipeline.situation": "the situation itself"}
MAY_ASK = {
    "newest_snapshot": HERE
    | {
        "storage.snapshots.snapshots": "publication, which it decides about",
        "cli.run": "says what was built before an error, which a situation may end in too",
    },
    "published_snapshot": HERE
    | {
        "storage.snapshots.snapshots": "its own forms, such as require_published",
        "storage.snapshots.gc": "below the situation",
        "pipeline.gates": "compares a snapshot with it, under the builder's lock",
        "pipeline.scopes": "looks at the snapshot of a scope alone, without its decisions",
        "purge.purge": "looks at the snapshot of the home and of each scope alone, for readers of others",
        "query.home_tables": "looks at snapshots alone",
        "curation.rules.reading": "below the situation",
        "cli.run": "says what stays published after an error, which a situation may end in too",
        "cli.snapshots": "looks at snapshots alone",
        "cli.sql": "looks at tables alone",
    },
    "require_published": {
        "indexes.changes": "below the situation",
        "storage.snapshots.snapshots": "below the situation; refuses another snapshot of a scope",
        "assets.knowledge_base": "what readers open after a publication",
        "pipeline.graph": "returns what it built, under the builder's lock",
        "pipeline.communities": "asks the published snapshot, which no source or setting shapes",
        "pipeline.publish": "checks the published snapshot, which no source or setting shapes",
        "exports.exports": "writes the published snapshot for others",
        "cli.communities": "looks at the published snapshot alone",
        "cli.export": "looks at the published snapshot alone",
        "cli.readings": "drafts from the published snapshot",
        "cli.sql": "looks at tables alone",
    },
    "find_sources": HERE
    | {
        "stages.documents.sources": "below the situation; those of some names",
        "orchestration.runner": "before damage is repaired, when a situation may not be read",
    },
    "Recipes.of": HERE
    | {
        "resources.lightrag": "hands them to the steps of Dagster, each of which makes its situation",
        "orchestration.definitions": "loads definitions, when there need be no home",
        "imports.importing": "makes the first steps of a source that came in, under the builder's lock",
        "evaluation.temporary": "hands them to the steps in a home that nobody else knows",
    },
    "decisions_of": {
        "curation.rules.reading": "below the situation: in_force",
        "imports.table": "reads at the moment at which it takes rows of a table as decisions",
        "curation.desk.taking": "reads at the moment at which it writes",
        "curation.desk.review": "joins pairs after a model was asked, which takes minutes",
        "cli.curate": "looks at decisions alone, also at those that do not hold together",
    },
    "in_force": HERE
    | {
        "curation.desk.taking": "reads what it wrote",
        "assets.curation": "looks at decisions alone",
        "assets.checks": "looks at decisions alone",
        "cli.curate": "looks at decisions alone",
        "cli.review": "tells of the decisions that it took",
    },
}
"""What a situation has read → the modules that read it themselves, and why."""


@pytest.fixture
def notes(settings: Settings) -> Settings:
    """Settings of a published home with one source."""
    write_source(settings, "notes", {"river.md": RIVER})
    first_build(settings)
    return settings


@pytest.mark.long
def test_an_edit_between_two_situations_is_in_the_second_alone(notes: Settings) -> None:
    before = Situation.looking(notes)
    write_source(notes, "notes", {"river.md": f"{RIVER} It rained.", "flood.md": FLOOD})
    write_source(notes, "more", {"flood.md": FLOOD})
    ingest_all(notes, "notes")
    with building(Home.of(notes), 0) as lock:
        after = Situation.building(Recipes.of(notes), lock)

    assert (list(before.sources), list(after.sources)) == (["notes"], ["more", "notes"])
    assert before.accepted["notes"] != after.accepted["notes"]
    assert (next_publication(before), before.newest) == (None, after.newest)
    wanted = next_publication(after)
    assert wanted is not None
    assert wanted.sources == {"notes": after.accepted["notes"].tables}

    build(notes)
    assert after.newest == before.newest != Situation.looking(notes).newest == published(notes)
    assert next_publication(after) == wanted


def test_what_is_read_of_a_home_without_anything(settings: Settings) -> None:
    empty = Situation.looking(settings)
    assert (dict(empty.sources), dict(empty.absent), dict(empty.accepted)) == ({}, {}, {})
    assert (empty.newest, empty.published, empty.unreleased) == (None, None, None)
    assert empty.decided.decisions == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        empty.newest = None  # type: ignore[misc]


def test_an_error_is_one_of_who_asks(notes: Settings) -> None:
    shutil.rmtree(notes.sources)
    unlisted = Situation.looking(notes)
    assert unlisted.published == published(notes)
    for ask in (
        lambda: unlisted.sources,
        lambda: unlisted.absent,
        lambda: unlisted.accepted,
        lambda: pending(unlisted),
    ):
        with pytest.raises(SourceError, match="sources"):
            ask()


def test_decisions_that_cannot_all_hold_are_an_error_of_the_merge_alone(notes: Settings) -> None:
    file = notes.home / "names.yaml"
    file.write_text("- rename: Elbe\n  into: One\n- rename: Elbe\n  into: Two\n", encoding="utf-8")
    found = Situation.looking(notes.changed(curation=file))
    assert list(found.sources) == ["notes"]
    with pytest.raises(DecisionError, match="two names"):
        next_publication(found)


def test_sources_are_chosen_by_name_and_absent_ones_are_told_apart(notes: Settings) -> None:
    write_source(notes, "more", {"flood.md": FLOOD})
    shutil.rmtree(notes.sources / "notes")
    found = Situation.looking(notes)
    assert [one.name for one in found.chosen([])[0]] == ["more"]
    assert found.chosen(["notes"]) == ([], ["notes"])
    assert found.absent["notes"].startswith("source 'notes' is gone, with its 1 document")
    with pytest.raises(SourceError, match="no such source: letters"):
        found.chosen(["letters"])
    shutil.rmtree(notes.sources / "more")
    assert Situation.looking(notes).chosen([]) == ([], []), "the last one is withheld, not a slip of the settings"


def test_a_builder_that_lost_its_lock_reads_nothing(notes: Settings) -> None:
    class Lost:
        def still_held(self) -> bool:
            return False

    with pytest.raises(BuilderLockedError, match="was lost"):
        Situation.building(Recipes.of(notes), Lost())


@pytest.mark.parametrize("name", MAY_ASK)
def test_nobody_else_reads_what_a_situation_has(name: str) -> None:
    call = re.compile(rf"(?<!def )\b{re.escape(name)}\((?!\))")  # a situation's own form of it has no argument
    asking = {module.removeprefix("lightrag_dagster.") for module, text in product().items() if call.search(text)}
    assert sorted(asking) == sorted(MAY_ASK[name].keys())
