"""compose.yaml from start to answer, with processes for containers."""

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.assets.test_daemon import ask, until
from tests.deploy.files import OURS
from tests.deploy.processes import SECONDS, Services, serving_compose
from tests.support import RIVER

LOCATION = """
{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus locationOrLoadError { __typename } } } } }
"""
PARTITIONS = '{ assetNodes(assetKeys: [{path: ["raw_documents"]}]) { partitionKeys } }'
LAUNCH = """
mutation { launchRun(executionParams: {
    selector: {jobName: "ingest", repositoryName: "__repository__", repositoryLocationName: "lightrag_dagster"},
    executionMetadata: {tags: [{key: "dagster/partition", value: "notes"}]}})
  { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""
RUNS = "{ runsOrError { ... on Runs { results { runId jobName status } } } }"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder of one source."""
    (tmp_path / "documents" / "notes").mkdir(parents=True)
    (tmp_path / "documents" / "notes" / "river.md").write_text(RIVER, encoding="utf-8")
    return tmp_path / "documents"


@pytest.mark.long
def test_the_services_ingest_publish_and_answer(tmp_path: Path, sources: Path) -> None:
    with serving_compose(tmp_path, sources) as services:
        api = start(services)
        (entry,) = ask(api, LOCATION)["workspaceOrError"]["locationEntries"]
        assert entry == {
            "name": "lightrag_dagster",
            "loadStatus": "LOADED",
            "locationOrLoadError": {"__typename": "RepositoryLocation"},
        }
        launch(api)
        until(lambda: state(api, "ingest") == "SUCCESS", "the run did not succeed")
        until(lambda: state(api, "publish") == "SUCCESS", "nothing was published")

        assert "Marta Lindqvist" in services.execute("code", "lightrag-dagster", "query", "Who maintains the gauge?")
        assert "published" in services.execute("code", "lightrag-dagster", "status")
        services.execute("code", "lightrag-dagster", "backup", str(tmp_path / "saved"))
        services.execute("code", "dagster", "instance", "migrate")
        assert "ERROR" not in services.logs()


@pytest.mark.long
def test_a_run_that_ended_with_the_code_server_is_ended_in_dagster_too(tmp_path: Path, sources: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # A model that never answers.
        model: dict[str, Any] = {
            "LIGHTRAG_LLM__PROVIDER": "openai",
            "LIGHTRAG_LLM__MODEL": "gpt-4o-mini",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/v1",
        }
        with serving_compose(tmp_path, sources, **model) as services:
            api = start(services)
            launch(api)
            until(lambda: state(api, "ingest") == "STARTED", "the run was not started")
            silent.settimeout(SECONDS)
            with silent.accept()[0]:
                services.stop("code")
                services.start("code")

            until(lambda: state(api, "ingest") == "FAILURE", "the run still counts as running")


def start(services: Services) -> str:
    """Start the services, and return the address of the webserver's API when it knows the source."""
    for name in OURS:
        services.start(name)
    until(lambda: partitions(services.graphql) == ["notes"], "the sensor made no partition of the source")
    return services.graphql


def launch(api: str) -> None:
    launched = ask(api, LAUNCH)["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched


def partitions(api: str) -> list[str]:
    (asset,) = ask(api, PARTITIONS)["assetNodes"]
    return list(asset["partitionKeys"])


def state(api: str, job: str) -> str | None:
    """Return the state of the newest run of a job."""
    runs = ask(api, RUNS)["runsOrError"]["results"]
    return next((str(run["status"]) for run in runs if run["jobName"] == job), None)
