"""A company's project, as `create-dagster` and `dg scaffold` make one, beside the built wheel of this package."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.assets.test_daemon import ask, dg_dev
from tests.test_package import build_distributions

COMPONENT = "lightrag_dagster.KnowledgeBaseComponent"
COMMANDS = ("create-dagster", "dagster", "dg")
SECONDS = 180.0
"""The longest that a command may take; an idle machine needs a tenth of it."""

OWN_FILES = {
    # Packages of the names of our folders, with the project's own code.
    "src/assets/__init__.py": "",
    "src/assets/briefing.py": """
import dagster as dg
from lightrag_dagster import KnowledgeBaseResource

@dg.asset(
    deps=[dg.AssetKey(["contracts", "knowledge_base"])],
    partitions_def=dg.DailyPartitionsDefinition("2026-01-01"),
    group_name="reports",
)
def briefing(context: dg.AssetExecutionContext, knowledge: KnowledgeBaseResource) -> dg.MaterializeResult:
    answer = knowledge.query("Where did Orrin Instruments open an office?", mode="naive")
    return dg.MaterializeResult(metadata={"answer": dg.MetadataValue.md(answer.text), "snapshot": answer.snapshot_id})
""",
    "src/resources/__init__.py": """
import dagster as dg
from lightrag_dagster import KnowledgeBaseResource

KNOWLEDGE = KnowledgeBaseResource(home=dg.EnvVar("CONTRACTS_HOME"))
""",
    "src/company/defs/own.py": """
import dagster as dg
from assets.briefing import briefing
from resources import KNOWLEDGE

@dg.definitions
def defs() -> dg.Definitions:
    return dg.Definitions([briefing], executor=dg.multiprocess_executor, resources={"knowledge": KNOWLEDGE})
""",
    # Sensors look every five seconds, so that a test need not wait a minute for each.
    "src/company/definitions.py": """
from pathlib import Path
import dagster as dg

@dg.definitions
def defs() -> dg.Definitions:
    loaded = dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
    for sensor in loaded.sensors:
        sensor._min_interval = 5
    return loaded
""",
    "workspace.yaml": """
load_from:
- python_module: {module_name: company.definitions, location_name: company}
""",
}

# As older deployments have it: beside the limits of such a coordinator Dagster takes none of pools.
_INSTANCE = """
telemetry: {enabled: false}
nux: {enabled: false}
run_monitoring: {enabled: true}
run_coordinator:
  module: dagster.core.run_coordinator
  class: QueuedRunCoordinator
  config: {max_concurrent_runs: 4, tag_concurrency_limits: [{key: team, value: legal, limit: 1}]}
"""
_START = """
mutation ($name: String!) { startSchedule(scheduleSelector: {
    scheduleName: $name, repositoryName: "__repository__", repositoryLocationName: "company"}) { __typename } }
"""
_LAUNCH = """
mutation ($job: String!, $partition: String!) { launchRun(executionParams: {
    selector: {jobName: $job, repositoryName: "__repository__", repositoryLocationName: "company"},
    executionMetadata: {tags: [{key: "dagster/partition", value: $partition}]}}) { __typename } }
"""


class Company:
    """The project in its folder, and the environment that it is installed in.

    Args:
        folder: An empty folder.
        variables: Environment variables of all that runs in the project.
    """

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.root = folder / "company"
        self._bin = folder / "venv" / "bin"
        (folder / "dagster").mkdir()
        (folder / "dagster" / "dagster.yaml").write_text(_INSTANCE)
        self._variables = variables | {
            "CONTRACTS_HOME": str(self.home("contracts")),
            "DAGSTER_HOME": str(folder / "dagster"),
            "DAGSTER_DG_UPDATE_CHECK_ENABLED": "0",  # it would ask PyPI
            "COLUMNS": "200",
        }
        self._install(folder / "built")
        self.run("create-dagster", "project", str(self.root), "--no-uv-sync", folder=folder)
        for name, text in OWN_FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text.lstrip())

    def home(self, name: str) -> Path:
        """Return the folder of a knowledge base."""
        return self.root / "homes" / name

    def add(self, name: str, *settings: str) -> None:
        """Scaffold a knowledge base, and write further settings into its file."""
        places = ("--home", str(self.home(name)), "--sources", str(self.root / "documents" / name))
        self.run("dg", "scaffold", "defs", COMPONENT, name, *places)
        with (self.root / "src" / "company" / "defs" / name / "defs.yaml").open("a") as file:
            file.writelines(f"    {setting}\n" for setting in settings)

    def write(self, path: str, text: str) -> None:
        """Write a document: knowledge base, source and file name."""
        file = self.root / "documents" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self, *command: str, folder: Path | None = None) -> str:
        """Run a command in the project, and return what it printed."""
        done = subprocess.run(
            [str(self._bin / command[0]), *command[1:]],
            cwd=folder or self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def environment(self) -> dict[str, str]:
        """Return the variables of the project's processes; our own checkout is not on their path."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return kept | self._variables | {"PATH": f"{self._bin}:{os.environ['PATH']}"}

    @contextmanager
    def serving(self) -> Iterator["Served"]:
        """Run `dg dev` for the block: web server, daemon and code location."""
        with dg_dev(self.root, self.environment(), self.root / "dg.log") as address:
            yield Served(address)

    def _install(self, built: Path) -> None:
        """Make an environment with the wheel; all else is that of the tests, where this package is only a link."""
        built.mkdir()
        build_distributions(built)
        (wheel,) = built.glob("*.whl")
        environment = self._bin.parent
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        python = environment / "bin" / "python"
        install = ["--python", str(python), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
        (packages,) = environment.glob("lib/*/site-packages")
        # A folder in a .pth file is searched, its own .pth files are not read, and one of them has the link.
        (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n{self.root / 'src'}\n")
        for name in COMMANDS:
            script = (Path(sysconfig.get_path("scripts")) / name).read_text().splitlines()[1:]
            (self._bin / name).write_text("\n".join([f"#!{python}", *script]) + "\n")
            (self._bin / name).chmod(0o755)


class Served:
    """The web server of a project that runs."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, query: str, **variables: Any) -> Any:
        """Ask the GraphQL endpoint, and return the value of the only field asked for."""
        (value,) = ask(f"{self.address}/graphql", query, **variables).values()
        return value

    def start(self, schedule: str) -> None:
        """Switch a schedule on."""
        assert self.ask(_START, name=schedule)["__typename"] == "ScheduleStateResult"

    def launch(self, job: str, partition: str) -> None:
        """Launch a job for a partition, as the UI does."""
        assert self.ask(_LAUNCH, job=job, partition=partition)["__typename"] == "LaunchRunSuccess"

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs, the newest first: job, status, and tags by key."""
        found = self.ask("{ runsOrError { ... on Runs { results { runId jobName status tags { key value } } } } }")
        return [run | {"tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in found["results"]]
