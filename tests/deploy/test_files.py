"""The files of deploy/ fit each other, the package and its settings."""

import json
import re
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config

from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.deploy.files import (
    DEPLOY,
    OURS,
    PROJECT,
    ROOT,
    example_variables,
    image_environment,
    instructions,
    read_compose,
    read_services,
    read_yaml,
    required_variables,
)
from tools.settings_page import leaves

SERVICES = read_services(example_variables())
DEPLOYMENT = read_yaml("values.yaml")["dagster-user-deployments"]["deployments"][0]


def written_variables() -> dict[str, str]:
    """Every variable that some file of deploy/ sets for the code server, or suggests."""
    given: dict[str, str] = SERVICES["code"]["environment"] | DEPLOYMENT["env"]
    return example_variables() | image_environment() | given


def test_every_variable_is_a_setting_and_has_a_value_that_it_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {name: value for name, value in written_variables().items() if name.startswith("LIGHTRAG_")}
    commented = re.findall(r"# (LIGHTRAG_\w+): (\w+)", (DEPLOY / "values.yaml").read_text(encoding="utf-8"))
    assert commented == [("LIGHTRAG_DAGSTER__EXECUTOR", "kubernetes")]
    assert set(variables) >= {"LIGHTRAG_HOME", "LIGHTRAG_DATABASE", "LIGHTRAG_SOURCES", "LIGHTRAG_CACHE__FOLDER"}
    assert {*variables, *dict(commented)} <= {leaf.variable for leaf in leaves(Settings)}
    for name, value in (variables | dict(commented)).items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert (settings.cache.folder, settings.dagster.executor) == (Path("/cache"), "kubernetes")


def test_what_kubernetes_puts_into_the_environment_disturbs_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_settings()
    for service in (DEPLOYMENT["name"], "lightrag-dagster-webserver"):
        name = service.upper().replace("-", "_")
        monkeypatch.setenv(f"{name}_SERVICE_HOST", "10.0.0.1")
        monkeypatch.setenv(f"{name}_PORT", "tcp://10.0.0.1:4000")
    assert load_settings() == before


def test_no_file_holds_a_secret() -> None:
    example = example_variables()
    assert required_variables() <= set(example)
    secret = {name for name in example if re.search("KEY|PASSWORD|SECRET", name)}
    assert secret >= required_variables()
    assert not [name for name in secret if not re.fullmatch("<.*>", example[name])]
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            assert not re.search("(KEY|PASSWORD|SECRET)(?!_FILE)", name) or re.fullmatch("<.*>", value), name
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert not [name for name in DEPLOYMENT["env"] if re.search("KEY|PASSWORD|SECRET|DATABASE", name)]


def test_every_command_is_one_that_the_image_installs() -> None:
    installed = {one.name for one in entry_points(group="console_scripts")} | {"python"}
    commands = [SERVICES[name]["command"] for name in OURS]
    checks = [SERVICES[name]["healthcheck"]["test"] for name in OURS]
    assert {check[0] for check in checks} == {"CMD"}
    assert {command[0] for command in commands} | {check[1] for check in checks} <= installed
    assert json.loads(instructions("CMD")[-1]) == SERVICES["code"]["command"]
    module = option(SERVICES["code"]["command"], "--module-name")
    assert module == option(DEPLOYMENT["dagsterApiGrpcArgs"], "--module-name")
    assert find_spec(module)


def test_services_find_each_other() -> None:
    port = option(SERVICES["code"]["command"], "--port")
    assert read_yaml("workspace.yaml")["load_from"] == [
        {"grpc_server": {"host": "code", "port": int(port), "location_name": "lightrag_dagster"}}
    ]
    assert option(SERVICES["code"]["healthcheck"]["test"], "--port") == port == instructions("EXPOSE")[0]
    ui = option(SERVICES["webserver"]["command"], "--port")
    assert SERVICES["webserver"]["ports"] == [f"127.0.0.1:{ui}:{ui}"]
    assert f"http://127.0.0.1:{ui}/server_info" in SERVICES["webserver"]["healthcheck"]["test"][-1]
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        for value in service.get("environment", {}).values():
            if "://" in value and not value.startswith("s3:"):
                assert urlsplit(value).hostname in SERVICES
    bucket = urlsplit(SERVICES["code"]["environment"]["LIGHTRAG_HOME"]).netloc
    assert f"-bucket={bucket}" in SERVICES["s3"]["command"]
    for name in ("webserver", "daemon"):
        workspace = option(SERVICES[name]["command"], "--workspace")
        assert f"./workspace.yaml:{workspace}:ro" in SERVICES[name]["volumes"]


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_databases_are_those_that_are_made() -> None:
    sql = (DEPLOY / "postgres.sql").read_text(encoding="utf-8")
    owners = dict(re.findall(r"^CREATE DATABASE (\w+) OWNER (\w+);$", sql, re.MULTILINE))
    names = ("DAGSTER_POSTGRES_URL", "LIGHTRAG_DATABASE")
    asked = [urlsplit(SERVICES["code"]["environment"][name]) for name in names]
    assert {url.path.removeprefix("/"): url.username for url in asked} == owners
    assert len(set(owners.values())) == 2
    variables = set(re.findall(r"^\\getenv \w+ (\w+)$", sql, re.MULTILINE))
    assert variables == SERVICES["postgres"]["environment"].keys() - {"POSTGRES_PASSWORD_FILE"}
    # Where no driver is named, SQLAlchemy takes psycopg 3, which cannot run Dagster's `NOTIFY`.
    assert asked[0].scheme == read_yaml("values.yaml")["postgresql"]["postgresqlScheme"] == "postgresql+psycopg2"


def test_services_have_limits_and_no_more_rights_than_they_need() -> None:
    for name, service in SERVICES.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert {"mem_limit", "pids_limit"} <= set(service), name
        assert (service.get("read_only", False), "cap_add" in service) == ((name in OURS), (name not in OURS)), name
    assert [name for name, service in SERVICES.items() if "storage" in service.get("networks", [])] == ["s3", "code"]


def test_the_key_of_the_bucket_is_for_it_alone() -> None:
    (identity,) = json.loads(read_compose(example_variables())["configs"]["s3"]["content"])["identities"]
    given = example_variables()
    key = {"accessKey": given["AWS_ACCESS_KEY_ID"], "secretKey": given["AWS_SECRET_ACCESS_KEY"]}
    assert identity["credentials"] == [key]
    bucket = urlsplit(SERVICES["code"]["environment"]["LIGHTRAG_HOME"]).netloc
    assert {action.partition(":")[2] for action in identity["actions"]} == {bucket}
    (mounted,) = SERVICES["s3"]["configs"]
    assert f"-s3.config={mounted['target']}" in SERVICES["s3"]["command"]


def test_mounted_files_exist_and_folders_are_the_images() -> None:
    folders = next(line for line in instructions("RUN") if "--owner" in line)
    home = image_environment()["DAGSTER_HOME"]
    for name in OURS:
        assert {f"./dagster.yaml:{home}/dagster.yaml:ro", f"logs:{home}/storage"} <= set(SERVICES[name]["volumes"])
        for volume in SERVICES[name]["volumes"]:
            source, target = volume.split(":")[:2]
            assert (DEPLOY / source).exists() if source.startswith(".") else target in folders, volume


@pytest.mark.parametrize("file", ["dagster.yaml", "values.yaml"])
def test_an_instance_is_as_a_command_makes_it_but_for_storage_and_launcher(tmp_path: Path, file: str) -> None:
    with open_instance(Home(tmp_path / "home")):
        pass
    made = yaml.safe_load((tmp_path / "home" / "dagster" / "dagster.yaml").read_text(encoding="utf-8"))
    if file == "dagster.yaml":
        deployed = read_yaml(file)
        assert set(deployed.pop("storage")) == {"postgres"}
        assert find_spec(deployed.pop("run_launcher")["module"])
        dagster_instance_config(str(DEPLOY))  # raises where Dagster would
    else:
        values = read_yaml(file)
        deployed = {
            "telemetry": values["telemetry"],
            **values["additionalInstanceConfig"],
            "run_monitoring": snake_case(values["dagsterDaemon"]["runMonitoring"]),
            "python_logs": snake_case(values["pythonLogs"]),
            "concurrency": snake_case({key: values["concurrency"][key] for key in ("runs", "pools")}),
        }
    assert deployed == made


def snake_case(values: dict[str, Any]) -> dict[str, Any]:
    """Return values of the chart under the names that dagster.yaml has for them."""
    return {
        re.sub("([A-Z])", r"_\1", name).lower(): snake_case(value) if isinstance(value, dict) else value
        for name, value in values.items()
    }


def test_the_image_holds_the_package_and_extras_that_exist() -> None:
    (extras,) = re.findall(r"EXTRAS=(\S+)", instructions("ARG")[1])
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert any(line.startswith("pip install") and '".[${EXTRAS}]"' in line for line in instructions("RUN"))
    copied = [name for line in instructions("COPY") for name in line.split()[:-1]]
    let_through = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in copied} == {line for line in let_through if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)
    assert {"assets", "lightrag_dagster", "resources", "pyproject.toml", PROJECT["readme"]} <= set(copied)
    assert not any(image_environment()[name].startswith("/root") for name in ("DAGSTER_HOME", "LIGHTRAG_CACHE__FOLDER"))


def test_versions_are_todays() -> None:
    image = f"lightrag-dagster:{PROJECT['version']}"
    assert {SERVICES[name]["image"] for name in OURS} == {image}
    given = DEPLOYMENT["image"]
    assert f"{given['repository'].rsplit('/')[-1]}:{given['tag']}" == image
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (dagster,) = re.findall(r"^dagster==(\S+)$", constraints, re.MULTILINE)
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert set(re.findall(r"--version (\S+)", page)) == {dagster}
    for name in ("README.md", "deploy/Dockerfile", "docs/deployment.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        named = set(re.findall(r"(?:lightrag[-_]dagster[:-]|/backups/)(\d+\.\d+\.\d+)", text))
        assert named == {PROJECT["version"]}, name
