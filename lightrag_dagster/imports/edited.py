"""Names that people edited or merged in LightRAG: those that its graph and the stored answers do not share."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.imports.json_stores import JsonStores
from lightrag_dagster.imports.stored import EditedName
from lightrag_dagster.stages.extraction.parsing import parse_response

_FILE = "graph_chunk_entity_relation.graphml"


class StoredGraph(NamedTuple):
    """The description of each name of a graph, and its `silent` names.

    These are of a chunk without an answer, so that what was edited is not known of them.
    """

    descriptions: dict[str, str]
    silent: set[str]


def read_graph(stores: JsonStores, is_silent: Callable[[str], bool]) -> StoredGraph | None:
    """Return the graph in a folder; None if there is none, or it is damaged.

    A chunk without an answer `is_silent`.
    """
    found, keys = StoredGraph({}, set()), dict[str, str]()
    try:
        if (path := stores.path(_FILE)) is None:
            raise ValueError("it is not in the folder, or is a link out of it")
        with path.open("rb") as file:
            for _, one in ElementTree.iterparse(file):
                kind, name = one.tag.rpartition("}")[2], one.get("id", "")
                if kind == "key" and one.get("for") == "node":
                    keys[name] = one.get("attr.name", "")
                elif kind == "node":
                    said = {keys.get(data.get("key", "")): data.text or "" for data in one}
                    found.descriptions[name] = said.get("description", "")
                    if any(map(is_silent, said.get("source_id", "").split("<SEP>"))):
                        found.silent.add(name)
                if kind in ("node", "edge"):
                    one.clear()
    except (LookupError, OSError, ValueError, ElementTree.ParseError) as error:
        stores.notes.append(f"{_FILE} cannot be read, so that names that were edited there are not known: {error}")
        return None
    return found


def edited_names(graph: StoredGraph, answers: Iterable[Sequence[str]], summaries: Iterable[str]) -> list[EditedName]:
    """Return the names that graph and answers do not share, and those with a description that no answer has."""
    names, texts = dict[str, str](), set(map(_letters, summaries))
    for records in (parse_response(one) for several in answers for one in several):
        said = [one.name for one in records.entities] + [
            name for one in records.relations for name in (one.src, one.tgt)
        ]
        names |= {name_key(name): name for name in said}
        texts |= {_letters(one.description) for one in records.entities}
    here = {name_key(name) for name in graph.descriptions}
    found = [EditedName(name, "answers") for key, name in names.items() if key not in here]
    for name, description in graph.descriptions.items():
        if name in graph.silent:
            continue
        if name_key(name) not in names:
            found.append(EditedName(name, "graph", description))
        elif not texts.issuperset(map(_letters, description.split("<SEP>"))):
            found.append(EditedName(name, "description", description))
    return sorted(found)


def _letters(text: str) -> str:
    """Return the letters and digits, which cleaning leaves as they are."""
    return "".join(filter(str.isalnum, text))
