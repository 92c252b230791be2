"""A random sample of the documents of a very large source, so that a plan need not read them all."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lightrag_dagster.core.identity import document_id
from lightrag_dagster.pipeline.documents import read_before
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.plan.estimates import DEVIATIONS, Estimate
from lightrag_dagster.stages.documents.connectors.origin import Incremental, ListedFile, Origin
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.tables.source_tables import SourceTables

SAMPLE = 5_000
"""Documents of a source that a plan reads at most, unless all that it read is answered."""


class SampledDocuments(NamedTuple):
    """The paths of documents that are read, among a number that a run would read."""

    paths: frozenset[str]
    among: int

    @property
    def factor(self) -> float:
        """Documents that a run would read, for each that is read."""
        return self.among / len(self.paths)


def sampled(
    source: Source, tables: SourceTables, recipes: Recipes, most: int
) -> tuple[Source, SampledDocuments | None]:
    """Return a source of which a run would read at most that number of documents, and these; None if it already is one.

    A source that can tell what changed is one. Documents that are left out stay as they are, new ones have no text.

    Raises:
        SourceError: the source cannot be listed.
        StoreError: a table is damaged.
    """
    if isinstance(source.origin, Incremental):
        return source, None
    version = read_before(tables, source.name, recipes.table_recipe("raw_documents", source.name)).version("stamps")
    rows = tables.read("stamps", source.name, version, ["doc_id", "stamp"]).to_pylist() if version else []
    stamps = {row["doc_id"]: row["stamp"] for row in rows}
    # What was touched just before it was read last has an empty stamp: it is opened, and seldom parsed.
    unread = [one.path for one in list_files(source) if _is_new(stamps.get(document_id(source.name, one.path)), one)]
    if len(unread) <= most:
        return source, None
    chosen = frozenset(random.Random(0).sample(sorted(unread), most))
    part = replace(source, origin=_Part(source.origin, frozenset(unread) - chosen))
    return part, SampledDocuments(chosen, len(unread))


def in_all(by_path: Mapping[str, float], sample: SampledDocuments | None) -> Estimate:
    """Return the sum of numbers of documents, of which those of a sample stand for more."""
    if sample is None:
        return Estimate.exactly(sum(by_path.values()))
    inside = [number for path, number in by_path.items() if path in sample.paths]
    return Estimate.exactly(sum(by_path.values()) - sum(inside)).plus(scaled(inside, len(sample.paths), sample.among))


def scaled(values: Sequence[float], looked_at: int, total: int) -> Estimate:
    """Return the sum over `total` things, given the values of a random sample, where further ones have none."""
    mean = sum(values) / looked_at
    # One more thing that is unlike all others keeps the range open where these are alike: it has none, or as much.
    unlike = 0.0 if len(values) >= looked_at / 2 else max(values, default=0.0)
    squares = (sum(value * value for value in values) + unlike * unlike) / (looked_at + 1)
    about = (sum(values) + unlike) / (looked_at + 1)
    chance = (max(0.0, squares - about * about) / looked_at * (1 - looked_at / total)) ** 0.5
    distance = DEVIATIONS * chance * total
    return Estimate(mean * total, max(float(sum(values)), mean * total - distance), mean * total + distance)


def _is_new(stamp: str | None, listed: ListedFile) -> bool:
    return stamp is None or stamp not in ("", listed.stamp)


@dataclass(frozen=True)
class _Part:
    """A place of which some documents cannot be read."""

    origin: Origin
    left_out: frozenset[str]

    @property
    def at_once(self) -> int:
        return self.origin.at_once

    @property
    def name(self) -> str:
        return self.origin.name

    def files(self) -> Iterator[ListedFile]:
        return self.origin.files()

    def read(self, listed: ListedFile, most: int) -> bytes:
        if listed.path in self.left_out:
            raise OSError("it is not in the sample")
        return self.origin.read(listed, most)
