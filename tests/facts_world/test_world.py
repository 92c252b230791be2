"""A world with a known truth: what is counted, listed and true on a day, against the tables it was made from."""

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
import yaml

from lightrag_dagster import Keywords, KnowledgeBase
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.facts_world.prose import Claim, Day
from tests.facts_world.reader import Reader
from tests.facts_world.world import SCHEMA, World, make
from tests.loopback import Loopback
from tests.support import build, published, write_source

Key = tuple[Any, ...]
KEY = (
    "subject, relation, coalesce(object, ''), number, unit, value_date,"
    " valid_from, from_precision, valid_to, to_precision"
)


def settings_of(folder: Path, world: World) -> Settings:
    """Write a world as a source, with its schema, and decisions on its aliases."""
    (folder / "readings").mkdir()
    (folder / "readings" / "world.yaml").write_text(SCHEMA)
    merges = [{"merge": [name, *others], "into": name} for name, others in world.aliases.items()]
    (folder / "names.yaml").write_text(yaml.safe_dump(merges))
    settings = load_settings(
        home=folder / "home",
        sources=folder / "sources",
        readings=folder / "readings",
        curation=folder / "names.yaml",
        llm={"provider": "openai", "model": "m", "max_concurrency": 16},
        embedding={"provider": "offline", "dimensions": 64},
        extraction={"gleaning": 0},
        documents={"accept_deletes": True},
        rerank={"provider": "none"},
    )
    write_source(settings, "notes", dict(world.documents))
    return settings


def key_of(claim: Claim) -> Key:
    """Return what tells the fact of a claim from others, as in `merged_facts`."""

    def when(day: Day | None) -> Key:
        return day.stored if day else (None, None)

    is_object = isinstance(claim.end, str)
    is_number = isinstance(claim.end, float | int)
    number = float(claim.end) if isinstance(claim.end, float | int) else None
    unit = "EUR" if is_number and not isinstance(claim.end, bool) else None
    value_date = claim.end if isinstance(claim.end, date) else None
    end = (claim.end if is_object else "", number, unit, value_date)
    return (claim.subject, claim.relation, *end, *when(claim.begins), *when(claim.ends))


class Asked:
    """A published world."""

    def __init__(self, settings: Settings, world: World, reader: Reader) -> None:
        self.settings, self.world, self.reader = settings, world, reader
        self.chunks: list[str] = SourceTables(Home(settings.home)).read("chunks", "notes")["content"].to_pylist()
        self.connection = duckdb.connect(str(Home(settings.home).views), read_only=True)
        self.stated = Counter(
            one.claim for text in self.chunks for one in dict.fromkeys(world.read(text)) if not reader.loses(one)
        )

    def rows(self, query: str) -> list[Key]:
        return self.connection.execute(query).fetchall()

    def keys(self, table: str, more: str = "") -> list[Key]:
        return self.rows(f"SELECT {KEY}{more} FROM {table}")

    def holding(self, day: date) -> set[Key]:
        return {key_of(claim) for claim in self.world.at(day) if self.stated[claim]}


def publish(folder: Path, loopback: Loopback, documents: int, *, lost: float = 0.0, forged: float = 0.0) -> Asked:
    world = make(documents)
    reader = Reader(world, lost, forged)
    loopback.chat = reader.chat
    settings = settings_of(folder, world)
    outcome = build(settings)
    assert (outcome.failed, outcome.rejected) == ({}, {})
    if forged:  # too much, by default: the first reading does not wait for it
        assert [line for line in outcome.states.warnings if "extraction.max_rejected_share allows" in line]
        assert "merged_facts" not in published(settings).rows
        asked = reader.first_readings, reader.passes
        settings = settings.changed(extraction={"max_rejected_share": 1.0})
        assert build(settings).published
        assert (reader.first_readings, reader.passes) == asked
    return Asked(settings, world, reader)


def check(asked: Asked, days: int) -> None:
    """Compare all that can be asked with the truth of the world, as far as it was not lost."""
    world, stated = asked.world, asked.stated
    facts = {row[:-1]: row[-1] for row in asked.keys("merged_facts", ", mention_count")}
    assert facts == {key_of(claim): count for claim, count in stated.items()}
    counts: dict[str, int] = dict(asked.rows("SELECT relation, count(*) FROM merged_facts GROUP BY ALL"))
    assert counts == Counter(claim.relation for claim in stated)
    led = asked.rows(
        "SELECT subject, list_sort(list(DISTINCT object)) FROM merged_facts WHERE relation = 'led_by' GROUP BY ALL"
    )
    assert {name: set(people) for name, people in led} == {
        name: {claim.end for claim in stated if claim.subject == name and claim.relation == "led_by"} for name, _ in led
    }
    chance = Random(7)
    for _ in range(days):
        day = date(1999, 1, 1) + timedelta(days=chance.randrange(365 * 28))
        assert set(asked.keys(f"facts_at(DATE '{day}')")) == asked.holding(day)
    names = {row[-1]: row[:-1] for row in asked.keys("merged_facts", ", fact_id")}
    found = {
        frozenset(names[one] for one in pair) for pair in asked.rows("SELECT fact_id, other_id FROM contradictions")
    }
    truth = {frozenset(map(key_of, pair)) for pair in world.contradictions() if all(stated[one] for one in pair)}
    assert found == truth
    assert truth
    open_dates = sum(count for claim, count in stated.items() if claim.is_relative)
    read = asked.rows("SELECT sum(facts), sum(rejected_rows), sum(open_dates) FROM read_facts")
    assert read == [(sum(stated.values()), asked.reader.rejected(asked.chunks).total(), open_dates)]


@pytest.mark.long
def test_a_small_world_is_told_as_it_is(tmp_path: Path, loopback: Loopback) -> None:
    asked = publish(tmp_path, loopback, 60)
    check(asked, 40)
    compare(asked, lists=6, days=6)
    assert set(asked.world.holds) == set(asked.stated)
    assert asked.reader.passes == len(set(asked.chunks))


@pytest.mark.long
def test_what_is_lost_and_forged_is_counted(tmp_path: Path, loopback: Loopback) -> None:
    asked = publish(tmp_path, loopback, 60, lost=0.2, forged=0.15)
    assert asked.reader.rejected(asked.chunks).total() > 20
    found = {row[:-1]: row[-1] for row in asked.keys("merged_facts", ", mention_count")}
    assert found == {key_of(claim): count for claim, count in asked.stated.items()}
    assert len(asked.stated) < len(asked.world.holds)
    read = asked.rows("SELECT sum(facts), sum(rejected_rows) FROM read_facts")
    assert read == [(asked.stated.total(), asked.reader.rejected(asked.chunks).total())]
    reasons: dict[str, int] = dict(
        asked.rows("SELECT reason, count(*) FROM read_facts WHERE rejected_rows = 1 GROUP BY ALL")
    )
    alone = Counter(
        reason
        for text in asked.chunks
        if (rejected := asked.reader.rejected([text])).total() == 1
        for reason in rejected
    )
    assert reasons == alone


@pytest.mark.long
def test_a_world_of_a_thousand_documents_is_told_as_it_is(tmp_path: Path, loopback: Loopback) -> None:
    asked = publish(tmp_path, loopback, 1000)
    check(asked, 300)
    with_facts, without = compare(asked, lists=60, days=60)
    assert with_facts >= without


def compare(asked: Asked, lists: int, days: int) -> tuple[float, float]:
    """Ask lists and days; return the shares of lists that are whole in the context of `fusion`, with and without facts.

    Lists and numbers of facts, and what held on a day, are always right.
    """
    chance, whole = Random(5), Counter[str]()
    ends = sorted({(one.relation, str(one.end)) for one in asked.stated if one.relation in ("works_for", "based_in")})
    led = sorted({claim.subject for claim in asked.stated if claim.relation == "led_by"})
    with KnowledgeBase.open(settings=asked.settings) as knowledge:
        for relation, name in chance.sample(ends, lists):
            listed = {claim.subject for claim in asked.stated if (claim.relation, claim.end) == (relation, name)}
            found = knowledge.facts(relation=relation, object=name, limit=1000)
            assert {one.subject for one in found} == listed
            assert knowledge.count(relation=relation, object=name).total == len(found)
            context = knowledge.context(f"Who works for {name}, or is based there?", mode="fusion")
            without = "".join(part for part in context.split("\n## ") if not part.startswith("Facts"))
            whole["facts"] += all(one in context for one in listed)
            whole["none"] += all(one in without for one in listed)
        for name in chance.sample(led, days):
            day = date(2001, 1, 1) + timedelta(days=chance.randrange(365 * 24))
            truth = {claim.end for claim in asked.world.at(day) if (claim.subject, claim.relation) == (name, "led_by")}
            retrieved = knowledge.retrieve(
                f"Who leads {name}?", mode="local", keywords=Keywords(low_level=(name,)), as_of=day
            )
            first = [one.object for one in retrieved.facts if (one.subject, one.relation) == (name, "led_by")]
            assert set(first[: len(truth)]) == truth
    return whole["facts"] / lists, whole["none"] / lists
