"""Distinct made-up passages, as many as a scaling benchmark wants.

    python -m benchmarks.passages /tmp/corpus --count 10000 --sources 2

Each passage is about 100 tokens of full sentences on a topic of its own, and names about ten people, places,
organisations and works. About five of them are new, so the graph grows with the corpus; the others come back from
earlier passages with a frequency that falls as one over their rank (Zipf's law, with Mandelbrot's shift), so it has
hubs like a real one. A longer corpus with the same seed begins with the shorter one, so growth can be measured too.
"""

import argparse
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Literal, TypeVar

Kind = Literal["person", "place", "organisation", "work"]
Item = TypeVar("Item")

KINDS: tuple[Kind, ...] = ("person", "place", "organisation", "work")
SENTENCES = 4  # after the opening
NEW_SHARE = 0.46  # of the names after the topic, which is always new; makes about five new names a passage
RANK_SHIFT = 10  # without it the first name of each kind would be in every third passage
FILES_PER_FOLDER = 1000

ONSETS = ["b", "br", "c", "d", "dr", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w"]
VOWELS = ["a", "e", "i", "o", "u"]
CODAS = ["l", "ld", "m", "n", "nd", "r", "rn", "s", "t", "th", "v", "x"]
PLACE_ENDINGS = ["bridge", "dale", "ford", "gate", "ham", "hollow", "mere", "mouth", "ness", "stead", "wick", "worth"]
ORGANISATION_ENDINGS = [
    "Archive",
    "Brotherhood",
    "College",
    "Council",
    "Foundry",
    "Guild",
    "Institute",
    "Observatory",
    "Press",
    "Society",
]
WORK_BEGINNINGS = ["Atlas", "Ballad", "Book", "Chronicle", "Garden", "Letters", "Map", "Songs"]

WORDS = {
    "role": [
        "bellmaker",
        "botanist",
        "cartographer",
        "glassmaker",
        "millwright",
        "painter",
        "printer",
        "stargazer",
        "surveyor",
        "weaver",
    ],
    "goods": [
        "barley",
        "blue glass",
        "copper wire",
        "dried fish",
        "lamp oil",
        "linen",
        "paper",
        "salt",
        "slate",
        "wool",
    ],
    "deed": [
        "burned down",
        "changed hands",
        "closed for a winter",
        "doubled in size",
        "ran out of money",
        "was rebuilt",
    ],
    "season": ["spring", "summer", "autumn", "winter"],
    "subject": ["bridges", "comets", "eels", "fever", "hymns", "lighthouses", "mosses", "old maps", "tides", "tolls"],
    "view": ["a masterpiece", "a mistake", "far too long", "quite harmless", "the work of a rival", "worth copying"],
}

OPENINGS: dict[Kind, tuple[str, ...]] = {
    "person": (
        "{topic} was a {role} from {place} who worked for the {organisation} for {number} years.",
        "{topic}, a {role}, came to {place} in {year} at the invitation of {person}.",
        "In {year} the {organisation} in {place} gave its first medal to the {role} {topic}.",
        "Few people in {place} remember {topic}, the {role} who once taught {person}.",
    ),
    "place": (
        "{topic} is a market town {number} miles north of {place}, known for its {goods}.",
        "{topic} was founded in {year} by {person}, a {role} who had left {place}.",
        "The {organisation} has owned most of {topic} since {year}, when {person} sold the harbour.",
        "Travellers from {place} reach {topic} in {number} hours, and most of them come for the {goods}.",
    ),
    "organisation": (
        "The {topic} was founded in {place} in {year} to study {subject}.",
        "{person}, a {role}, led the {topic} in {place} until {year}.",
        "The {topic} has {number} members and meets in {place} every {season}.",
        "When the {organisation} gave up the study of {subject} in {year}, the {topic} in {place} took it over.",
    ),
    "work": (
        '"{topic}" is a book about {subject} that {person} wrote in {place} in {year}.',
        'The only copy of "{topic}" was kept in {place} until {person} lent it to the {organisation}.',
        '{person}, a {role}, spent {number} years on "{topic}", which describes the {subject} of {place}.',
        'The {organisation} printed "{topic}" by {person} in {year}.',
    ),
}
FOLLOWING = (
    "In {year} {person} moved to {place} and opened a school for young people who cared about {subject}.",
    "The {organisation} paid for the journey with {number} barrels of {goods}.",
    'A letter from {person} calls it {view}, while "{work}" does not mention it at all.',
    "The road to {place} was built by {person} in the {season} of {year}.",
    "Two years later the {organisation} sent {number} boxes of {goods} to {place}.",
    'Much of this is told in "{work}", which {person} thought was {view}.',
    "It never became rich, although {place} bought its {goods} every {season}.",
    "{person} and the {organisation} argued about {subject} for {number} years.",
    "After the great storm of {year} the town hall of {place} {deed}.",
    "The {organisation} in {place} {deed} in {year}, and nobody was surprised.",
    "Every {season} a {role} from {place} comes to count the {goods} and to ask about {subject}.",
    "A portrait of {person} hangs in {place}, next to a glass case with {goods}.",
    "According to {person}, the lectures of the {organisation} on {subject} were {view}.",
    'The last chapter of "{work}" explains how {place} lost its trade in {goods}.',
    "There was a lawsuit over {goods} in {year}, which {person} won against the {organisation}.",
    "Visitors from {place} still bring {goods}, as {person} asked them to do in {year}.",
)


def generate(count: int, seed: int) -> Iterator[str]:
    """Yield `count` passages, all different, the same ones for the same seed on every machine."""
    return itertools.islice(_passages(seed), count)


def write_sources(folder: Path, count: int, seed: int, sources: int = 1) -> None:
    """Write passages as `folder/passages-1/0000/passage-0000000.txt` and so on, in equal runs over `sources` folders.

    Raises:
        FileExistsError: a source folder is there already; files of another corpus might be left in it.
    """
    for source in range(sources):
        (folder / f"passages-{source + 1}").mkdir(parents=True)
    for number, passage in enumerate(generate(count, seed)):
        source = number * sources // count
        file = folder / f"passages-{source + 1}/{number // FILES_PER_FOLDER:04d}/passage-{number:07d}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(passage + "\n", encoding="utf-8")


def _passages(seed: int) -> Iterator[str]:
    names = _Names(random.Random(seed))
    while True:
        # The topic is a name that no earlier passage holds: hence no two passages are equal.
        kind = names.pick(KINDS)
        topic = names.new(kind)
        templates = [names.pick(OPENINGS[kind]), *names.sample(FOLLOWING, SENTENCES)]
        yield " ".join(_fill(template, topic, names) for template in templates)


def _fill(template: str, topic: str, names: "_Names") -> str:
    parts = []
    for text, field, _, _ in Formatter().parse(template):
        parts.append(text)
        if field == "topic":
            parts.append(topic)
        elif field == "year":
            parts.append(str(names.number(1600, 1990)))
        elif field == "number":
            parts.append(str(names.number(3, 60)))
        elif field in WORDS:
            parts.append(names.pick(WORDS[field]))
        elif field is not None:
            parts.append(names.any(next(kind for kind in KINDS if kind == field)))
    return "".join(parts)


class _Names:
    """The names so far, and every random choice. Only `random()` is used: its values never change between Pythons."""

    def __init__(self, generator: random.Random) -> None:
        self._random = generator.random
        self._by_kind: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
        self._used: set[str] = set()

    def number(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low))

    def pick(self, items: tuple[Item, ...] | list[Item]) -> Item:
        return items[self.number(0, len(items))]

    def sample(self, items: tuple[Item, ...], count: int) -> list[Item]:
        left = list(items)
        return [left.pop(self.number(0, len(left))) for _ in range(count)]

    def any(self, kind: Kind) -> str:
        """Return a new name, or an earlier one of the kind: the r-th with a probability of about 1 / (r + shift)."""
        names = self._by_kind[kind]
        if not names or self._random() < NEW_SHARE:
            return self.new(kind)
        rank = RANK_SHIFT * ((len(names) + RANK_SHIFT) / RANK_SHIFT) ** self._random() - RANK_SHIFT
        return names[min(int(rank), len(names) - 1)]

    def new(self, kind: Kind) -> str:
        """Return a name that was never used, a syllable longer for each time that the one drawn was taken."""
        name = next(
            name for name in map(self._invent, itertools.repeat(kind), itertools.count(1)) if name not in self._used
        )
        self._used.add(name)
        self._by_kind[kind].append(name)
        return name

    def _invent(self, kind: Kind, syllables: int) -> str:
        match kind:
            case "person":
                return f"{self._word(1)} {self._word(syllables)}"
            case "place":
                return self._word(syllables) + self.pick(PLACE_ENDINGS)
            case "organisation":
                return f"{self._word(syllables)} {self.pick(ORGANISATION_ENDINGS)}"
            case "work":
                return f"{self.pick(WORK_BEGINNINGS)} of {self._word(syllables)}"

    def _word(self, syllables: int) -> str:
        parts = [self.pick(ONSETS) + self.pick(VOWELS) for _ in range(syllables)]
        return ("".join(parts) + self.pick(CODAS)).capitalize()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write made-up passages as text files in one or several sources.")
    parser.add_argument("folder", type=Path, help="the folder of the sources")
    parser.add_argument("--count", type=int, default=10_000, help="passages in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", type=int, default=1, help="sub-folders to spread them over")
    options = parser.parse_args()
    if options.count < options.sources or options.sources < 1:
        parser.error(f"--count {options.count} must be at least --sources {options.sources}, and both at least 1")
    try:
        write_sources(options.folder, options.count, options.seed, options.sources)
    except FileExistsError as error:
        parser.error(f"{error.filename} exists already; choose another folder or remove it")
    print(f"{options.count} passages in {options.sources} sources below {options.folder}")


if __name__ == "__main__":
    main()
