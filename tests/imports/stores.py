"""Hand-made working directories of LightRAG, in the shapes of its versions."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.loopback import END_MARK
from tests.support import FLOOD, OFFICE

TEXTS = {"notes.txt": FLOOD, "office.pdf": OFFICE}
ANSWERS = {
    FLOOD: [
        "entity<|#|>Priya Nair<|#|>person<|#|>Priya Nair repairs sensors.\n"
        "entity<|#|>Station 14<|#|>location<|#|>Station 14 has a sensor.\n"
        "relation<|#|>Priya Nair<|#|>Station 14<|#|>repair<|#|>She repaired the sensor at Station 14.\n" + END_MARK,
        "entity<|#|>Sensor<|#|>artifact<|#|>The sensor was repaired.\n" + END_MARK,
    ],
    OFFICE: [
        "entity<|#|>Jonas Feld<|#|>person<|#|>Jonas Feld leads the office.\n"
        "entity<|#|>Bergen<|#|>location<|#|>Bergen has an office.\n"
        "relation<|#|>Jonas Feld<|#|>Bergen<|#|>leads<|#|>Jonas Feld leads the office in Bergen.\n" + END_MARK
    ],
}  # fmt: skip


def rows_of(texts: Mapping[str, str], answers: Mapping[str, Sequence[str]] = ANSWERS) -> dict[str, dict[str, Any]]:
    """Return the rows of each store of 1.5.7 for documents of one chunk."""
    stores: dict[str, dict[str, Any]] = {"full_docs": {}, "text_chunks": {}, "llm_response_cache": {}}
    for name, text in texts.items():
        doc, keys = f"doc-{hashlib.md5(name.encode()).hexdigest()}", list[str]()
        for number, answer in enumerate(answers.get(text, ())):
            key = f"default:extract:{hashlib.md5(f'{text}{number}'.encode()).hexdigest()}"
            stores["llm_response_cache"][key] = {
                "return": answer,
                "cache_type": "extract",
                "chunk_id": f"{doc}-chunk-000",
                "original_prompt": "sk-a-secret",
            }
            keys.append(key)
        stores["full_docs"][doc] = {"content": text, "file_path": name}
        stores["text_chunks"][f"{doc}-chunk-000"] = {
            "content": text.strip(),
            "full_doc_id": doc,
            "file_path": name,
            "llm_cache_list": keys,
        }
    return stores


def write_json(folder: Path, stores: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write stores as LightRAG does."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in stores.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(rows, indent=2, ensure_ascii=False), "utf-8")
    return folder


def write_lines(folder: Path, stores: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write stores as lines of JSON, as mongoexport does."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in stores.items():
        lines = (json.dumps({"_id": key, **row}) + "\n" for key, row in rows.items())
        (folder / f"kv_store_{name}.jsonl").write_text("".join(lines), "utf-8")
    return folder


def write_vectors(folder: Path, vectors: Mapping[str, Sequence[float]]) -> None:
    """Write vectors of chunks by their texts."""
    matrix = np.asarray(list(vectors.values()), "<f4")
    held = {"embedding_dim": matrix.shape[1], "data": [{"__id__": str(i), "content": t} for i, t in enumerate(vectors)]}
    held["matrix"] = base64.b64encode(matrix.tobytes()).decode()
    (folder / "vdb_chunks.json").write_text(json.dumps(held))


def write_graph(folder: Path, described: Mapping[str, str], pairs: Sequence[tuple[str, str]] = ()) -> None:
    """Write a graph as NetworkX does."""
    nodes = "".join(f'<node id="{name}"><data key="d2">{said}</data></node>' for name, said in described.items())
    edges = "".join(f'<edge source="{one}" target="{other}"/>' for one, other in pairs)
    key = '<key id="d2" for="node" attr.name="description" attr.type="string" />'
    graph = f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{key}<graph>{nodes}{edges}</graph></graphml>'
    (folder / "graph_chunk_entity_relation.graphml").write_text(
        f"<?xml version='1.0' encoding='utf-8'?>\n{graph}", "utf-8"
    )
