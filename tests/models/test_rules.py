import asyncio
import json
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse, Message
from lightrag_dagster.core.roles import Role
from lightrag_dagster.errors import PermanentProviderError
from lightrag_dagster.models.rules import OfflineChatModel, _as_rows
from lightrag_dagster.offline.extractor import Extracted, NamedEntity, NamedRelation
from lightrag_dagster.stages.extraction.parsing import parse_response
from lightrag_dagster.stages.prompts.fencing import fence
from tests.offline.passages import HANDBOOK

MODEL: ChatModel = OfflineChatModel()


def ask(role: Role, *messages: Message, max_output_tokens: int | None = None) -> ChatResponse:
    return asyncio.run(MODEL.complete(ChatRequest(role, messages, max_output_tokens)))


def records(content: str) -> list[list[str]]:
    user = Message("user", f"Record it.\n\nSection: A > B\n\n{fence(content)}")
    *rows, last = ask("extract", Message("system", "Rules."), user).text.split("\n")
    assert last == "<|COMPLETE|>"
    return [row.split("<|#|>") for row in rows]


def test_extraction_is_one_record_a_line_in_the_order_of_the_text() -> None:
    assert records("Then Anna Berg founded Kestrel in 2014.") == [
        ["entity", "Anna Berg", "person", "Then Anna Berg founded Kestrel in 2014."],
        ["entity", "Kestrel", "other", "Then Anna Berg founded Kestrel in 2014."],
        ["relation", "Anna Berg", "Kestrel", "founded", "Then Anna Berg founded Kestrel in 2014."],
    ]


MARKS = ["<|#|>", "<|COMPLETE|>", "<|", "|>", "#", "|", "\n", "**", "`", "<think>", "entity", "Anna Berg", "Oslo", " "]


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=5)).map("".join))
def test_marks_in_the_text_break_no_record(content: str) -> None:
    rows = records(content)
    for row in rows:
        assert len(row) == {"entity": 4, "relation": 5}[row[0]]
        assert all(field.strip() for field in row)
        assert not any("<|" in field or "|>" in field for field in row)
    entities = {row[1] for row in rows if row[0] == "entity"}
    assert {end for row in rows if row[0] == "relation" for end in row[1:3]} <= entities


@given(
    st.lists(
        st.sampled_from([*MARKS, "<#>", "＜｜＃｜＞", "&lt;|#|&gt;", "18", "1.5", "Anna Berg leads", "\u200b"])
    ).map(" ".join)
)
def test_every_row_is_read(content: str) -> None:
    user = Message("user", f"Record it.\n\n{fence(content)}")
    answer = ask("extract", Message("system", "Rules."), user).text
    read = parse_response(answer)
    assert len(read.entities) + len(read.relations) == answer.count("\n")
    assert read.complete


def test_what_a_row_cannot_hold_is_left_out() -> None:
    found = Extracted(
        (NamedEntity("18", "content", "An album."), NamedEntity("Oslo", "location", "It has <#> trams.")),
        (NamedRelation("Oslo", "18", "related", "An album."),),
    )
    assert _as_rows(found) == "entity<|#|>Oslo<|#|>location<|#|>It has trams.\n<|COMPLETE|>"


def test_gleaning_finds_nothing_more() -> None:
    first = Message("user", fence(HANDBOOK))
    answer = ask("extract", Message("system", "Rules."), first, Message("assistant", "…"), Message("user", "More."))
    assert answer.text == "<|COMPLETE|>"


@pytest.mark.parametrize(
    ("question", "high", "low"),
    [
        ("Who leads the Platform Team at Harbour & Hale?", ["leads"], ["Platform Team", "Harbour & Hale"]),
        ("how many vacation days do i have", ["vacation days"], ["vacation days"]),
        ("Compare Kestrel and Merlin", ["Kestrel", "Merlin"], ["Kestrel", "Merlin"]),
        ("Wer leitet die Abteilung Wasserbau in Konstanz?", ["leitet"], ["Abteilung Wasserbau", "Konstanz"]),
        ("北京有多少人", ["北京有多少人"], ["北京有多少人"]),
        ("hello", [], []),
    ],
)
def test_keywords(question: str, high: list[str], low: list[str]) -> None:
    answer = ask("keywords", Message("system", "Rules."), Message("user", f"Question:\n\n{fence(question)}"))
    assert json.loads(answer.text) == {"high_level_keywords": high, "low_level_keywords": low}


@pytest.mark.parametrize(
    ("system", "max_output_tokens", "expected"),
    [
        ("Use at most 8 tokens.", None, "Anna Berg wrote it."),
        ("Be short.", 8, "Anna Berg wrote it."),
        ("Be short.", None, "Kestrel is a web service. Anna Berg wrote it."),
    ],
)
def test_summary_keeps_to_the_limit_it_is_given(system: str, max_output_tokens: int | None, expected: str) -> None:
    told = "\n".join(json.dumps({"Description": text}) for text in ("Kestrel is a web service.", "Anna Berg wrote it."))
    user = Message("user", f"Entity: Kestrel\n\n{fence(told, 'json')}")
    assert ask("summarise", Message("system", system), user, max_output_tokens=max_output_tokens).text == expected


def test_answer_reads_the_context_in_the_system_message_and_the_question_in_the_last() -> None:
    excerpt = fence(json.dumps({"reference_id": "1", "content": HANDBOOK}), "json")
    system = Message("system", f"Rules.\n\n{excerpt}\n\n[1] handbook/working.md")
    history = (Message("user", "Who founded Saltmarsh?"), Message("assistant", "Ingrid Solheim."))
    answer = ask("answer", system, *history, Message("user", "How many days of vacation?"))
    assert answer == ChatResponse(
        "The vacation policy gives every employee 28 days. [1]\n\n### References\n\n- [1] handbook/working.md"
    )


def test_a_stream_is_the_answer_in_pieces() -> None:
    request = ChatRequest("extract", (Message("user", fence("Marta Lindqvist maintains the gauge at Halden Weir.")),))

    async def pieces() -> list[str]:
        return [piece async for piece in OfflineChatModel().stream(request)]

    streamed = asyncio.run(pieces())
    assert len(streamed) > 1
    assert "".join(streamed) == asyncio.run(MODEL.complete(request)).text


def test_a_message_without_a_fence_is_refused() -> None:
    with pytest.raises(PermanentProviderError, match="extract"):
        ask("extract", Message("system", "Rules."), Message("user", "Anna Berg lives in Oslo."))


SCRIPT = """
import asyncio, hashlib
from lightrag_dagster.stages.extraction.parsing import parse_response
from lightrag_dagster.stages.prompts.fencing import fence
from lightrag_dagster.models.rules import OfflineChatModel
from lightrag_dagster.offline.embedder import LexicalEmbedder
from lightrag_dagster.core.protocols import ChatRequest, Message
from tests.offline.passages import GERMAN, HANDBOOK, NOTES
model, embedder, texts = OfflineChatModel(), LexicalEmbedder(), [HANDBOOK, NOTES, GERMAN]
digest = hashlib.sha256()
for text in texts:
    for role in ("extract", "keywords"):
        digest.update(asyncio.run(model.complete(ChatRequest(role, (Message("user", fence(text)),)))).text.encode())
state = embedder.corpus_state(texts)
digest.update(state.tobytes())
digest.update(asyncio.run(embedder.embed_documents(texts)).tobytes())
digest.update(asyncio.run(embedder.embed_queries(texts, state)).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.long
def test_every_process_gives_the_same_answers() -> None:
    def run(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, check=True
        ).stdout.decode()

    assert run("1") == run("2")


def test_a_run_of_pipes_takes_linear_time() -> None:
    start = time.process_time()
    assert records("|" * 100_000) == []
    assert time.process_time() - start < 3
