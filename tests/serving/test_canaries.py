"""No word of a hidden document is in any answer to a token of a scope."""

import random
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.settings import load_settings
from tests.query.filters.test_leaks import documents, word_of
from tests.serving.doors import KEYS, listening, service_of, tokens
from tests.support import build, write_source

CALLS = 500
WORDS = ("Marta", "Jonas Feld", "Bergen", "gauge", "office", "Station 14")


def call(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """Return a random request: a path and its body."""
    hidden = word_of("office").title()
    word = chance.choice([*WORDS, hidden, f"Marta {hidden}", f"{hidden} Instruments", f"office/{hidden.lower()}-0.md"])
    filters = chance.choice([None, {"sources": chance.choice(["notes", "office", "offic"])}, {"paths": "q*"}])
    mode = chance.choice(["naive", "local", "global", "hybrid", "mix", "fusion", "ppr", "bm25"])
    asked = {"query": f"Who works at {word}?", "mode": mode, "filters": filters, "top_k": chance.choice([1, 40])}
    tool = chance.choice(["search", "read", "entity", "path", "facts", "changes", "answer", "nosuch"])
    given: dict[str, dict[str, Any]] = {
        "search": asked,
        "answer": asked,
        "read": {"id": word},
        "entity": {"name": word, "filters": filters},
        "path": {"start": "Bergen", "end": word},
        "facts": {"subject": word},
    }
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("/query", asked),
        ("/query/data", asked),
        ("/query/stream", asked),
        ("/retrieve", asked),
        ("/facts", {"subject": word}),
        ("/mcp", rpc | {"params": {"name": tool, "arguments": given.get(tool, {})}}),
        ("/mcp", rpc | {"params": {"name": tool, "arguments": given.get(tool, {})}}),
    ]
    return chance.choice(requests)


@pytest.mark.long
def test_no_hidden_word_is_in_five_hundred_answers(tmp_path: Path) -> None:
    settings = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        scopes={"board": {"sources": ("archive", "notes")}},
    )
    chance = random.Random(1)
    for source, files in documents(chance).items():
        write_source(settings, source, files)
    take(settings, [Decision(action="describe", names=("Bergen",), text="qcanaryx, a text of a person")])
    build(settings)
    headers = {"X-API-Key": KEYS["board"], "Accept": "application/json, text/event-stream"}
    word, statuses = word_of("office"), set()
    hidden = (word, f"{word} gauge", f"{word} bay", f"{word}-1.md", f"{word}-2.md", f"helena {word}")
    with listening(service_of(settings, tokens=tokens(board={"scope": "board"}, keeper={}))) as client:
        everything = client.post("/retrieve", json={"query": f"Bergen {word}"}, headers={"X-API-Key": KEYS["keeper"]})
        for phrase in ("qcanaryx", f"{word} gauge"):
            assert phrase in everything.text.lower(), "without a scope it is seen"
        for _ in range(CALLS):
            path, body = call(chance)
            answer = client.post(path, json=body, headers=headers)
            statuses.add(answer.status_code)
            said, asked = answer.text.lower(), str(body).lower()
            assert "qcanaryx" not in said, (path, body)
            for phrase in hidden:
                assert phrase not in said or phrase in asked, (path, body, said)
    assert 200 in statuses
    assert not {one for one in statuses if one >= 500}
