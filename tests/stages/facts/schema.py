"""A schema and a passage that tests of facts share."""

import json
from typing import Any

from lightrag_dagster.stages.facts.passes import Pass

OFFICES = Pass.model_validate(
    {
        "name": "offices",
        "types": ["Person", "Company", "place"],
        "relations": {
            "chief_executive": {"from": "Person", "to": "Company", "dated": True, "single": True},
            "located_in": {"from": ["Company", "Person"], "to": ["place"], "description": "Where it is."},
            "owns": {"from": "Company", "to": ["Company", "place"]},
            "revenue": {"from": "Company", "value": "number", "unit": "EUR", "dated": True},
            "founded": {"from": "Company", "value": "date"},
            "slogan": {"from": "Company", "value": "text", "example": "“We pay.”"},
            "listed": {"from": "Company", "value": "yes/no"},
        },
    }
)
PASSAGE = (
    "Ada Berg has led **Acme** since May 2021. Acme, of Bonn, was founded on 3 April 1999. Its revenue in 2023 was "
    "€ 3.2 million; it sold 40 units last year. “We  pay.” is its slogan. It is listed."
)
ROW = {
    "words": "Ada Berg has led **Acme** since May 2021.",
    "subject": "Ada Berg",
    "subject_type": "Person",
    "relation": "chief_executive",
    "object": "Acme",
    "object_type": "Company",
    "value": "",
    "when": "since May 2021",
}


def row(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (ROW | changes).items() if value is not None}


def answer(*rows: object) -> str:
    return json.dumps({"facts": rows}, ensure_ascii=False)
