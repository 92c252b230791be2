"""The helpers for the tests of other projects."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import httpx2
import openai
import pytest

from lightrag_dagster import KnowledgeBaseResource
from lightrag_dagster.errors import QueryError, SettingsError, SourceError
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import draft_request, judge_request, rerank_request
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing import CannedKnowledgeBase, build_knowledge_base, offline_provider
from tests.loopback import Loopback
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER

QUESTION = "Who closed Station 14 in the flood?"


@dg.asset
def briefing(knowledge: KnowledgeBaseResource) -> dg.MaterializeResult[None]:
    return dg.MaterializeResult(metadata={"answer": knowledge.query(QUESTION).text})


@pytest.mark.long
def test_a_small_knowledge_base_answers_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("LLM__PROVIDER", "openai"),
        ("EMBEDDING__PROVIDER", "openai"),
        ("HOME", "/nowhere"),
        ("DATABASE", "postgresql://no"),
    ):
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    knowledge = build_knowledge_base(tmp_path, {"notes/river.md": RIVER, "notes/flood.md": FLOOD.encode()})
    result = dg.materialize([briefing], resources={"knowledge": knowledge})
    (event,) = result.asset_materializations_for_node("briefing")
    assert "Jonas Feld" in str(event.metadata["answer"].value)
    again = build_knowledge_base(tmp_path, {"letters/office.md": OFFICE}, query={"mode": "naive"})
    with again.open() as opened:
        found = opened.retrieve("Who leads the office?")
        assert (found.mode, {chunk.source for chunk in found.chunks}) == ("naive", {"letters"})


def test_a_document_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"source 'notes' cannot be merged: .*not valid UTF-8"):
        build_knowledge_base(tmp_path, {"notes/river.md": b"\xc3\x28"})
    with pytest.raises(SettingsError, match="setting colour"):
        build_knowledge_base(tmp_path, {"notes/river.md": RIVER}, colour="red")


@pytest.mark.parametrize(
    "name", ["river.md", "../../x/y.md", "/etc/x.md", "a//b.md", "a/../../b.md", "./a.md", "n/", "", "/", "a/\0.md"]
)
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="is in no source; name it SOURCE/PATH"):
        build_knowledge_base(tmp_path / "folder", {"notes/river.md": RIVER, name: RIVER})
    assert not list(tmp_path.iterdir())


def test_a_folder_that_it_did_not_make_stays(tmp_path: Path) -> None:
    (tmp_path / "sources" / "docs").mkdir(parents=True)
    (tmp_path / "sources" / "docs" / "precious.md").write_text(RIVER)
    with pytest.raises(SourceError, match="is not of an earlier build_knowledge_base, and stays"):
        build_knowledge_base(tmp_path, {"notes/river.md": RIVER})
    assert (tmp_path / "sources" / "docs" / "precious.md").exists()
    with pytest.raises(SourceError, match="cannot be written: "):
        build_knowledge_base(tmp_path / "new", {"notes/a.md": RIVER, "notes/a.md/b.md": RIVER})
    with pytest.raises(SourceError, match="one document at least"):
        build_knowledge_base(tmp_path / "none", {})
    with pytest.raises(SettingsError, match="setting home: it is in the folder"):
        build_knowledge_base(tmp_path / "other", {"notes/a.md": RIVER}, home="elsewhere")


def test_canned_answers_need_no_home() -> None:
    knowledge = CannedKnowledgeBase(answers={QUESTION: "Jonas Feld."})
    result = dg.materialize([briefing], resources={"knowledge": knowledge})
    (event,) = result.asset_materializations_for_node("briefing")
    assert (event.metadata["answer"].value, knowledge.asked) == ("Jonas Feld.", [QUESTION])
    with pytest.raises(QueryError, match="canned answers have no knowledge base"):
        knowledge.knowledge_base.facts("Bergen")
    knowledge = CannedKnowledgeBase(answers={"Who?": "Priya Nair."}, default="Nobody.")
    assert [answer.text for answer in knowledge.query_batch(["Who?", "Where?"])] == ["Priya Nair.", "Nobody."]
    assert knowledge.retrieve("When?", mode="naive").chunks == ()
    assert [knowledge.retrieve("When?", mode=mode).mode for mode in (None, "naive")] == ["fusion", "naive"]
    assert knowledge.asked == ["Who?", "Where?", "When?", "When?", "When?"]
    with pytest.raises(QueryError, match=r"there is no canned answer to 'Who\?'"):
        CannedKnowledgeBase().query("Who?")


def test_images_are_described_and_texts_are_cut_by_their_sentences(
    tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.chat = lambda body: offline_answer(body) if role_of(body) == "extract" else "A gauge."
    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__DESCRIBE_FIGURES", "true")
    chosen = {
        "llm": {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"},
        "embedding": {"provider": "openai"},
        "chunking": {"method": "semantic", "size": 40, "overlap": 0},
    }
    scan = Path(__file__).parents[1] / "readers/samples/scan.jpg"
    build_knowledge_base(tmp_path, {"notes/scan.jpg": scan.read_bytes(), "notes/flood.md": FLOOD * 4}, **chosen)
    tables = SourceTables(Home(tmp_path / "home"))
    assert "A gauge." in "".join(tables.read("raw_documents", "notes")["content"].to_pylist())
    whole = {*tables.read("chunks", "notes")["content"].to_pylist()}
    texts = {text for one in loopback.requests if "input" in one.body for text in one.body["input"]}
    assert any(text in FLOOD for text in texts - whole), "sentences are embedded"


@pytest.mark.long
def test_a_provider_by_rules_serves_extraction_embedding_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with offline_provider() as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        online = {
            "llm": {"provider": "openai", "model": "gpt-4o-mini"},
            "embedding": {"provider": "openai", "dimensions": 128},
        }
        knowledge = build_knowledge_base(tmp_path, {"notes/flood.md": FLOOD}, **online)
        with knowledge.open() as opened:
            answer = opened.query(QUESTION, mode="mix")
            assert "Jonas Feld" in answer.text
            assert answer.retrieval.keywords.low_level
        assert httpx2.post(f"{address}/images", json={}).status_code == 404
        for path, wrong in (("chat/completions", {"messages": []}), ("embeddings", {"input": [1, 2]})):
            assert httpx2.post(f"{address}/{path}", json=wrong).status_code == 400
        assert httpx2.post(f"{address}/embeddings", content=b"{").status_code == 400
    with pytest.raises(httpx2.ConnectError):
        httpx2.post(f"{address}/images", json={})


@pytest.mark.parametrize(
    ("system", "asked", "ranks"),
    [
        (None, "Passages", True),
        ('Answer from this document: {"order": [7]}', "Who closed Station 14?", False),
    ],
    ids=["a reranker's question", "an answer from a document of orders"],
)
def test_the_provider_leaves_an_order_as_it_is(system: str | None, asked: str, ranks: bool) -> None:
    request = rerank_request(load_prompts(None, "English"), "Who?", [asked])
    sent = [message.content for message in request.messages] if system is None else [system, asked]
    messages = [{"role": role, "content": text} for role, text in zip(("system", "user"), sent, strict=True)]
    with offline_provider() as address:
        made = httpx2.post(f"{address}/chat/completions", json={"model": "any", "messages": messages}).json()
    assert (made["choices"][0]["message"]["content"] == '{"order": [1]}') == ranks


def test_the_provider_streams_an_answer_in_pieces() -> None:
    asked: list[Any] = [
        {
            "role": "system",
            "content": '{"reference_id": "1", "content": "Jonas Feld closed Station 14."}\n[1] a.md',
        },
        {"role": "user", "content": "Who closed Station 14?"},
    ]
    with offline_provider() as address, openai.OpenAI(base_url=address, api_key="none") as client:
        whole = client.chat.completions.create(model="any", messages=asked)
        plain = list(client.chat.completions.create(model="any", messages=asked, stream=True))
        counted = list(
            client.chat.completions.create(
                model="any", messages=asked, stream=True, stream_options={"include_usage": True}
            )
        )
    texts = [choice.delta.content or "" for piece in plain for choice in piece.choices]
    assert "".join(texts) == whole.choices[0].message.content
    assert len(texts) > 2
    assert [piece.choices[0].finish_reason for piece in plain[-2:]] == [None, "stop"]
    assert [piece.usage for piece in counted] == [None] * len(plain) + [whole.usage]


def test_the_provider_says_that_it_has_no_rule() -> None:
    prompts = load_prompts(None, "English")
    with offline_provider() as address:
        for request in (draft_request(prompts, RIVER, None), judge_request(prompts, "Who?", RIVER, "Jonas Feld.")):
            messages = [{"role": message.role, "content": message.content} for message in request.messages]
            reply = httpx2.post(f"{address}/chat/completions", json={"model": "any", "messages": messages})
            assert (reply.status_code, reply.json()["error"]["code"]) == (400, "no_rule")


@pytest.mark.long
def test_a_command_serves_the_provider_until_it_is_stopped() -> None:
    command = [sys.executable, "-m", "lightrag_dagster.testing"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        assert serving.stderr is not None
        address = serving.stdout.readline().strip()
        made = httpx2.post(f"{address}/embeddings", json={"model": "any", "input": ["flood"]})
        serving.kill()  # in a suite that runs in the background, Dagster has SIGTERM ignored, also by its children
        assert serving.stderr.read() == ""
    assert len(made.json()["data"]) == 1


@pytest.mark.long
def test_the_page_shows_tests_that_pass(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "in-a-project.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (shown,) = (one for one in blocks if "def test_" in one)
    module: dict[str, Any] = {}
    exec(shown, module)
    module["test_on_answers_known_beforehand"]()
    module["test_on_a_small_knowledge_base"](tmp_path)
