"""The run launcher for a code server that may be restarted, as that of deploy/compose.yaml is."""

import dagster as dg
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value


class WatchedRunLauncher(dg.DefaultRunLauncher):
    """Dagster's own launcher, which in addition tells `run_monitoring` of runs that ended with their code server.

    Without it such a run always counts as running: it keeps its place in the pool, and nothing is published.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Return True: the health of runs can be checked."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Ask the code server about a run; its health is unknown while the server cannot be reached."""
        client = self._get_grpc_client_for_termination(run.run_id)  # type: ignore[no-untyped-call]
        if client is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "it was not launched in a code server")
        try:
            answer = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id))
        except DagsterUserCodeUnreachableError:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "its code server cannot be reached")
        if deserialize_value(answer, CanCancelExecutionResult).can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "its code server was restarted, and no longer has it")
