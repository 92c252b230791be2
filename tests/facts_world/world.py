"""The world: tables of people, companies, products and places, and the documents that tell of them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import combinations, pairwise, product
from random import Random
from typing import get_args

from tests.facts_world.prose import Claim, Language, Precision, Sentence, first_day, last_day, say

FIRST = (
    "Ada", "Bea", "Cid", "Dag", "Eva", "Finn", "Gus", "Hedda", "Ines", "Jon", "Kaja", "Lars", "Mina", "Nils", "Odd",
    "Pia", "Quinn", "Rolf", "Siri", "Tor", "Ulla", "Vera", "Wim", "Yngve", "Zoe",
)  # fmt: skip
LAST = (
    "Aasen", "Berg", "Carlsen", "Dahl", "Eide", "Falk", "Gran", "Holm", "Iversen", "Juhl", "Krog", "Lund", "Moe",
    "Nygard", "Olsen", "Pettersen", "Ruud", "Solberg", "Thorsen", "Ulvik", "Vik", "Wold",
)  # fmt: skip
STEMS = (
    "Alder", "Birch", "Cedar", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Indigo", "Juniper", "Kestrel", "Lumen",
    "Meridian", "Nordic", "Onyx",
)  # fmt: skip
KINDS = (
    "Robotics", "Shipping", "Optics", "Foods", "Energy", "Textiles", "Instruments", "Software", "Paper", "Steel",
)  # fmt: skip
PLACES = [
    "Bergen", "Bonn", "Cologne", "Dijon", "Ghent", "Graz", "Leeds", "Lille", "Lyon", "Metz", "Odense", "Ravenna",
    "Tampere", "Turku", "Utrecht", "Vigo",
]  # fmt: skip
FILLER = (
    "The annual meeting took place without incident.",
    "Die Kantine wurde im Sommer neu gestrichen.",
    "Le rapport compte une centaine de pages.",
    "A committee will look into the matter.",
)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
LANGUAGES: tuple[Language, ...] = get_args(Language)
Days = tuple[date | None, date | None]

SCHEMA = """\
types: [person, company, product, place]
relations:
  led_by: {from: company, to: person, dated: yes, single: yes}
  works_for: {from: person, to: company, dated: yes}
  based_in: {from: company, to: place, dated: yes, single: yes}
  price: {from: product, value: number, unit: EUR, dated: yes, single: yes}
  founded: {from: company, value: date, single: yes}
  listed: {from: company, value: yes/no, single: yes}
"""


@dataclass
class World:
    """Documents by name, the claims in them, and the days on which each of these holds, known as they were made."""

    documents: dict[str, str] = field(default_factory=dict)
    sentences: dict[str, Sentence] = field(default_factory=dict)
    holds: dict[Claim, Days | None] = field(default_factory=dict)
    aliases: dict[str, list[str]] = field(default_factory=dict)

    def at(self, day: date) -> set[Claim]:
        """Return the claims that hold on a day."""
        return {
            claim
            for claim, days in self.holds.items()
            if days and (days[0] is None or days[0] <= day) and (days[1] is None or day <= days[1])
        }

    def contradictions(self) -> set[frozenset[Claim]]:
        """Return the pairs of claims that differ and hold on one day."""
        grouped = defaultdict(list)
        for claim, days in self.holds.items():
            if claim.is_single and days:
                grouped[claim.subject, claim.relation].append((claim, days[0] or date.min, days[1] or date.max))
        return {
            frozenset((one, other))
            for claims in grouped.values()
            for (one, a, b), (other, c, d) in combinations(claims, 2)
            if one.end != other.end and a <= d and c <= b
        }

    def stated(self, chunks: list[str]) -> Counter[Claim]:
        """Count the sentences about each claim in the texts of chunks."""
        return Counter(one.claim for text in chunks for one in {*self.read(text)})

    def read(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences in a text, a line each."""
        yield from (self.sentences[line] for line in text.splitlines() if line in self.sentences)


def make(documents: int, seed: int = 1) -> World:
    """Make a world of so many documents."""
    chance, world = Random(seed), World()
    people = chance.sample([f"{a} {b}" for a, b in product(FIRST, LAST)], min(550, documents // 2 + 8))
    companies = chance.sample([f"{a} {b}" for a, b in product(STEMS, KINDS)], min(150, documents // 7 + 4))
    products = [
        f"{name.split()[0]} {number}" for number, name in enumerate(companies[: documents // 10 + 2], start=100)
    ]
    for name in chance.sample(people, len(people) // 4):
        world.aliases[name] = [f"Dr {name}"]
    for name in chance.sample(companies, len(companies) // 4):
        world.aliases[name] = [f"{name} GmbH"]
    for company in companies:
        _chain(world, chance, company, "led_by", people)
        _chain(world, chance, company, "based_in", PLACES)
        founded = date(chance.randint(1900, 1999), chance.randint(1, 12), chance.randint(1, 28))
        world.holds[Claim(company, "founded", founded)] = (None, None)
        world.holds[Claim(company, "listed", chance.random() < 0.5)] = (None, None)
    for name in products:
        _chain(world, chance, name, "price", [round(chance.uniform(1, 9000), chance.choice((0, 2))) for _ in range(20)])
    for person in people:
        for company in chance.sample(companies, chance.choice((0, 1, 1, 2))):
            _work(world, chance, person, company)
    _write(world, chance, documents)
    return world


def _chain(world: World, chance: Random, subject: str, relation: str, ends: Sequence[str | float]) -> None:
    """Have one after the other, some with an end of their own, and at times a claim that contradicts."""
    years = sorted(chance.sample(range(2000, 2025), chance.choice((1, 2, 3, 4))))
    others = iter(chance.sample(ends, 2 * len(years) + 1))
    starts = [first_day(year, chance.choice(PRECISIONS), chance) for year in years]
    for start, following in pairwise([*starts, None]):
        assert start
        stays = following is None or following.on.year > start.on.year + 2
        has_end = stays and chance.random() < 0.3
        ends_on = last_day(start.on.year + 1, chance.choice(PRECISIONS), chance) if has_end else None
        last = following and following.on - timedelta(days=1)
        world.holds[Claim(subject, relation, next(others), start, ends_on)] = (
            start.on,
            ends_on.on if ends_on else last,
        )
        if chance.random() < 0.12:
            world.holds[Claim(subject, relation, next(others), start)] = (start.on, last)
    if chance.random() < 0.15:  # a time of its own, in which another is named
        world.holds[Claim(subject, relation, next(others), is_relative=True)] = None
    elif chance.random() < 0.15:
        world.holds[Claim(subject, relation, next(others))] = None  # counts only where nothing is dated


def _work(world: World, chance: Random, person: str, company: str) -> None:
    year, kind = chance.randint(2000, 2023), chance.random()
    begins = first_day(year, chance.choice(PRECISIONS), chance)
    ends = last_day(year + 1, chance.choice(PRECISIONS), chance)
    if kind < 0.4:
        world.holds[Claim(person, "works_for", company, begins)] = (begins.on, None)
    elif kind < 0.6:
        world.holds[Claim(person, "works_for", company, begins, ends)] = (begins.on, ends.on)
    elif kind < 0.7:
        world.holds[Claim(person, "works_for", company, None, ends)] = (None, ends.on)
    else:
        world.holds[Claim(person, "works_for", company, is_relative=kind < 0.85)] = (None, None)


def _write(world: World, chance: Random, documents: int) -> None:
    """Put every claim into some documents, in some languages, under some name; every twentieth document is long."""
    texts: list[list[str]] = [[] for _ in range(documents)]

    def called(name: str) -> str:
        return chance.choice([name, name, name, *world.aliases.get(name, [])])

    for claim in world.holds:
        for at in chance.sample(range(documents), chance.choice((1, 1, 1, 2, 3))):
            sentence = say(claim, chance.choice(LANGUAGES), called, chance)
            world.sentences.setdefault(sentence.text, sentence)
            texts[at - at % 20 if chance.random() < 0.3 else at].append(sentence.text)
    for at, lines in enumerate(texts):
        lines += chance.sample(FILLER, 2)
        chance.shuffle(lines)
        world.documents[f"{at % 7}/{at:04}.txt"] = f"Note {at}\n\n" + "\n".join(dict.fromkeys(lines)) + "\n"
