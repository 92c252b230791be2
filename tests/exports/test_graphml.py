import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import pytest
from hypothesis import given

from lightrag_dagster.exports.graphml import FILE, write_graphml
from lightrag_dagster.exports.written import GRAPH_ALONE
from lightrag_dagster.indexes import views as views_module
from tests.exports.texts import HOSTILE, TEXTS, graph_of

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def in_xml(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)


def test_every_hostile_text_comes_back(tmp_path: Path) -> None:
    written = write_graphml(graph_of(tmp_path, HOSTILE), tmp_path)
    graph = nx.read_graphml(tmp_path / FILE)
    assert type(graph) is nx.Graph, "neither directed nor with parallel edges"
    names = [in_xml(text) for text in HOSTILE]
    nodes = [data for _, data in sorted(graph.nodes(data=True))]
    for attribute in ("Label", "type", "description"):
        assert [node[attribute] for node in nodes] == names
    edges = sorted((data for _, _, data in graph.edges(data=True)), key=lambda data: data["mentions"])
    assert [edge["Label"] for edge in edges] == [edge["description"] for edge in edges] == names[:-1]
    assert [edge["Weight"] for edge in edges] == [0.1 + number for number in range(len(edges))]
    assert {edge["sources"] for edge in edges} == {node["sources"] for node in nodes} == {"notes"}
    assert written.rows == {FILE: len(nodes) + len(edges)}
    lost = 3 * sum(len(NOT_XML.findall(text)) for text in HOSTILE)
    lost += 2 * sum(len(NOT_XML.findall(text)) for text in HOSTILE[:-1])
    assert written.notes == (GRAPH_ALONE, f"characters that XML cannot hold, written as U+FFFD: {lost}")


@given(texts=TEXTS)
def test_any_text_comes_back(texts: list[str]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_graphml(graph_of(folder, texts), folder)
        nodes = nx.read_graphml(folder / FILE).nodes(data=True)
    assert [data["Label"] for _, data in sorted(nodes)] == [in_xml(text) for text in texts]


def test_without_losses_nothing_is_counted(tmp_path: Path) -> None:
    written = write_graphml(graph_of(tmp_path, ["one", "two"]), tmp_path)
    assert written.notes == (GRAPH_ALONE,)
    text = (tmp_path / FILE).read_text("utf-8")
    keys = re.findall(r'<key id="(\w+)" for="(\w+)" attr.name="(\w+)" attr.type="(\w+)"/>', text)
    assert {("label", "node", "Label", "string"), ("weight", "edge", "Weight", "double")} <= set(keys)
    assert len({key for key, *_ in keys}) == len(keys) == 11


def test_a_graph_without_entities_is_a_file_all_the_same(tmp_path: Path) -> None:
    assert write_graphml(graph_of(tmp_path, []), tmp_path).rows == {FILE: 0}
    assert len(nx.read_graphml(tmp_path / FILE)) == 0


@pytest.mark.parametrize("bound", ["SMALL_ROWS", "_ROWS_IN_MEMORY"])
def test_a_large_graph_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    generation = graph_of(tmp_path, HOSTILE)
    contents = []
    for folder in (tmp_path / "small", tmp_path / "large"):
        folder.mkdir()
        write_graphml(generation, folder)
        contents.append((folder / FILE).read_bytes())
        monkeypatch.setattr(views_module, "SMALL_ROWS", 0)
        monkeypatch.setattr(views_module, bound, 0)
    assert contents[0] == contents[1]


READ = """
const Graph = require('graphology').UndirectedGraph
const graphml = require('graphology-graphml')
const graph = graphml.parse(Graph, require('fs').readFileSync(process.argv[2], 'utf-8'))
const nodes = graph.mapNodes((id, data) => [id, data]), edges = graph.mapEdges((id, data) => data)
process.stdout.write(JSON.stringify([nodes, edges]))
"""


@pytest.mark.long
def test_graphology_reads_it(tmp_path: Path) -> None:
    """GRAPHOLOGY is a folder with the npm packages graphology and graphology-graphml."""
    packages = os.environ.get("GRAPHOLOGY")
    if packages is None or shutil.which("node") is None:
        pytest.skip("needs node, and the variable GRAPHOLOGY")
    import json

    write_graphml(graph_of(tmp_path, HOSTILE), tmp_path)
    (tmp_path / "read.js").write_text(READ)
    read = subprocess.run(
        ["node", tmp_path / "read.js", tmp_path / FILE],
        env=os.environ | {"NODE_PATH": f"{packages}/node_modules"},
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    )
    nodes, edges = json.loads(read.stdout)
    assert [data["Label"] for _, data in sorted(nodes)] == [in_xml(text) for text in HOSTILE]
    assert sorted(data["Weight"] for data in edges) == [0.1 + number for number in range(len(HOSTILE) - 1)]
