"""Names that people edited or merged in LightRAG: what its graph has and the stored answers do not yield."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.imports.json_stores import JsonStores
from lightrag_dagster.imports.stored import EditedName
from lightrag_dagster.stages.extraction.parsing import parse_response

_FILE = "graph_chunk_entity_relation.graphml"
_SEPARATOR = "<SEP>"
_HEAD = 4096
_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


class Graph(NamedTuple):
    """The description of each name of a graph, and the number of its pairs."""

    descriptions: dict[str, str]
    pairs: int


def read_graph(stores: JsonStores) -> Graph | None:
    """Return the graph in a folder; None if there is none, or it is damaged."""
    path = stores.path(_FILE)
    if path is None:
        stores.note(f"{_FILE} is not there, so that nothing is known of names that were edited there")
        return None
    described, pairs, key = dict[str, str](), 0, None
    try:
        with path.open("rb") as file:
            before, begin, _ = file.read(_HEAD).partition(b"<graphml")
            if not begin or b"<!" in before:  # a document type could name entities that grow
                raise ValueError("it does not begin as GraphML")
            file.seek(0)
            for _, one in ElementTree.iterparse(file):
                if one.tag == f"{_GRAPHML}key" and (one.get("for"), one.get("attr.name")) == ("node", "description"):
                    key = one.get("id")
                elif one.tag == f"{_GRAPHML}node":
                    found = (data.text for data in one if data.get("key") == key)
                    described[one.get("id", "")] = next(found, None) or ""
                    one.clear()
                elif one.tag == f"{_GRAPHML}edge":
                    pairs += 1
                    one.clear()
    except (OSError, ValueError, ElementTree.ParseError) as error:
        stores.note(f"{_FILE} is damaged, so that nothing is known of names that were edited there: {error}")
        return None
    return Graph(described, pairs)


def edited_names(graph: Graph, answers: Iterable[Sequence[str]], summaries: Iterable[str]) -> list[EditedName]:
    """Return the names that graph and answers do not share, and those whose description no answer or summary has."""
    names, texts = dict[str, str](), set(map(_letters, summaries))
    for one in answers:
        for records in map(parse_response, one):
            for entity in records.entities:
                names.setdefault(name_key(entity.name), entity.name)
                texts.add(_letters(entity.description))
            for relation in records.relations:
                names.setdefault(name_key(relation.src), relation.src)
                names.setdefault(name_key(relation.tgt), relation.tgt)
                texts.add(_letters(relation.description))
    here = {name_key(name) for name in graph.descriptions}
    found = [EditedName(name, "answers") for key, name in names.items() if key not in here]
    for name, description in graph.descriptions.items():
        if name_key(name) not in names:
            found.append(EditedName(name, "graph", description))
        elif not all(_letters(part) in texts for part in description.split(_SEPARATOR)):
            found.append(EditedName(name, "description", description))
    return sorted(found)


def _letters(text: str) -> str:
    """Return the letters and digits, which cleaning leaves as they are."""
    return "".join(filter(str.isalnum, text))
