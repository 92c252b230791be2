"""The example of `docs/facts.md`: three of the model's facts are rejected, each for what the page says."""

import json
from collections import Counter

import yaml

from lightrag_dagster.stages.facts import answers
from lightrag_dagster.stages.facts.answers import read_answer
from lightrag_dagster.stages.facts.passes import Pass
from tools.facts_page import DOCUMENTS, FACTS, SCHEMA, TOLD


def test_three_facts_are_rejected() -> None:
    of_pass, rejected, kept = Pass.model_validate({"name": "contracts"} | yaml.safe_load(SCHEMA)), Counter[str](), 0
    for text in DOCUMENTS.values():
        told = next((places for start, places in TOLD.items() if text.startswith(start)), ())
        found = read_answer(json.dumps({"facts": [FACTS[place] for place in told]}), of_pass, text)
        kept, rejected = kept + len(found.facts), rejected + Counter(found.rejected)
    assert kept == 11
    assert rejected == Counter([answers.WORDS_LACKING, answers.VALUE_LACKING, answers.OTHER_RELATION])
