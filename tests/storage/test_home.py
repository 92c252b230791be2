import os
import sys
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home, bucket_uri
from tests.support import RIVER, build, write_source


def test_a_home_is_absolute_and_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    assert Home(Path("data")).root == tmp_path / "data"
    assert Home(Path("~/data")).root == Path("/home/someone/data")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["../escape", "a/b", "a b", "größe", ".hidden", "a%2Fb"])
def test_a_source_name_stays_one_folder(source: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.source_table("chunks", source).parent == tmp_path / "tables" / "chunks"
    assert home.accepted(source).parent == tmp_path / "accepted"


def test_source_names_do_not_collide(tmp_path: Path) -> None:
    names = ["a/b", "a%2Fb", "a b", "a+b", "a.b"]
    assert len({Home(tmp_path).source_table("chunks", name) for name in names}) == len(names)


def test_dagster_lives_in_the_home_unless_it_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    assert Home(tmp_path).dagster == tmp_path / "dagster"
    monkeypatch.setenv("DAGSTER_HOME", "")
    assert Home(tmp_path).dagster == tmp_path / "dagster"
    monkeypatch.setenv("DAGSTER_HOME", "/srv/dagster")
    assert Home(tmp_path).dagster == Path("/srv/dagster")


@pytest.mark.parametrize(
    ("home", "uri"),
    [
        ("s3://bucket/some/home", "s3://bucket/some/home"),
        ("gs://bucket", "gs://bucket"),
        ("az://container/home/", "az://container/home"),
        ("data/s3", None),
        ("/srv/s3:/data", None),
    ],
)
def test_a_uri_is_recognised_in_a_path(home: str, uri: str | None) -> None:
    assert bucket_uri(Path(home)) == uri


@pytest.mark.parametrize(
    ("bucket", "place", "held"),
    [
        (None, "home", True),
        (None, "home/inner", True),
        (None, "home/../other", False),
        (None, "homes", False),
        (None, "s3://bucket/home", False),
        ("s3://bucket/home", "s3://bucket/home", True),
        ("s3://bucket/home", "s3://bucket/home/inner", True),
        ("s3://bucket/home", "s3://bucket/homes", False),
        ("s3://bucket/home", "gs://bucket/home", False),
    ],
)
def test_a_home_holds_what_is_below_it(bucket: str | None, place: str, held: bool) -> None:
    home = Home(Path("home"), bucket=bucket)
    assert home.holds(Path(place)) is held


@pytest.mark.parametrize("name", ["kb?", "a\\b"])
def test_a_folder_below_which_no_database_opens_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"setting home: .*, where DuckDB keeps no database"):
        Home.of(load_settings(home=tmp_path / name))
    of_bucket = load_settings(home="s3://bucket/kb", database="postgresql://none", cache={"folder": tmp_path / name})
    with pytest.raises(SettingsError, match=r"setting cache\.folder: "):
        Home.of(of_bucket)


def test_a_folder_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"setting home: .*kb.udcff has a .udcff, where DuckDB keeps") as refused:
        Home.of(load_settings(home=os.fsdecode(bytes(tmp_path) + b"/kb\xff")))
    str(refused.value).encode()


def test_a_folder_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    loops = [tmp_path / "loop" / "home"] if sys.version_info < (3, 13) else []  # which is told when it is written
    for folder in (Path("~no such user/home"), *loops):
        with pytest.raises(SettingsError, match=r"setting home: .* leads nowhere: .*; name another"):
            Home.of(load_settings(home=folder))
        with pytest.raises(SettingsError, match=r"setting cache\.folder: .* leads nowhere"):
            Home.of(load_settings(home="s3://bucket/kb", database="postgresql://none", cache={"folder": folder}))


@pytest.mark.long
def test_a_home_with_signs_of_patterns_and_quotes_is_built_and_asked(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "O'Brien's kb[1]*" / "home", sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    (tmp_path / "O'Brien's kb1x").mkdir()
    build(settings, graph=True)
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.retrieve("gauge", mode="mix").chunks
        assert knowledge.sql("SELECT path FROM raw_documents")["path"].to_pylist() == ["river.md"]
        assert knowledge.cypher("MATCH (d:Document) RETURN d.path")
