"""The events of a source's tables, as the run of its partition alone would leave them in Dagster.

Dagster itself writes the tags by which it tells what is stale, and has no public function for that; so their names are
data here.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import dagster as dg

_CODE_VERSION = "dagster/code_version"
_DATA_VERSION = "dagster/data_version"
_IS_OURS = "dagster/data_version_is_user_provided"
_INPUT_VERSION = "dagster/input_data_version"
_INPUT_EVENT = "dagster/input_event_pointer"
_NOTHING_KNOWN = "INITIAL", "NULL"


class SourceEvents:
    """The events of tables that are made of one source after each other; `left` are those that are not made yet."""

    def __init__(self, instance: dg.DagsterInstance, source: str, specs: Mapping[dg.AssetKey, dg.AssetSpec]) -> None:
        self._instance, self._source, self._specs = instance, source, specs
        self._inputs: dict[dg.AssetKey, dict[str, str]] = {}
        self.left = set(specs)

    def made(self, result: dg.MaterializeResult[Any]) -> dg.AssetMaterialization:
        """Return the event of a table, made from what Dagster knows now of the assets before it."""
        key, version = result.asset_key, result.data_version
        assert key is not None
        assert version is not None
        spec = self._specs[key]
        tags = {_CODE_VERSION: spec.code_version or "", _DATA_VERSION: version.value, _IS_OURS: "true"}
        for dep in spec.deps:
            if dep.asset_key not in self._inputs:
                self._inputs[dep.asset_key] = self._made_from(dep.asset_key)
            tags |= self._inputs[dep.asset_key]
        self.left.discard(key)
        return dg.AssetMaterialization(
            key, partition=self._source, metadata=result.metadata, tags=tags | dict(result.tags or {})
        )

    def _made_from(self, key: dg.AssetKey) -> dict[str, str]:
        """Return the tags that name an input; as Dagster does, those of a partition by the hash of its version."""
        version, event = _NOTHING_KNOWN
        chosen = dg.AssetRecordsFilter(key, asset_partitions=[self._source]) if key in self._specs else key
        materialised = self._instance.fetch_materializations(chosen, limit=1).records
        for record in materialised or self._instance.fetch_observations(chosen, limit=1).records:
            version = ((record.asset_event and record.asset_event.tags) or {}).get(_DATA_VERSION, version)
            event = str(record.storage_id)
        if key in self._specs:
            version = sha256(version.encode()).hexdigest()
        name = key.to_user_string()
        return {f"{_INPUT_VERSION}/{name}": version, f"{_INPUT_EVENT}/{name}": event}
