"""`backup` and `restore` as a person uses them."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_cli import command


def test_a_home_is_backed_up_restored_elsewhere_and_needs_no_run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(published_home.parent / "sources"))
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, output, errors = command(capfd, monkeypatch, "backup", "backups/monday")
    assert (code, errors) == (0, "")
    assert f"{published_home} is backed up in backups/monday: " in output
    assert " stored responses, " in output
    assert "Published: gen-" in output

    monkeypatch.setenv("LIGHTRAG_HOME", "elsewhere")
    assert command(capfd, monkeypatch, "restore", "backups/monday")[0] == 0
    for arguments in (("run",), ("run", "--verify")):
        code, output, errors = command(capfd, monkeypatch, *arguments)
        assert (code, errors) == (0, "")
        assert output.startswith("Nothing changed; gen-")

    code, _, errors = command(capfd, monkeypatch, "restore", "backups/monday")
    assert code == 2
    assert errors.startswith("error: ")
    assert "elsewhere is not empty" in errors
    assert errors.count("\n") == 1


@pytest.mark.long  # tests/pipeline/test_backup.py restores damaged ones
@pytest.mark.parametrize("lost", ["tables/raw_documents/*/*.parquet", "lance/*.lance/data/*.lance"])
def test_what_is_damaged_in_a_backup_is_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path, lost: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(published_home.parent / "sources"))
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    command(capfd, monkeypatch, "backup", "backups/monday")
    path = min(Path("backups/monday").glob(lost))
    if path.suffix == ".parquet":
        path.unlink()
    else:
        path.write_bytes(bytes(path.stat().st_size))
    monkeypatch.setenv("LIGHTRAG_HOME", "elsewhere")
    code, output, errors = command(capfd, monkeypatch, "restore", "backups/monday")
    assert (code, errors) == (1, "")
    [line] = [line for line in output.splitlines() if line.startswith("damaged in the backup: ")]
    assert path.name in line
    assert output.splitlines()[-1].startswith("`lightrag-dagster run --verify` builds these again")
    code, output, errors = command(capfd, monkeypatch, "run", "--verify")
    assert (code, errors) == (0, "")
    assert "damaged, and built again: " in output
    assert command(capfd, monkeypatch, "run", "--verify")[1].startswith("Nothing changed; gen-")


@pytest.mark.parametrize("name", ["accepted", "PUBLISHED"])
def test_a_damaged_record_is_copied_and_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shutil.copytree(published_home, "home", symlinks=True)
    record = min(Path("home").glob(f"{name}/*.json"), default=Path("home") / name)
    record.write_text("{bad")
    for home, verb, place in (("home", "backup", "home"), ("elsewhere", "restore", "backup")):
        monkeypatch.setenv("LIGHTRAG_HOME", home)
        code, output, errors = command(capfd, monkeypatch, verb, "monday")
        assert (code, errors) == (1, "")
        [line] = [line for line in output.splitlines() if line.startswith(f"damaged in the {place}: ")]
        assert str(record.relative_to("home")) in line
        assert ("Published: unknown" in output) == (name == "PUBLISHED")


@pytest.mark.long  # it copies a home twice
def test_a_backup_of_another_layout_is_restored_and_the_next_run_takes_it_over(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    command(capfd, monkeypatch, "backup", "backups/monday")
    record = Path("backups/monday/records/FORMAT")
    record.write_text(json.dumps(json.loads(record.read_text()) | {"layout": "another"}))
    monkeypatch.setenv("LIGHTRAG_HOME", "elsewhere")
    code, output, errors = command(capfd, monkeypatch, "restore", "backups/monday")
    assert (code, errors) == (0, "")
    assert output.splitlines()[-1].endswith("`lightrag-dagster run` takes it over.")


def test_a_bucket_needs_a_database(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, _, errors = command(capfd, monkeypatch, "--home", "s3://nobody/nothing", "restore", "backups/monday")
    assert code == 2
    assert "needs a Postgres database" in errors
