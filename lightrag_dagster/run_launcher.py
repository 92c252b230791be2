"""The run launcher, where the `dagster.yaml` of earlier deployments looks for it."""

from lightrag_dagster.orchestration.run_launcher import WatchedRunLauncher as WatchedRunLauncher
