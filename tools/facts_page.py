"""Serve what docs/facts.md was made with: `python -m tools.facts_page FOLDER`, from the root.

It writes the documents, the schema and the settings of that page into a folder, and answers as a model might that now
and then says what a document does not. Run the commands of the page in that folder while it serves.
"""

import json
import sys
from pathlib import Path
from threading import Event
from typing import Any

from tests.loopback import END_MARK, serving

DOCUMENTS = {
    "contracts/lease-2021.md": """# Lease of Quay 4

Sollen Harbour Estates lets Quay 4 to Ostrel Ferries. The rent is 48,000 EUR a year from 1 April 2021. Quay 4 may not be
sublet. For Ostrel Ferries: Maren Tolk, chief executive since January 2019.
""",
    "contracts/amendment-2023.md": """# Amendment to the lease of Quay 4

From 1 July 2023 the rent of Quay 4 is 52,500 EUR a year. All else stays as it was agreed. For Ostrel Ferries: Idris
Vane, who has been chief executive of Ostrel Ferries since March 2022.
""",
    "filings/annual-report-2023.md": """# Annual report 2023 of Ostrel Ferries

Revenue was 3.2 million EUR in 2023, after 2.9 million EUR in 2022. The rent of Quay 4 rose to 51,000 EUR in July 2023.
Idris Vane leads the company. A second boat was bought last spring.
""",
}

SCHEMA = """types:
  company: A firm, or an office that signs contracts.
  person: A human being by name.
  place: A quay, building or plot that is let.
relations:
  chief executive:
    from: company
    to: person
    dated: true
    single: true
    description: Who leads the company.
  landlord:
    from: place
    to: company
  rent:
    from: place
    value: number
    unit: EUR
    dated: true
    single: true
    description: Rent of a year.
    example: "the rent of Quay 2 is 40,000 EUR from May 2020 → Quay 2, rent, 40,000 EUR, from May 2020"
  revenue:
    from: company
    value: number
    unit: EUR
    dated: true
    single: true
  sublet:
    from: place
    value: yes/no
    description: Whether it may be let to others.
  bought:
    from: company
    value: text
    dated: true
"""

SETTINGS = """readings: readings
llm:
  provider: openai
  model: served-here
  prices:
    served-here: {input: 0.15, output: 0.6}
extraction:
  max_rejected_share: 0.3
embedding:
  provider: offline
"""

FACTS: list[dict[str, str]] = []
"""Facts that the answers have, wherever their words stand in the passage; some of them nowhere."""


def fact(relation: str, subject: str, end: str, words: str, when: str = "") -> None:
    """Add a fact, as a model writes it."""
    FACTS.append({"words": words, "subject": subject, "relation": relation, "object": end, "value": end, "when": when})


fact("landlord", "Quay 4", "Sollen Harbour Estates", "Sollen Harbour Estates lets Quay 4 to Ostrel Ferries.")
fact("rent", "Quay 4", "48,000 EUR", "The rent is 48,000 EUR a year from 1 April 2021.", "from 1 April 2021")
fact("sublet", "Quay 4", "no", "Quay 4 may not be sublet.")
fact("chief executive", "Ostrel Ferries", "Maren Tolk", "Maren Tolk, chief executive since January 2019",
     "since January 2019")  # fmt: skip
fact("tenant", "Quay 4", "Ostrel Ferries", "Sollen Harbour Estates lets Quay 4 to Ostrel Ferries.")
fact("rent", "Quay 4", "52,500 EUR", "From 1 July 2023 the rent of Quay 4 is 52,500 EUR a year.", "From 1 July 2023")
fact("chief executive", "Ostrel Ferries", "Idris Vane", "chief executive of Ostrel Ferries since March 2022",
     "since March 2022")  # fmt: skip
fact("rent", "Quay 4", "55,000 EUR", "the rent of Quay 4 is 52,500 EUR a year", "From 1 July 2023")
fact("revenue", "Ostrel Ferries", "3.2 million EUR", "Revenue was 3.2 million EUR in 2023", "2023")
fact("revenue", "Ostrel Ferries", "2.9 million EUR", "after 2.9 million EUR in 2022", "2022")
fact("rent", "Quay 4", "51,000 EUR", "The rent of Quay 4 rose to 51,000 EUR in July 2023.", "July 2023")
fact("chief executive", "Ostrel Ferries", "Idris Vane", "Idris Vane leads the company.")
fact("chief executive", "Ostrel Ferries", "Idris Vane", "Idris Vane is the chief executive of Ostrel Ferries.")
fact("bought", "Ostrel Ferries", "A second boat", "A second boat was bought last spring.", "last spring")

FOUND = f"""entity<|#|>Quay 4<|#|>location<|#|>Quay 4 is let to Ostrel Ferries.
entity<|#|>Ostrel Ferries<|#|>organization<|#|>Ostrel Ferries rents Quay 4.
relation<|#|>Ostrel Ferries<|#|>Quay 4<|#|>tenancy<|#|>Ostrel Ferries is the tenant of Quay 4.
{END_MARK}"""
"""The answer of the reading for entities."""

TOLD = {
    "# Lease of": (0, 1, 2, 3, 4), "# Amendment": (5, 6, 7), "# Annual": (8, 9, 10, 11, 12, 13),
}  # fmt: skip
"""The beginning of a passage, and the facts that are told of it."""


def answer(body: dict[str, Any]) -> str:
    """Answer a pass with the facts of its passage, and the reading for entities with three rows."""
    system, *_, last = (message["content"] for message in body["messages"])
    if "Types of subjects and objects" not in system:
        return FOUND
    told = next((places for start, places in TOLD.items() if start in last), ())
    return json.dumps({"facts": [FACTS[place] for place in told]})


def main(folder: Path) -> None:
    """Write the files, and serve until it is interrupted."""
    files = {f"sources/{path}": text for path, text in DOCUMENTS.items()}
    for path, text in (files | {"readings/contracts.yaml": SCHEMA}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with serving() as provider:
        provider.chat = answer
        (folder / "env").write_text(f"export OPENAI_BASE_URL={provider.url} OPENAI_API_KEY=none COLUMNS=110\n")
        (folder / "lightrag.yaml").write_text(SETTINGS)
        print(f"serving {provider.url}; in {folder}: source ./env", flush=True)
        Event().wait()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m tools.facts_page FOLDER")
    main(Path(sys.argv[1]))
