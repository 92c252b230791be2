"""Whose the partitions of a namespace are."""

import shutil
from pathlib import Path

import dagster as dg
import pytest
from pydantic import SecretStr
from rich.console import Console

from lightrag_dagster.assets.metadata import COMMAND_TAG
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.partitions import namespaces_of, sign
from lightrag_dagster.assets.sensors import publish_accepted
from lightrag_dagster.cli.progress import display
from lightrag_dagster.errors import StoreError
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.orchestration.jobs import open_jobs
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import home_id
from lightrag_dagster.storage.locking import building
from tests.assets.runs import pretend
from tests.buckets import S3Server

OURS = Namespace("contracts")


def test_another_home_of_the_same_namespace_is_refused(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    one, other = Home(tmp_path / "one"), Home(tmp_path / "other")
    instance.add_dynamic_partitions("contracts_source", ["notes"])  # unsigned, as an earlier version left them
    sign(instance, OURS, one)
    sign(instance, OURS, one)
    with pytest.raises(StoreError, match=rf"the home {one.root} has the partitions 'contracts_source' .* namespace"):
        sign(instance, OURS, other)
    sign(instance, Namespace("letters"), other)
    assert instance.get_dynamic_partitions("contracts_home") == [f"{home_id(one)} {one.root}"]
    assert instance.get_dynamic_partitions("contracts_source") == ["notes"]


def test_no_run_of_another_home_is_taken_for_a_killed_one(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = settings.home.with_name("dagster")
    shared.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(shared))
    other = settings.changed(home=settings.home.with_name("other"))
    with open_instance(Home.of(settings)) as instance:
        sign(instance, Namespace(), Home.of(settings))
        run = pretend(instance, dg.DagsterRunStatus.STARTED, {COMMAND_TAG: "run"}, job="ingest")
        with pytest.raises(StoreError, match="cannot have as well"):
            publish_accepted(dg.build_sensor_context(instance), lightrag=LightRAG(other))
        with (
            display(Console(quiet=True)) as shown,
            pytest.raises(StoreError, match="cannot have as well"),
            open_jobs(other, shown, "run"),
        ):
            pass
        found = instance.get_run_by_id(run)
    assert found is not None
    assert found.status is dg.DagsterRunStatus.STARTED


def test_a_home_that_moved_keeps_its_partitions(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    sign(instance, OURS, Home(tmp_path / "one"))
    moved = Home(Path(shutil.move(tmp_path / "one", tmp_path / "moved")))
    sign(instance, OURS, moved)
    assert instance.get_dynamic_partitions("contracts_home") == [f"{home_id(moved)} {moved.root}"]


def test_a_copy_is_another_home_while_the_first_is_there(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    sign(instance, OURS, Home(tmp_path / "one"))
    (tmp_path / "link").symlink_to(tmp_path / "one")
    sign(instance, OURS, Home(tmp_path / "link"))
    copy = Home(Path(shutil.copytree(tmp_path / "one", tmp_path / "copy")))
    with pytest.raises(StoreError, match="cannot have as well"):
        sign(instance, OURS, copy)


@pytest.mark.parametrize("moves", [True, False])
def test_a_home_has_the_namespaces_that_it_had_before(
    instance: dg.DagsterInstance, tmp_path: Path, *, moves: bool
) -> None:
    for prefix in ("", "contracts"):
        sign(instance, Namespace(prefix), Home(tmp_path / "one"))
    other = Home(Path((shutil.move if moves else shutil.copytree)(tmp_path / "one", tmp_path / "other")))
    sign(instance, Namespace("letters"), other)
    before = ["", "contracts"] if moves else []
    assert [one.prefix for one in namespaces_of(instance, other)] == [*before, "letters"]


@pytest.mark.parametrize("place", ["one", "elsewhere"])
def test_those_of_a_home_that_is_gone_are_adopted(instance: dg.DagsterInstance, tmp_path: Path, place: str) -> None:
    sign(instance, OURS, Home(tmp_path / "one"))
    shutil.rmtree(tmp_path / "one")
    new = Home(tmp_path / place)
    sign(instance, OURS, new)
    assert instance.get_dynamic_partitions("contracts_home") == [f"{home_id(new)} {new.root}"]


def test_the_id_of_a_home_in_a_bucket_is_read_without_the_builders_lock(
    instance: dg.DagsterInstance, buckets: S3Server, postgres: SecretStr, tmp_path: Path
) -> None:
    uri = buckets.new_bucket()
    writer, reader = (Home(tmp_path / name / "0", postgres, uri, 1e9) for name in ("writer", "reader"))
    with building(writer, 0):
        atomic.write_text(writer.accepted("notes"), "{}")
    sign(instance, OURS, reader)
    assert instance.get_dynamic_partitions("contracts_home") == [f"{home_id(writer)} {uri}"]
    assert not reader.accepted("notes").exists(), "a builder takes over all records"


def test_a_copy_of_a_home_takes_its_own_instance_along(tmp_path: Path) -> None:
    first = Home(tmp_path / "one")
    with open_instance(first) as instance:
        sign(instance, OURS, first)
    copy = Home(Path(shutil.copytree(tmp_path / "one", tmp_path / "copy")))
    with open_instance(copy) as instance:
        sign(instance, OURS, copy)
        assert instance.get_dynamic_partitions("contracts_home") == [f"{home_id(copy)} {copy.root}"]
