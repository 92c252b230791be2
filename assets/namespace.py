"""A prefix for the names of a knowledge base in Dagster, so that one deployment can hold several.

Asset keys get a first part (`finance/chunks`); names of partitions, groups, steps, jobs, schedules, sensors, pools and
of the resource begin with it (`finance_ingest`).
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

Compute = Callable[..., Any]

DATA_VERSION, CODE_VERSION = "dagster/data_version", "dagster/code_version"
"""Tags of Dagster by which it tells what is stale; it has no public names for them."""

RESOURCE = "lightrag"
"""Key of the resource that builds, and the parameter of the functions that use it."""


@dataclass(frozen=True)
class Namespace:
    """The names of one knowledge base; without a prefix they are those of the modules."""

    prefix: str = ""

    def named(self, name: str) -> str:
        """Return the name of a step, job, group, pool, resource, partitions definition, schedule or sensor."""
        return f"{self.prefix}_{name}" if self.prefix else name

    def without(self, name: str) -> str:
        """Return the name that `named` began with."""
        return name.removeprefix(self.named(""))

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

    @property
    def resource(self) -> str:
        """The key of the resource that builds."""
        return self.named(RESOURCE)

    def bound(self, compute: Compute) -> Compute:
        """Return a function whose parameter `lightrag` has the name of this knowledge base's resource.

        Dagster gives a resource to the parameter of its name.
        """
        if not self.prefix:
            return compute

        @functools.wraps(compute)
        def bound(*given: Any, **by_name: Any) -> Any:
            return compute(*given, **{RESOURCE: by_name.pop(self.resource)}, **by_name)

        def named(name: str) -> str:
            return self.resource if name == RESOURCE else name

        signature = inspect.signature(compute)
        parameters = [one.replace(name=named(one.name)) for one in signature.parameters.values()]
        # Without what it returns, which Dagster would take for one output if it is a generator's.
        vars(bound)["__signature__"] = signature.replace(
            parameters=parameters, return_annotation=inspect.Signature.empty
        )
        kinds = compute.__annotations__.items()
        bound.__annotations__ = {named(name): kind for name, kind in kinds if name != "return"}
        del bound.__wrapped__  # Dagster would read its signature
        return bound
