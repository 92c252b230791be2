"""A prefix for the names of a knowledge base in Dagster, so that one deployment can hold several.

Asset keys get a first part (`finance/chunks`); names of partitions, groups, jobs, schedules and sensors begin with it
(`finance_ingest`). Pools are shared, because Dagster has no public way to give a declared asset another one: they limit
the steps of the whole deployment that call a model, or write stores, at once.
"""

from dataclasses import dataclass

import dagster as dg


@dataclass(frozen=True)
class Namespace:
    """The names of one knowledge base; without a prefix they are those of the modules."""

    prefix: str = ""

    def named(self, name: str) -> str:
        """Return the name of a job, group, partitions definition, schedule or sensor."""
        return f"{self.prefix}_{name}" if self.prefix else name

    def key(self, name: str) -> dg.AssetKey:
        """Return the key of an asset."""
        return dg.AssetKey([self.prefix, name] if self.prefix else [name])

    @property
    def partitions(self) -> str:
        """The name under which an instance keeps the partitions."""
        return self.named("source")

    @property
    def sources(self) -> dg.DynamicPartitionsDefinition:
        """The one partition dimension: a partition is a source, in its present state."""
        return dg.DynamicPartitionsDefinition(name=self.partitions)
