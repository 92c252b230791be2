"""Assets before they are in a namespace: Dagster changes neither the pool nor the resource of one that is declared.

A module declares its assets with `asset` or `multi_asset`, by names without a prefix; `Declared.within` makes of them
the assets of one knowledge base.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import dagster as dg

from lightrag_dagster.assets.namespace import Compute, Namespace

LLM_POOL = "llm"
"""Pool of the steps that ask a language model: one run at a time, so that the limits of a run are those of the home."""

WRITER_POOL = "writer"
"""Pool of the steps that write the stores; the builder's lock would make them wait too, but in a running process."""


@dataclass(frozen=True)
class Declared:
    """A step and the assets that it makes or, if `observed`, looks at.

    `checks` are the names and descriptions of those of its only asset.
    """

    name: str
    compute: Compute
    specs: Sequence[dg.AssetSpec]
    partitioned: bool = False
    pool: str | None = None
    checks: Mapping[str, str] = field(default_factory=dict)
    observed: bool = False

    @property
    def assets(self) -> list[str]:
        """The names of the assets."""
        return [spec.key.path[-1] for spec in self.specs]

    def within(self, namespace: Namespace) -> dg.AssetsDefinition:
        """Return the assets of the knowledge base with a namespace."""
        specs = [
            spec.replace_attributes(
                key=namespace.key(spec.key.path[-1]),
                deps=[
                    dg.AssetDep(namespace.key(dep.asset_key.path[-1]), partition_mapping=dep.partition_mapping)
                    for dep in spec.deps
                ],
                group_name=namespace.named(spec.group_name or "default"),
                partitions_def=namespace.sources if self.partitioned else None,
            )
            for spec in self.specs
        ]
        if self.observed:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", category=dg.BetaWarning)  # it has no other way to run with a job
                declare = dg.multi_observable_source_asset(name=namespace.named(self.name), specs=specs)
            looked_at: dg.AssetsDefinition = declare(namespace.bound(self.compute))
            return looked_at
        return dg.multi_asset(
            name=namespace.named(self.name),
            specs=specs,
            pool=namespace.named(self.pool) if self.pool else None,
            check_specs=[
                dg.AssetCheckSpec(name, asset=specs[0].key, description=description)
                for name, description in self.checks.items()
            ],
        )(namespace.bound(self.compute))


def all_of(*assets: str | dg.AssetKey) -> list[dg.AssetDep]:
    """Return dependencies on all partitions of some assets."""
    return [dg.AssetDep(one, partition_mapping=dg.AllPartitionMapping()) for one in assets]


def asset(
    *,
    name: str | None = None,
    partitioned: bool = False,
    pool: str | None = None,
    checks: Mapping[str, str] | None = None,
    **spec: Any,
) -> Callable[[Compute], Declared]:
    """Declare the asset that a function makes, by default with the function's name.

    Args:
        name: Name of asset and step.
        partitioned: One partition a source.
        pool: Pool of the step.
        checks: Name → description of the asset's own checks.
        spec: Other attributes of a `dagster.AssetSpec`.
    """

    def declare(compute: Compute) -> Declared:
        chosen = name or compute.__name__
        return Declared(chosen, compute, [dg.AssetSpec(chosen, **spec)], partitioned, pool, checks or {})

    return declare


downstream = partial(asset, deps=["knowledge_base"], group_name="downstream")
"""Declare an asset that is made from the published snapshot."""


def observable(**spec: Any) -> Callable[[Compute], Declared]:
    """Declare the asset that a function only looks at; see `asset`."""
    return lambda compute: replace(asset(**spec)(compute), observed=True)


def multi_asset(
    name: str, described: Mapping[str, str], *, partitioned: bool = False, pool: str | None = None, **spec: Any
) -> Callable[[Compute], Declared]:
    """Declare the assets that a function makes in one step, each with its description; see `asset`."""
    specs = [dg.AssetSpec(one, description=description, **spec) for one, description in described.items()]
    return lambda compute: Declared(name, compute, specs, partitioned, pool)
