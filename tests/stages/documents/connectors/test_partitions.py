"""The partitions of an upstream asset as places of documents."""

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import duckdb
import pytest
import sqlalchemy
from pydantic import ValidationError

from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.settings import SourceSettings, load_settings
from lightrag_dagster.settings.sources import RowsSettings
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned, folder_of
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source

DAYS = {"2026-01-01": ["1", "2"], "2026-01-02": ["1"], "2026-01-03": []}
ROWS = [{"id": id, "text": f"{id} of {day}", "day": day} for day, ids in DAYS.items() for id in ids]


def files(folder: Path) -> dict[str, Any]:
    for day, ids in DAYS.items():
        (folder / day).mkdir()
        for id in ids:
            (folder / day / f"{id}.md").write_text(f"{id} of {day}")
    return {"uri": f"{folder}/{{partition}}/**/*.md"}


def archives(folder: Path) -> dict[str, Any]:
    for day, ids in DAYS.items():
        with ZipFile(folder / f"{day}.zip", "w") as archive:
            archive.writestr(".hidden", "")  # one without entries counts as missing
            for id in ids:
                archive.writestr(f"{id}.md", f"{id} of {day}")
    return {"uri": f"zip::{folder}/{{partition}}.zip"}


def file_of_rows(folder: Path) -> dict[str, Any]:
    for day in DAYS:
        (folder / f"{day}.jsonl").write_text("\n".join(json.dumps(row) for row in ROWS if row["day"] == day))
    return {"uri": f"{folder}/{{partition}}.jsonl", "rows": {}}


def duckdb_query(folder: Path) -> dict[str, Any]:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE pages (id TEXT, text TEXT, day DATE)")
        connection.executemany("INSERT INTO pages VALUES ($id, $text, $day)", ROWS)
    query = "SELECT * FROM pages WHERE day = CAST({partition} AS DATE)"
    return {"uri": str(folder / "rows.duckdb"), "rows": {"query": query}}


def sqlite_query(folder: Path) -> dict[str, Any]:
    engine = sqlalchemy.create_engine(f"sqlite:///{folder}/rows.sqlite")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE pages (id TEXT, text TEXT, day TEXT)"))
        connection.execute(sqlalchemy.text("INSERT INTO pages VALUES (:id, :text, :day)"), ROWS)
    engine.dispose()
    query = "SELECT * FROM pages WHERE day = {partition} AND day >= {partition}"
    return {"uri": "$PAGES_URL", "rows": {"query": query}}


def source_of(named: dict[str, Any], partitions: list[str] | None) -> Source:
    versions = None if partitions is None else dict.fromkeys(partitions, "1")
    return Source("pages", Partitioned("pages", SourceSettings(asset="crawl/pages", **named), versions))


@pytest.mark.parametrize("write", [files, archives, file_of_rows, duckdb_query, sqlite_query])
def test_paths_begin_with_the_partition_in_every_kind_of_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], dict[str, Any]]
) -> None:
    monkeypatch.setenv("PAGES_URL", f"sqlite:///{tmp_path}/rows.sqlite")
    source = pickle.loads(pickle.dumps(source_of(write(tmp_path), list(DAYS))))
    found = {one.path.removesuffix(".md"): source.origin.read(one, 100) for one in list_files(source)}
    assert found == {f"{row['day']}/{row['id']}": row["text"].encode() for row in ROWS}
    (only,) = list_files(
        source_of(source.origin.settings.model_dump(exclude={"asset"}, exclude_unset=True), ["2026-01-02"])
    )
    assert only.path.removesuffix(".md") == "2026-01-02/1"


@pytest.mark.parametrize(
    "place", ["{partition.day}/{partition.language}.md", "{partition.language}/{partition.day}.md"]
)
def test_dimensions_are_told_by_their_names(tmp_path: Path, place: str) -> None:
    file = tmp_path / place.replace("{partition.day}", "2026-01-01").replace("{partition.language}", "de")
    file.parent.mkdir()
    file.write_text("Text.")
    (only,) = list_files(source_of({"uri": f"{tmp_path}/{place}"}, ["2026-01-01|de"]))  # in order of the names
    assert only.path == f"2026-01-01|de/{file.name}"


@pytest.mark.parametrize(
    "key",
    ["..", "a/../../b", "/etc", "a//b", "*", "a?", "[a]", "%2e%2e", "~root", ".secret", "a/.b", "b::zip", "a\n", ""],
)
def test_a_key_that_may_lead_elsewhere_is_in_no_uri(tmp_path: Path, key: str) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(SourceError, match=r"cannot be a part of a uri, since it may lead elsewhere; rename it"):
        list(list_files(source_of({"uri": f"{tmp_path}/a/{{partition}}"}, [key])))


@pytest.mark.parametrize("key", ["x' OR '1' = '1", "2026-01-01' --", "2026-01-01; DROP TABLE pages", "{partition}"])
@pytest.mark.parametrize("write", [duckdb_query, sqlite_query])
def test_a_key_in_a_query_is_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, write: Callable[[Path], dict[str, Any]]
) -> None:
    monkeypatch.setenv("PAGES_URL", f"sqlite:///{tmp_path}/rows.sqlite")
    named = write(tmp_path)
    named["rows"]["query"] = named["rows"]["query"].replace("CAST({partition} AS DATE)", "{partition}::TEXT")
    named["rows"]["query"] = named["rows"]["query"].replace("day = {", "CAST(day AS TEXT) = {")
    assert list(list_files(source_of(named, [key]))) == []
    assert len(list(list_files(source_of(named, list(DAYS))))) == len(ROWS)


def test_no_two_partitions_have_the_same_paths() -> None:
    keys = ["a", "a/b", "a%2Fb", "a%252Fb", "ä", "\n", "\\n", "a|b", "\udc80"]
    assert len({folder_of(key) for key in keys}) == len(keys)
    assert not any("/" in folder_of(key) or "\n" in folder_of(key) for key in keys)
    assert folder_of("2026-01-01") == "2026-01-01"


@pytest.mark.parametrize(
    ("uri", "partitions", "reason"),
    [
        (
            "{partition}",
            None,
            "none is known yet; set DAGSTER_HOME to the instance that materialises it, and run again",
        ),
        ("{partition}", ["2026-01-01"], r"partition '2026-01-01': .*No such file.*; nothing was changed"),
        (
            "{partition.day}/{partition.hour}",
            ["a"],
            r"names the dimensions day, hour, and partition 'a' of crawl/pages has",
        ),
        ("{partition.day}", ["a|b"], r"names the dimensions day, .* has 2; name all of them, or write {partition}"),
    ],
)
def test_partitions_that_cannot_be_read_say_why(
    tmp_path: Path, uri: str, partitions: list[str] | None, reason: str
) -> None:
    with pytest.raises(SourceError, match=reason):
        list(list_files(source_of({"uri": f"{tmp_path}/{uri}"}, partitions)))


@pytest.mark.parametrize(
    ("days", "reason"),
    [
        (["2026-01-04"], r"partition '2026-01-04': [^;]*; "),
        (["2026-01-04", "2026-01-05"], r"partition '2026-01-04': .*; 1 more cannot be read, such as '2026-01-05'; "),
        (
            ["2026-01-04", "2026-01-05", "2026-01-06"],
            r"partition '2026-01-04': .*; 2 more cannot be read, such as '2026-01-05'; ",
        ),
    ],
)
@pytest.mark.parametrize("write", [files, archives, file_of_rows])
def test_missing_partitions_cost_themselves_and_are_counted(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    write: Callable[[Path], dict[str, Any]],
    days: list[str],
    reason: str,
) -> None:
    named = write(tmp_path)
    found = list(list_files(source_of(named, ["2026-01-01", *days, "2026-01-02"])))
    assert [one.path for one in found if one.refused] == days
    read = [one.path.removesuffix(".md") for one in found if not one.refused]
    assert sorted(read) == ["2026-01-01/1", "2026-01-01/2", "2026-01-02/1"]
    (line,) = caplog.messages
    assert re.search(f"source pages: {reason}the documents read before stay", line)
    with pytest.raises(SourceError, match=f"{reason}nothing was changed"):
        list(list_files(source_of(named, days)))


def test_a_partition_of_which_a_part_can_be_read_is_not_read(tmp_path: Path) -> None:
    for day in DAYS:
        (tmp_path / day).mkdir()
        (tmp_path / day / "1.jsonl").write_text(json.dumps({"id": "1", "text": day}))
    (tmp_path / "2026-01-02" / "2.jsonl").write_text("no JSON")
    found = list(list_files(source_of({"uri": f"{tmp_path}/{{partition}}", "rows": {}}, list(DAYS))))
    assert {one.path for one in found if not one.refused} == {"2026-01-01/1", "2026-01-03/1"}
    (refused,) = (one for one in found if one.refused)
    assert re.match(r"partition '2026-01-02': .*2\.jsonl: ", refused.refused or "")


@pytest.mark.parametrize("rows", [{}, {"rows": {}}])
def test_a_link_out_of_the_folder_is_no_partition(tmp_path: Path, rows: dict[str, Any]) -> None:
    suffix, lake = ".jsonl" if rows else "", tmp_path / "lake"
    for folder in (lake, tmp_path / "elsewhere"):
        for name in ("a", "b"):
            file = folder / f"{name}{suffix}" if rows else folder / name / "1.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"id": "1", "text": name}))
    (lake / f"out{suffix}").symlink_to(tmp_path / "elsewhere" / f"a{suffix}")
    (lake / f"in{suffix}").symlink_to(lake / f"a{suffix}")
    (tmp_path / "link").symlink_to(lake)
    listed = list(list_files(source_of({"uri": f"{tmp_path}/link/{{partition}}{suffix}", **rows}, ["a", "in", "out"])))
    refused = {one.path: one.refused or "" for one in listed if one.refused}
    assert refused.pop("out").startswith("partition 'out': symbolic link that leads out of the source")
    assert not refused
    assert {one.path.partition("/")[0] for one in listed if not one.refused} == {"a", "in"}


def test_a_place_that_fails_for_many_partitions_is_not_asked_for_all(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text("")
    for day in range(1, 40):
        (tmp_path / f"{day}.jsonl").write_text("no JSON")
    with pytest.raises(SourceError, match=r"partition '1': .*; 10 more cannot be read, such as '2'"):
        list(list_files(source_of({"uri": f"{tmp_path}/{{partition}}.jsonl", "rows": {}}, [str(n) for n in range(40)])))


QUERY = "SELECT * FROM pages WHERE day = "


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"uri": "/srv/{partition}"}, r"name it, as in asset: crawl/pages"),
        ({"uri": "/srv/{partition}/{partition.day}", "asset": "a"}, r"either {partition} or its dimensions"),
        ({"uri": "/a.db", "asset": "a", "rows": {"query": f"{QUERY}'{{partition}}'"}}, r"without quotes: it is bound"),
        (
            {"uri": "/a.db", "asset": "a", "rows": {"query": f'{QUERY}"{{partition.day}}"'}},
            r"{partition.day} without quotes",
        ),
        (
            {"uri": "/{partition}.csv", "asset": "a", "rows": {"watermark": "day"}},
            r"either {partition} or rows.watermark",
        ),
        ({"uri": "/srv/{day}.md", "asset": "a"}, r"uri: {day} is not replaced; write {partition}, or a dimension"),
        ({"uri": "/srv", "asset": "a", "include": ["{partition}/*.md"]}, r"{partition} is not replaced in patterns"),
        ({"uri": "/srv/{partition}", "asset": "a", "exclude": ["{partition.day}"]}, r"{partition} in uri"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(named: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        SourceSettings(**named)


@pytest.mark.parametrize(
    "place",
    [
        "{partitions}",
        "{Partition}",
        "{partiton.day}",
        "{ partition }",
        "{partition.}",
        "{partition_key}",
    ],
)
def test_a_misspelled_partition_is_refused_by_the_name_of_its_setting(tmp_path: Path, place: str) -> None:
    sources = {"pages": {"asset": "crawl/pages", "uri": f"/srv/{{partition.language}}/{place}"}}
    with pytest.raises(SettingsError) as caught:
        load_settings(home=tmp_path, named_sources=sources)
    said = f"setting named_sources.pages: uri: {place} is not replaced; write {{partition}}, or"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("setting", ["include", "exclude"])
def test_a_partition_in_a_pattern_is_refused_by_the_name_of_its_setting(tmp_path: Path, setting: str) -> None:
    sources = {"pages": {"asset": "crawl/pages", "uri": "/srv/{partition}", setting: ["{partition}/*.md"]}}
    with pytest.raises(SettingsError) as caught:
        load_settings(home=tmp_path, named_sources=sources)
    said = f"setting named_sources.pages.{setting}: {{partition}} is not replaced in patterns; write"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("literal", ["{'partition': day}", "{partition: day}", "{part}", "{portal}", "{}"])
def test_other_braces_stay(literal: str) -> None:
    assert SourceSettings(uri="/a.db", rows=RowsSettings(query=QUERY + literal)).query == QUERY + literal
    assert SourceSettings(uri=f"/srv/{literal}", include=(literal,)).uri == f"/srv/{literal}"
