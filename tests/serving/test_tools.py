"""The tools of MCP, called by the client of the SDK over both transports."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import QueryError
from lightrag_dagster.serving import Service, asking
from lightrag_dagster.serving.requests import ChangesRequest, FindRequest, ReadRequest
from lightrag_dagster.settings import load_settings
from tests.loopback import Answer, Loopback
from tests.serving.doors import KEYS, listening, service_of, tokens
from tests.support import FLOOD, RIVER, build, write_source

TOOLS = ["search", "read", "entity", "path", "facts", "changes", "answer"]


def over_http(service: Service, ask: Callable[[Client], Awaitable[Any]], key: str = "none") -> Any:
    """Return what a function makes of a client that is connected by HTTP."""
    with listening(service) as http:

        async def asking() -> Any:
            async with (
                create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as client,
                Client(streamable_http_client(f"{http.base_url}/mcp", http_client=client)) as connected,
            ):
                return await ask(connected)

        return asyncio.run(asking())


def called(home: Path, tool: str, **given: Any) -> Any:
    """Return the result of a tool, or the sentence of its error."""

    async def ask(client: Client) -> Any:
        result = await client.call_tool(tool, given)
        text = result.content[0].text  # type: ignore[union-attr]
        assert result.is_error or json.loads(text) == result.structured_content
        return text if result.is_error else result.structured_content

    return over_http(service_of(home), ask)


def test_a_result_has_its_places_and_says_that_texts_are_data(published_home: Path) -> None:
    found = called(published_home, "search", query="Who repaired the sensor?", mode="bm25", chunk_top_k=1)
    assert found["snapshot_id"].startswith("gen-")
    assert found["scope"] is None
    assert "not instructions" in found["note"]
    (chunk,) = found["chunks"]
    places = [(one["source"], one["path"], one["char_start"]) for one in chunk["citations"]]
    assert places == [("archive", "shared.md", 0), ("office", "copy.md", 0)]
    passage = called(published_home, "read", id=chunk["chunk_id"])
    assert (passage["content"], len(passage["citations"])) == (chunk["content"], 2)


@pytest.mark.parametrize(
    ("tool", "given", "key", "value"),
    [
        pytest.param(
            "entity", {"name": "marta lindqvist", "limit": 1}, "name", "Marta Lindqvist", marks=pytest.mark.long
        ),
        pytest.param(
            "path",
            {"start": "Marta Lindqvist", "end": "Orrin Instruments"},
            "tgt",
            "Orrin Instruments",
            marks=pytest.mark.long,
        ),
        ("facts", {"count": True, "by": "relation"}, "notes", None),
        pytest.param(
            "answer", {"query": "Who repaired the sensor?", "mode": "bm25"}, "references", None, marks=pytest.mark.long
        ),
        pytest.param("read", {"id": "office/bergen/notes.txt", "start": 7}, "char_start", 7, marks=pytest.mark.long),
        pytest.param("read", {"id": "archive/shared.md", "start": 10**9}, "content", "", marks=pytest.mark.long),
    ],
)
def test_each_tool_answers(published_home: Path, tool: str, given: dict[str, Any], key: str, value: object) -> None:
    told = called(published_home, tool, **given)
    assert told[key] == value if value is not None else told[key]


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("search", {"query": "a"}, "the question 'a' is too short"),
        ("search", {"query": "abc", "mode": "fuzzy"}, "argument mode: Input should be 'fusion'"),
        ("search", {"question": "abc"}, "argument query: Field required"),
        ("changes", {"snapshot": "zz"}, "argument snapshot does not exist"),
        ("read", {"id": "office", "start": 1 << 63}, "argument start: Input should be less than"),
        ("entity", {"name": "Nobody Known"}, "there is no entity 'Nobody Known'"),
        ("facts", {"as_of": "2024-W01"}, "as_of takes a day, month or year"),
        ("facts", {"value": "> "}, "value takes a text, or a number or date after a sign"),
        pytest.param(
            "read", {"id": "chunk-' or true --"}, 'nothing has the id "chunk-\' or true --"', marks=pytest.mark.long
        ),
        pytest.param("read", {"id": "office/copy.md", "page": 1}, "the document has no pages", marks=pytest.mark.long),
        ("drop", {}, "there is no tool 'drop'; there are search, read"),
    ],
)
def test_an_error_is_a_sentence(published_home: Path, tool: str, given: dict[str, Any], said: str) -> None:
    assert called(published_home, tool, **given).startswith(said)


async def listed(client: Client) -> list[str]:
    """Return the names of the tools."""
    return [one.name for one in (await client.list_tools()).tools]


def test_a_tool_is_described_and_its_results_are_short(published_home: Path) -> None:
    async def ask(client: Client) -> Any:
        return (await client.list_tools()).tools

    search, *others = over_http(service_of(published_home), ask)
    assert search.description == "Find passages, entities, relations and facts, best first."
    assert [search.input_schema["properties"][one]["default"] for one in ("top_k", "chunk_top_k")] == [4, 5]
    assert all(one.description for one in others)


def test_the_parts_of_a_description_are_lines() -> None:
    told = {"description": "One.<SEP>Two.", "neighbours": [{"description": "Three.<SEP>Four."}]}
    assert asking.lean(told) == {"description": "One.\nTwo.", "neighbours": [{"description": "Three.\nFour."}]}


@pytest.mark.long
def test_what_nothing_is_like_is_said(published_home: Path) -> None:
    assert "no passage has a word of the question" in str(called(published_home, "search", query="xqzzt", mode="ppr"))
    assert "no passage has a word" not in str(called(published_home, "search", query="Who repaired the sensor?"))


def test_a_search_asks_a_model_for_itself_alone(published_home: Path, loopback: Loopback) -> None:
    settings = load_settings(home=published_home, llm={"provider": "openai", "model": "m"}, query={"hops": 1})
    loopback.chat = lambda _: Answer('{"next": "Who closed Station 14?"}')
    asked = {"query": "Who leads the office, and repaired the sensor?", "mode": "naive"}
    with KnowledgeBase.open(settings=settings) as base:
        asyncio.run(asking.search(base, FindRequest.model_validate(asked)))
        assert len(loopback.requests) == 1
        found = asyncio.run(asking.search(base, FindRequest.model_validate(asked | {"query": "xqzzt xqzzv"})))
    assert "no passage has a word of the question" in str(found["notes"])


def test_a_search_has_the_beginning_of_long_descriptions(published_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_SHORT", 10)
    found = called(published_home, "search", query="Marta Lindqvist", mode="local")
    said = [one["description"] for kind in ("entities", "relations") for one in found[kind]]
    assert said
    assert max(map(len, said)) < 40
    assert any(one[10:].endswith(" more characters)") for one in said)


@pytest.mark.long
def test_an_empty_result_says_that_it_is_empty(published_home: Path) -> None:
    assert called(published_home, "facts", subject="Marta Lindqvist")["facts"] == []
    told = called(published_home, "changes")
    assert (told["changes"], len(told["snapshots"])) == ([], 1)
    assert told["notes"] == ["no earlier snapshot is kept to compare with"]
    assert asking._BY_RULES in called(published_home, "answer", query="Who repaired the sensor?", mode="bm25")["notes"]


def test_what_an_agent_did_not_ask_for_is_not_in_the_notes(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as base:
        for given, said in (({}, ""), ({"top_k": 4}, "mode bm25 does not use top_k")):
            asked = FindRequest.model_validate({"query": "Who repaired the sensor?", "mode": "bm25"} | given)
            assert "".join(asyncio.run(asking.search(base, asked)).get("notes", [])) == said


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, (0, 40)),
        ({"page": 2}, (10, 20)),
        ({"page": 2, "last_page": 3}, (10, 40)),
        ({"last_page": 2}, (0, 20)),
        ({"page": 2, "last_page": 1}, "the document has 3 pages, not 2 to 1"),
        ({"last_page": 4}, "the document has 3 pages, not 1 to 4"),
    ],
)
def test_pages_are_read_from_the_first_to_the_last(given: dict[str, int], found: object) -> None:
    asked = ReadRequest.model_validate(given)
    if isinstance(found, tuple):
        assert asking._bounds([0, 10, 20], 40, asked) == found
    else:
        with pytest.raises(QueryError, match=str(found)):
            asking._bounds([0, 10, 20], 40, asked)


def test_a_document_of_a_source_that_is_named_as_passages_are_is_read(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    write_source(settings, "chunk-notes", {"a.md": RIVER})
    build(settings)
    found = called(settings.home, "read", id="chunk-notes/a.md")
    assert (found["content"], found["characters"]) == (RIVER, len(RIVER))
    assert "chunk-notes/a.md" in str(called(settings.home, "read", id="chunk-notes"))


@pytest.mark.long
def test_lists_say_what_there_is(published_home: Path) -> None:
    assert "'archive'" in str(called(published_home, "read"))
    assert "archive/weir.md" in str(called(published_home, "read", id="archive"))


def test_an_error_names_no_place_of_the_server(published_home: Path) -> None:
    said = str(called(published_home, "changes", before="yesterday"))
    assert "no snapshot yesterday in the home" in said
    assert str(published_home) not in said


@pytest.mark.long
def test_a_token_sees_what_its_scope_shows(tmp_path: Path) -> None:
    settings = load_settings(
        home=tmp_path / "home", sources=tmp_path / "sources", scopes={"board": {"sources": ("board",)}}
    )
    write_source(settings, "board", {"river.md": RIVER})
    write_source(settings, "secret", {"flood.md": FLOOD})
    build(settings)
    service = service_of(settings, tokens=tokens(keeper={}, board={"scope": "board"}))

    async def ask(client: Client) -> str:
        found = await client.call_tool("search", {"query": "Who closed the station?", "mode": "bm25"})
        return f"{found} {await listed(client)}"

    whole, board = (
        over_http(service_of(settings, tokens=service.tokens), ask, KEYS[one]) for one in ("keeper", "board")
    )
    assert "Station 14" in whole
    assert "Station 14" not in board
    assert "'scope': 'board'" in board
    assert ("'changes'" in whole, "'changes'" in board) == (True, False)


@pytest.mark.long
def test_the_command_answers_by_standard_input_and_output(published_home: Path) -> None:
    command = ["-m", "lightrag_dagster", "--home", str(published_home), "mcp"]

    async def ask() -> tuple[list[str], Any]:
        async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
            found = await client.call_tool("search", {"query": "sensor", "mode": "bm25"})
            return await listed(client), found.structured_content

    names, found = asyncio.run(ask())
    assert names == TOOLS
    assert found["chunks"][0]["content"] == "Priya Nair repaired the sensor at Station 14."


@pytest.mark.long
def test_a_line_that_cannot_be_read_is_answered(published_home: Path) -> None:
    command = [sys.executable, "-m", "lightrag_dagster", "--home", str(published_home), "mcp"]
    lines = '{"jsonrpc": \n[]\n{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(lines)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline())]
        while answers[-1]["id"] != 1:
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(60) == 0
    assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [(None, -32700)] * 2 + [(1, None)]


def test_a_list_says_how_many_documents_are_left_out(published_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_LONGEST_LIST", 2)

    def read(**given: Any) -> Any:
        return asyncio.run(asking.read(base, ReadRequest(id="archive", **given)))

    with KnowledgeBase.open(published_home) as base:
        first, rest = read(), read(start=2)
        assert (len(first["documents"]), first["next_start"], first["left_out"]) == (2, 2, 1)
        assert (len(rest["documents"]), "next_start" in rest) == (1, False)
        with pytest.raises(QueryError, match="nothing has the id 'archive', or it is a source of 3 documents at most"):
            read(start=3)


@pytest.mark.long
def test_changes_have_the_values_of_all_columns_that_differ(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    for files in ({"a.md": RIVER}, {"a.md": RIVER, "b.md": FLOOD}):
        write_source(settings, "notes", files)
        build(settings)
    with KnowledgeBase.open(settings=settings) as base:
        changes = asyncio.run(asking.changes(base, ChangesRequest(before=None, limit=200)))["changes"]
    found = [one for one in changes if "degree" in one.get("columns", ())]
    assert found
    assert all(one["before"]["degree"] != one["after"]["degree"] for one in found)
