"""CSV by the header rules of `neo4j-admin database import`; no server reads it here."""

import csv
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import given

from lightrag_dagster.exports.neo4j import SCRIPT, write_neo4j
from lightrag_dagster.exports.written import GRAPH_ALONE
from tests.exports.texts import HOSTILE, TEXTS, graph_of

FILES = ("entities.csv", "relations.csv")
TYPES: dict[str, Callable[[str], object]] = {
    "string": str,
    "long": int,
    "double": float,
    "string[]": lambda text: text.split(";"),
}
ROLES = {"ID", "LABEL", "START_ID", "END_ID", "TYPE"}


def checked(path: Path) -> list[dict[str, object]]:
    """Read a file as the manual says: the header has `name:type` and roles, each once, and fields fit their types."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file, strict=True)
    fields = [re.fullmatch(r"(\w*)(?::([\w\[\]]+))?", field) for field in header]
    assert all(fields), header
    names = [(one[1], one[2] or "string") for one in fields if one]
    assert len(set(header)) == len(header)
    assert all(role in ROLES or (name and role in TYPES) for name, role in names), header
    roles = sorted(role for _, role in names if role in ROLES)
    assert roles in (["ID", "LABEL"], ["END_ID", "START_ID", "TYPE"])
    assert {len(line) for line in lines} <= {len(header)}
    return [
        {
            role if role in ROLES else name: TYPES.get(role, str)(text)
            for (name, role), text in zip(names, line, strict=True)
        }
        for line in lines
    ]


def by_duckdb(path: Path) -> list[tuple[str, ...]]:
    options = "all_varchar = true, header = true, quote = '\"', escape = '\"', delim = ',', parallel = false"
    return duckdb.execute(f"FROM read_csv('{path}', {options})").fetchall()


def check(folder: Path, texts: Sequence[str]) -> None:
    entities, relations = (checked(folder / name) for name in FILES)
    for name in ("name", "type", "description"):
        assert [row[name] for row in entities] == list(texts)
    ids = [row["ID"] for row in entities]
    assert len(set(ids)) == len(ids)
    assert {row["LABEL"] for row in entities} == {"Entity"}
    assert [(row["START_ID"], row["END_ID"]) for row in relations] == list(pairwise(ids))
    assert [row["keywords"] for row in relations] == [row["description"] for row in relations] == list(texts[:-1])
    assert [row["weight"] for row in relations] == [0.1 + number for number in range(len(relations))]
    assert {row["TYPE"] for row in relations} <= {"RELATED"}


def test_every_hostile_text_comes_back(tmp_path: Path) -> None:
    written = write_neo4j(graph_of(tmp_path, HOSTILE), tmp_path)
    check(tmp_path, HOSTILE)
    assert [row[1] for row in by_duckdb(tmp_path / "entities.csv")] == list(HOSTILE)
    assert written.rows == {"entities.csv": len(HOSTILE), "relations.csv": len(HOSTILE) - 1}
    assert written.notes == (GRAPH_ALONE,)


@given(texts=TEXTS)
def test_any_text_comes_back(texts: list[str]) -> None:
    with TemporaryDirectory() as name:
        write_neo4j(graph_of(Path(name), texts), Path(name))
        check(Path(name), texts)


def test_the_command_names_the_files(tmp_path: Path) -> None:
    write_neo4j(graph_of(tmp_path, ["one"]), tmp_path)
    command = (tmp_path / SCRIPT).read_text()
    assert command.count("\n") == 1
    assert [name for name in FILES if f"={name} " in command] == list(FILES)
    assert "--multiline-fields=true" in command


@pytest.mark.parametrize(("sources", "split"), [(["a", "b c"], 0), (["a;b", "c", ";"], 2)])
def test_sources_are_a_list_and_those_with_its_delimiter_are_counted(
    tmp_path: Path, sources: list[str], split: int
) -> None:
    written = write_neo4j(graph_of(tmp_path, ["one", "two"], sources), tmp_path)
    for name in FILES:
        assert all(row["sources"] == ";".join(sources).split(";") for row in checked(tmp_path / name))
    said = f"sources whose name has a semicolon, which Neo4j takes for several: {split}"
    assert written.notes == ((GRAPH_ALONE, said) if split else (GRAPH_ALONE,))


def test_a_folder_with_quotes_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "here"'
    folder.mkdir()
    assert write_neo4j(graph_of(tmp_path, ["one"]), folder).rows == {"entities.csv": 1, "relations.csv": 0}
    assert checked(folder / "relations.csv") == []
