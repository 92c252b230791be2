"""The image, built and started as a container is: another user, and a root that cannot be written."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assets.test_daemon import until
from tests.deploy.image import NEEDED, SUITE, USER, Image, built_image, can_build
from tests.deploy.processes import serving_compose
from tests.deploy.test_compose import launch, start, state
from tests.support import FLOOD, RIVER

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_build(), reason=f"building the image needs root, and {', '.join(NEEDED)}"),
]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image of deploy/Dockerfile on Debian."""
    with built_image() as built:
        yield built


def test_commands_work_as_another_user_on_a_root_that_cannot_be_written(image: Image, tmp_path: Path) -> None:
    (tmp_path / "sources" / "notes").mkdir(parents=True)
    (tmp_path / "sources" / "notes" / "river.md").write_text(RIVER, encoding="utf-8")
    subprocess.run(["chown", "--recursive", f"{USER}:{USER}", str(tmp_path)], check=True)

    def done(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(image.inside(tmp_path, command), capture_output=True, text=True, check=False)

    assert done("id", "--user").stdout == f"{USER}\n"
    assert "Read-only file system" in done("touch", "/opt/lightrag/new").stderr
    assert done("grep", "VERSION_CODENAME", "/etc/os-release").stdout == f"VERSION_CODENAME={SUITE}\n"
    ours = ("lightrag-dagster", "--home", str(tmp_path / "home"), "--sources", str(tmp_path / "sources"))
    for command, said in (
        (("plan",), "notes"),
        (("run",), "Published gen-"),
        (("status",), "published"),
        (("query", "Who maintains the gauge at Halden Weir?"), "Marta Lindqvist"),
        (("sql", "select count(*) as entities from entities", "--format", "csv"), "entities\n"),
        (("cypher", "MATCH (n:Entity) RETURN count(n) AS found", "--format", "csv"), "found\n"),
        (("backup", str(tmp_path / "saved")), "saved"),
        (("gc",), ""),
    ):
        ended = done(*ours, *command)
        assert (ended.returncode, said in ended.stdout) == (0, True), (command, ended.stdout, ended.stderr)


def test_the_services_of_compose_work_in_it_for_a_night(image: Image, tmp_path: Path) -> None:
    sources = tmp_path / "documents"
    (sources / "notes").mkdir(parents=True)
    (sources / "notes" / "river.md").write_text(RIVER, encoding="utf-8")
    with serving_compose(tmp_path, sources, image=image) as services:
        api = start(services)
        launch(api)
        until(lambda: state(api, "publish") == "SUCCESS", "nothing was published")
        question = ("lightrag-dagster", "query", "Who repaired the sensor at Station 14?")
        assert "Priya Nair" not in services.execute("code", *question)

        (sources / "notes" / "flood.md").write_text(FLOOD, encoding="utf-8")
        launch(api)
        until(lambda: "Priya Nair" in services.execute("code", *question), "the night published nothing")
        assert "ERROR" not in services.logs()
