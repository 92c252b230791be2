"""The contexts that the steps and checks of one source get in a run of many, whose own context knows no partition."""

import dagster as dg


class _OfSource:
    """The part of such a context that tells the source."""

    def __init__(self, context: dg.OpExecutionContext, source: str, key: dg.AssetKey) -> None:
        super().__init__(context)  # type: ignore[call-arg]  # of the Dagster context that it is a part of
        self._source, self._key = source, key

    has_partition_key = True

    @property
    def partition_key(self) -> str:
        return self._source

    @property
    def asset_key(self) -> dg.AssetKey:
        return self._key


class StepOfSource(_OfSource, dg.AssetExecutionContext):
    """A context of a step, for a source and the first asset that the step makes."""


class CheckOfSource(_OfSource, dg.AssetCheckExecutionContext):
    """A context of a check, for a source and the asset that it looks at."""
