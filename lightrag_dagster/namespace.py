"""One prefix for everything by which Dagster knows a knowledge base, so that one deployment can hold several.

Asset keys get a first part (`finance/chunks`); names of partitions, groups, jobs, schedules and sensors begin with it
(`finance_ingest`). Code that runs inside them asks `Namespace.named` for the same names. Pools are shared on purpose:
they bound how many runs of the deployment call a model at once.
"""

import copy
import functools
import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import dagster as dg
from dagster_shared.record import replace

Job = Any  # what dg.define_asset_job returns has no public name
T = TypeVar("T")


@dataclass(frozen=True)
class Namespace:
    """The prefix, and how each kind of definition takes it. An empty one changes nothing."""

    name: str

    def named(self, name: str) -> str:
        """Return the name of a job, group, partitions definition, schedule or sensor."""
        return f"{self.name}_{name}" if self.name else name

    def assets(self, assets: Sequence[T]) -> list[T]:
        """Return assets or asset checks under the prefix; other assets that they depend on keep their keys.

        Their code must report by `context.asset_key_for_output(…)`, not by a key of its own.
        """
        if not self.name:
            return list(assets)
        definitions: Sequence[Any] = assets
        # A check is an asset definition without specs; it names what it checks by the same keys.
        keys = {key: key.with_prefix(self.name) for each in definitions for key in each.keys}
        prefixed = [each.with_attributes(asset_key_replacements=keys) for each in definitions]
        with warnings.catch_warnings():
            # Dagster calls its own constructor with a parameter that it marks as beta.
            warnings.simplefilter("ignore", dg.BetaWarning)
            return [each.map_asset_specs(self._spec) if each.keys else each.coerce_to_checks_def() for each in prefixed]

    def jobs(self, jobs: Sequence[Job]) -> dict[str, Job]:
        """Return name without prefix → job under the prefix."""
        if not self.name:
            return {job.name: job for job in jobs}
        return {
            job.name: replace(job, name=self.named(job.name), selection=self._selection(job.selection)) for job in jobs
        }

    def schedules(
        self, schedules: Sequence[dg.ScheduleDefinition], jobs: Mapping[str, Job]
    ) -> list[dg.ScheduleDefinition]:
        """Return schedules under the prefix, of jobs as `jobs` returns them."""
        return [self._renamed(one.with_updated_job(jobs[one.job_name])) if self.name else one for one in schedules]

    def sensors(self, sensors: Sequence[dg.SensorDefinition], jobs: Mapping[str, Job]) -> list[dg.SensorDefinition]:
        """Return sensors under the prefix, of jobs as `jobs` returns them."""
        return [self._sensor(one, jobs) if self.name else one for one in sensors]

    def _sensor(self, sensor: dg.SensorDefinition, jobs: Mapping[str, Job]) -> dg.SensorDefinition:
        if isinstance(sensor, dg.AutomationConditionSensorDefinition):
            selection = sensor.asset_selection
            assert selection is not None
            return dg.AutomationConditionSensorDefinition(
                self.named(sensor.name),
                target=self._selection(selection),
                default_status=sensor.default_status,
                description=sensor.description,
            )
        if not sensor.targets:
            return self._renamed(sensor)
        # Dagster's own `with_updated_jobs` keeps the name, and warns about a parameter that is not given here.
        parts: Any = sensor
        return dg.SensorDefinition(
            self.named(sensor.name),
            evaluation_fn=parts._raw_fn,
            jobs=[jobs[target.job_name] for target in sensor.targets],
            minimum_interval_seconds=sensor.minimum_interval_seconds,
            default_status=sensor.default_status,
            description=sensor.description,
            required_resource_keys=parts._raw_required_resource_keys,
        )

    def _selection(self, selection: dg.AssetSelection) -> dg.AssetSelection:
        """Return a selection of keys, of groups or of several such under the prefix."""
        if operands := getattr(selection, "operands", None):
            return functools.reduce(operator.or_, map(self._selection, operands))
        if groups := getattr(selection, "selected_groups", None):
            return dg.AssetSelection.groups(*(self.named(group) for group in groups))
        keys: Sequence[dg.AssetKey] = getattr(selection, "selected_keys", ())
        assert keys, f"{selection} selects neither keys nor groups"
        return dg.AssetSelection.assets(*(key.with_prefix(self.name) for key in keys))

    def _spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        partitions = spec.partitions_def
        if isinstance(partitions, dg.DynamicPartitionsDefinition) and partitions.name:
            partitions = dg.DynamicPartitionsDefinition(name=self.named(partitions.name))
        group = spec.group_name and self.named(spec.group_name)
        return spec.replace_attributes(group_name=group, partitions_def=partitions)

    def _renamed(self, definition: T) -> T:
        """Return a copy with another name, for which Dagster has no method."""
        renamed: Any = copy.copy(definition)
        renamed._name = self.named(renamed.name)
        return renamed  # type: ignore[no-any-return]
