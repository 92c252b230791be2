"""A small home with facts of the columns of two tables, and one of them alone."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource
from lightrag_dagster.testing.building import build_knowledge_base

CANARY = "Xanthic"
TABLES = {
    "crm": """id,company,chief,revenue,seat,listed,since,until
1,Orrin Instruments,Jonas Feld,1200,Bergen,no,2019-01,
2,Orrin Instruments,Priya Nair,1500,,yes,2021-06,
3,Orrin Instruments,Marta Lindqvist,1700,Bergen,,2024,
4,Halden Weir,Marta Lindqvist,20,,,2020-02-10,2020-12-31
5,Orrin Instruments,Ada Holm,,,,,
6,Bergen Ferry,Ada Holm,,,,2020-03,
7,Bergen Ferry,Jonas Feld,,,,2020-03,
8,Tarn Mill,Ines Quell,,,,soon,
""",
    "secret": f"""id,company,chief,revenue,seat,listed,since,until
9,Orrin Instruments,{CANARY} Vane,97310044,{CANARY} Bay,,2022-03,
""",
}
DOCUMENTS = {"notes/a.md": "Orrin Instruments is led by Jonas Feld in Bergen. Halden Weir is old."}
_ABOUT = {"subject": "company", "subject_type": "company", "valid_from": "since", "valid_to": "until"}
FACTS: list[dict[str, Any]] = [
    _ABOUT | {"relation": "chief_executive", "object": "chief", "object_type": "person", "single": True},
    _ABOUT | {"relation": "revenue", "value": "revenue", "unit": "EUR"},
    _ABOUT | {"relation": "seat", "object": "seat", "object_type": "place", "single": True},
    _ABOUT | {"relation": "listed", "value": "listed", "kind": "yes/no"},
    _ABOUT | {"relation": "known_since", "value": "since", "kind": "date"},
]


def build_home(folder: Path, tables: Collection[str] = tuple(TABLES), **settings: Any) -> KnowledgeBaseResource:
    """Build and publish the notes and some of the tables."""
    named = {}
    for name in tables:
        file = folder / f"{name}.csv"
        file.write_text(TABLES[name])
        named[name] = {"uri": str(file), "rows": {"text": "{company} is known.", "facts": FACTS}}
    return build_knowledge_base(folder, DOCUMENTS, named_sources=named, **settings)
