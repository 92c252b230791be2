"""Texts that formats are known to break, and a graph that has them everywhere."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from lightrag_dagster.core import identity
from lightrag_dagster.fact_schemas import FACT_EVIDENCE, MERGED_FACTS
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.storage.corpus import inputs_of, rows, store_tables

HOSTILE = (
    "]]>",
    "<![CDATA[ &amp; <b>",
    "<!-- & -->",
    '"quoted", "twice"',
    'ends with "',
    "a;b;c",
    "comma, semicolon; tab\there",
    "carriage\rreturn",
    "line\r\nends\n",
    "\n\n",
    "  blanks around  ",
    " ",
    "\u00a0\u2028\u2029\u0085",
    "\x00",
    "\x01\x08\x0b\x0c\x1f\x7f",
    "\ufffe\uffff\ufffd\ufeff",
    "\U0001f30a\U0010ffff 日本 עברית",
    "e\u0301 \u202e tfel",
    "\\ \\n \\\" '",
    "=1+1",
    "NULL",
    "x" * 10_000,
    "水" * 10_000,
)

TEXTS = st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=8, unique=True)


def graph_of(
    folder: Path,
    texts: Sequence[str],
    sources: Sequence[str] = ("notes",),
    facts: Sequence[Mapping[str, Any]] | None = None,
    evidence: Sequence[Mapping[str, Any]] = (),
) -> Generation:
    """Return a generation whose entities have these names, and whose relations, each to the next, these keywords.

    Given facts, it merges a pass; their ends are positions of entities.
    """
    home = Home(folder / "home")
    ids = sorted(identity.digest(str(number)) for number in range(len(texts)))
    entities: list[Mapping[str, Any]] = [
        {"entity_id": f"ent-{one}", "name": text, "type": text, "description": text, "sources": list(sources)}
        for one, text in zip(ids, texts, strict=True)
    ]
    relations: list[Mapping[str, Any]] = [
        {
            "relation_id": f"rel-{number:03}",
            "src_id": one["entity_id"],
            "tgt_id": other["entity_id"],
            "keywords": one["name"],
            "description": one["name"],
            "weight": 0.1 + number,
            "mention_count": number,
            "sources": list(sources),
        }
        for number, (one, other) in enumerate(pairwise(entities))
    ]
    found: dict[str, list[Mapping[str, Any]]] = {
        "entities": entities,
        "relations": relations,
        "entity_evidence": [],
        "relation_evidence": [],
    }
    tables = {table: rows(schema, found[table]) for table, schema in MERGED_TABLES.items()}
    if facts is not None:
        ends = [
            {end: f"ent-{ids[one[end]]}" for end in ("subject_id", "object_id") if one.get(end) is not None}
            for one in facts
        ]
        tables["merged_facts"] = rows(MERGED_FACTS, [{**one, **of} for one, of in zip(facts, ends, strict=True)])
        tables["fact_evidence"] = rows(FACT_EVIDENCE, evidence)
    return store_tables(home, inputs_of(home), tables)
