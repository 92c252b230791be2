"""The files of deploy/, read as Compose and Docker read them."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

OURS = ("code", "webserver", "daemon")
"""Services of compose.yaml that are of our image."""

_VARIABLE = re.compile(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}")


def read_yaml(name: str) -> dict[str, Any]:
    """Return what a file of deploy/ says."""
    content: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    return content


def read_compose(variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what compose.yaml says, with `${…}` replaced as Compose does; raises KeyError for `${NAME:?…}`."""

    def value(found: re.Match[str]) -> str:
        name, operator, text = found.groups()
        return variables[name] if operator != ":-" else variables.get(name) or text

    content = _VARIABLE.sub(value, (DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    compose: dict[str, dict[str, Any]] = yaml.safe_load(content)
    return compose


def read_services(variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the services of compose.yaml; raises as `read_compose`."""
    return read_compose(variables)["services"]


def required_variables() -> set[str]:
    """Return the names of which compose.yaml says that they must be set."""
    found = _VARIABLE.findall((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return {name for name, operator, _ in found if operator == ":?"}


def example_variables() -> dict[str, str]:
    """Return the variables of .env.example, those that are commented out among them."""
    lines = (DEPLOY / ".env.example").read_text(encoding="utf-8").splitlines()
    return dict(line.removeprefix("# ").split("=", 1) for line in lines if re.match(r"(# )?[A-Z_]+=", line))


def instructions(keyword: str) -> list[str]:
    """Return the arguments of each instruction of the Dockerfile with this keyword."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#"))
    return [arguments for name, arguments in lines if name == keyword]


def image_environment() -> dict[str, str]:
    """Return the variables that the image sets."""
    return dict(pair.split("=", 1) for arguments in instructions("ENV") for pair in arguments.split())
