import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.core import progress
from lightrag_dagster.core.identity import chunk_id, extraction_key
from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse, Usage
from lightrag_dagster.errors import (
    OutputLimitError,
    PermanentProviderError,
    ProviderAccessError,
    TransientProviderError,
)
from lightrag_dagster.models.cached import StoredChatModel, response_key
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.settings import ExtractionSettings
from lightrag_dagster.stages.extraction import conversation
from lightrag_dagster.stages.extraction.extractions import Extractor, extract, extraction_recipe
from lightrag_dagster.stages.prompts import Prompts, load_prompts
from lightrag_dagster.stages.prompts.fencing import last_fenced
from lightrag_dagster.stages.prompts.requests import extraction_request
from lightrag_dagster.storage.database.responses import ResponseStore
from tests.models.models import ScriptedChatModel

PROMPTS = load_prompts(None)
DONE = "<|COMPLETE|>"
GARBAGE = "entity<|#|>\nrelation<|#|>A<|#|>\n"


def entity(name: str, description: str = "It is.") -> str:
    return f"entity<|#|>{name}<|#|>Concept<|#|>{description}\n"


def chunks(*contents: str, heading: str | None = None) -> pa.Table:
    """Return a document whose chunks have these contents."""
    rows = [
        {
            "source": "s",
            "chunk_id": chunk_id(content, heading),
            "doc_id": "doc-1",
            "path": "a.md",
            "chunk_index": index,
            "content": content,
            "tokens": 1,
            "char_start": 0,
            "char_end": 1,
            "heading": heading,
        }
        for index, content in enumerate(contents)
    ]
    return pa.Table.from_pylist(rows, schema=CHUNKS)


def run(
    table: pa.Table,
    model: ChatModel,
    *,
    concurrency: int = 4,
    longer_outputs: Sequence[int] = (),
    count_tokens: Callable[[str], int] = len,
    prompts: Prompts = PROMPTS,
    **settings: Any,
) -> pa.Table:
    return asyncio.run(
        extract(
            "s",
            table,
            Extractor(model, prompts, ExtractionSettings(**settings), "f1", count_tokens, concurrency, longer_outputs),
        )
    )


def asked_for(request: ChatRequest) -> str:
    """Return the text of the chunk that a request is about."""
    text = last_fenced(request.messages[1].content)
    assert text is not None
    return text


def by_round(*answers: str | ChatResponse | Exception) -> Callable[[ChatRequest], str | ChatResponse]:
    """Answer the first round with the first answer, and so on; an exception is raised."""

    def answer(request: ChatRequest) -> str | ChatResponse:
        chosen = answers[(len(request.messages) - 2) // 2]
        if isinstance(chosen, Exception):
            raise chosen
        return chosen

    return answer


def test_a_row_says_all_about_a_chunk() -> None:
    first, second = entity("Ant") + DONE, DONE
    model = ScriptedChatModel(
        by_round(ChatResponse(first, "stop", 100, 20, 0, 0.5), ChatResponse(second, "stop", 150, 2, 90, 0.25))
    )
    rows = run(chunks("Ants."), model)
    key = chunk_id("Ants.", None)
    assert rows.schema.equals(EXTRACTIONS, check_metadata=True)
    assert rows.to_pylist() == [
        {
            "source": "s",
            "chunk_id": key,
            "extraction_key": extraction_key(key, "f1"),
            "model": "scripted",
            "responses": [first, second],
            "rounds": 2,
            "status": "ok",
            "error": None,
            "error_kind": None,
            "finish_reason": "stop",
            "input_tokens": 250,
            "cached_input_tokens": 90,
            "output_tokens": 22,
            "cost_usd": 0.75,
            "recipe": "f1",
        }
    ]


def test_the_request_holds_heading_and_language() -> None:
    model = ScriptedChatModel(lambda request: DONE)
    run(chunks("Ants.", heading="Part > Insects"), model, prompts=load_prompts(None, "Latin"))
    first = model.requests[0]
    assert "\nSection: Part > Insects\n" in first.messages[1].content
    assert asked_for(first) == "Ants."
    assert all("Latin" in message.content for message in first.messages)


@pytest.mark.parametrize(
    ("code", "name"), [("de", "German"), ("zh", "Chinese"), ("", "Latin"), (None, "Latin"), ("qqq", "Latin")]
)
def test_the_language_of_a_chunk_is_named_in_every_round_and_in_its_key(code: str | None, name: str) -> None:
    model = ScriptedChatModel(lambda request: entity("Ant") + DONE)
    table = chunks("Ants.").append_column("language", pa.array([code], pa.string()))
    rows = run(table, model, prompts=load_prompts(None, "Latin"))
    assert len(model.requests) == 2
    for message in (one for one in model.requests[-1].messages if one.role != "assistant"):
        assert f" in {name}." in message.content
    assert model.requests[0].language is None
    key = chunk_id("Ants.", None)
    assert rows["extraction_key"].to_pylist() == [extraction_key(key, "f1", code)]
    assert (extraction_key(key, "f1", code) == extraction_key(key, "f1")) == (code is None)


def test_each_distinct_chunk_is_asked_once_in_canonical_order_and_rows_are_sorted() -> None:
    model = ScriptedChatModel(lambda request: entity("A"))
    table = chunks("b", "a", "b", "c", "a")
    rows = run(table.take([4, 3, 2, 1, 0]), model, concurrency=1, gleaning=0)
    assert [asked_for(request) for request in model.requests] == ["b", "a", "c"]
    ids = rows["chunk_id"].to_pylist()
    assert ids == sorted(chunk_id(text, None) for text in "abc")


def test_no_chunks_are_no_rows() -> None:
    rows = run(chunks(), ScriptedChatModel(lambda request: pytest.fail("asked")))
    assert rows.num_rows == 0
    assert rows.schema.equals(EXTRACTIONS)


@pytest.mark.parametrize(
    ("gleaning", "answers", "rounds"),
    [
        (0, [entity("A")], 1),
        (1, [entity("A"), entity("B"), entity("C")], 2),
        (3, [entity("A"), entity("B"), DONE, entity("C")], 3),
        (3, [entity("A"), entity("A"), entity("C")], 2),
        (3, [entity("A"), entity("A", "A longer description."), DONE, entity("C")], 3),
        (2, [DONE, entity("A"), entity("B"), entity("C")], 3),
    ],
)
def test_gleaning_stops_when_a_round_adds_nothing(gleaning: int, answers: Sequence[str], rounds: int) -> None:
    model = ScriptedChatModel(by_round(*answers))
    row = run(chunks("Text."), model, gleaning=gleaning).to_pylist()[0]
    assert row["responses"] == list(answers[:rounds])
    assert row["rounds"] == rounds == len(model.requests)
    assert row["status"] == "ok"


def test_gleaning_that_would_be_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedChatModel(by_round(entity("A"), entity("B")))
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += 1
        return 100

    assert run(chunks("Text."), model, count_tokens=count)["rounds"].to_pylist() == [2]
    assert counted == 0
    monkeypatch.setattr(conversation, "MAX_GLEANING_TOKENS", 399)
    assert run(chunks("Text."), model, count_tokens=count)["rounds"].to_pylist() == [1]
    assert counted == 4
    monkeypatch.setattr(conversation, "MAX_GLEANING_TOKENS", 400)
    assert run(chunks("Text."), model, count_tokens=count)["rounds"].to_pylist() == [2]


def test_gleaning_is_too_long_by_all_messages_together() -> None:
    """Of which each is short enough."""
    model = ScriptedChatModel(by_round(entity("A", " ".join(map(str, range(5000)))), entity("B")))
    found = run(chunks("Text."), model, count_tokens=lambda _: 10_000)
    assert [found[name].to_pylist() for name in ("rounds", "status")] == [[1], ["ok"]]
    assert str(found["error"][0]) == "a further round would be longer than 20,480 tokens; lower chunking.size"


@pytest.mark.parametrize("cut", [0, 1])
def test_an_answer_cut_short_in_any_round_makes_the_row_truncated(cut: int) -> None:
    answers = [ChatResponse(entity("A"), "stop"), ChatResponse(entity("B"), "stop")]
    answers[cut] = ChatResponse(entity("C") + "entity<|#|>Half", "length")
    row = run(chunks("Text."), ScriptedChatModel(by_round(*answers))).to_pylist()[0]
    assert row["status"] == "truncated"
    assert row["finish_reason"] == answers[1].finish_reason
    assert row["responses"] == [answer.text for answer in answers]


@pytest.mark.parametrize("failure", [PermanentProviderError("too long"), TransientProviderError("try later")])
@pytest.mark.parametrize("in_round", [0, 1])
def test_a_chunk_fails_alone(failure: Exception, in_round: int) -> None:
    def answer(request: ChatRequest) -> str:
        if asked_for(request) == "bad" and (len(request.messages) - 2) // 2 == in_round:
            raise failure
        return entity("A")

    rows = {row["chunk_id"]: row for row in run(chunks("a", "bad", "c"), ScriptedChatModel(answer)).to_pylist()}
    bad = rows.pop(chunk_id("bad", None))
    assert [row["status"] for row in rows.values()] == ["ok", "ok"]
    assert (bad["status"], bad["error"]) == ("ok" if in_round else "failed", str(failure))
    assert bad["responses"] == [entity("A")] * in_round
    assert (bad["rounds"], bad["input_tokens"]) == (in_round, 10 * in_round)


def test_a_run_that_cannot_succeed_stops_at_once_and_keeps_what_arrived(tmp_path: Path) -> None:
    credit = iter([DONE] * 5)

    def answer(request: ChatRequest) -> str:
        bought = next(credit, None)
        if bought is None:
            raise ProviderAccessError("the quota is used up")
        return bought

    model = ScriptedChatModel(answer)
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        with pytest.raises(ProviderAccessError, match="quota") as raised:
            run(chunks(*map(str, range(50))), StoredChatModel(model, store, Usage()), gleaning=0, concurrency=2)
        assert raised.value.__context__ is None
        assert len(model.requests) <= 8
        again = ScriptedChatModel(lambda request: DONE)
        rows = run(chunks(*map(str, range(50))), StoredChatModel(again, store, Usage()), gleaning=0)
    assert rows.num_rows == 50
    assert len(again.requests) == 45


@pytest.mark.parametrize(
    ("answers", "status", "responses"),
    [
        (["I cannot say.", DONE], "ok", [DONE]),
        (["I cannot say.", entity("A")], "ok", [entity("A")]),
        (["I cannot say.", "Nor now."], "failed", ["Nor now."]),
        ([GARBAGE, DONE], "ok", [DONE]),
        ([GARBAGE, GARBAGE + entity("A")], "ok", [GARBAGE + entity("A")]),
        ([GARBAGE + DONE, GARBAGE], "failed", [GARBAGE]),
    ],
)
def test_an_unusable_answer_is_asked_for_once_more(answers: list[str], status: str, responses: list[str]) -> None:
    model = ScriptedChatModel(lambda request: answers[request.attempt])
    row = run(chunks("Text."), model, gleaning=0).to_pylist()[0]
    assert (row["status"], row["responses"], row["rounds"]) == (status, responses, 1)
    assert [request.attempt for request in model.requests] == [0, 1]
    assert model.requests[0].messages == model.requests[1].messages
    assert row["input_tokens"] == 20
    assert (row["error"] is not None) is (status == "failed")


@pytest.mark.parametrize(
    ("passage", "answers", "gleaning", "responses"),
    [
        ("Ants.", [DONE, entity("Ants")], 0, [DONE, entity("Ants")]),
        ("Ants.", [DONE, DONE], 0, [DONE, DONE]),
        ("Ants.", [DONE, DONE], 1, [DONE, DONE]),
        ("Ants.", [entity("Ants")], 0, [entity("Ants")]),
        ("- 12 -", [DONE], 0, [DONE]),
    ],
)
def test_a_chunk_of_which_nothing_is_said_is_asked_about_once_more(
    passage: str, answers: list[str], gleaning: int, responses: list[str]
) -> None:
    model = ScriptedChatModel(by_round(*answers))
    row = run(chunks(passage), model, gleaning=gleaning).to_pylist()[0]
    assert (row["status"], row["error"], row["responses"]) == ("ok", None, responses)
    assert len(model.requests) == len(responses)


def test_an_answer_that_is_an_echo_of_the_prompt_is_asked_for_once_more() -> None:
    echo = entity("Ida Vashbrake", "Ida Vashbrake chairs the Pelmarrow Water Board.") + DONE
    model = ScriptedChatModel(lambda request: entity("Ants") if request.attempt else echo)
    row = run(chunks("Ants."), model, gleaning=0).to_pylist()[0]
    assert (row["status"], row["responses"]) == ("ok", [entity("Ants")])
    row = run(chunks("Ants."), ScriptedChatModel(lambda request: echo), gleaning=0).to_pylist()[0]
    assert (row["status"], "repeats an example of the prompt" in row["error"]) == ("failed", True)


@pytest.mark.parametrize(("gleaning", "marked"), [(0, ["system"]), (1, ["system", "user"])])
def test_what_other_questions_begin_with_is_told_the_provider_and_is_no_part_of_the_key(
    gleaning: int, marked: list[str]
) -> None:
    model = ScriptedChatModel(lambda request: entity("A"))
    run(chunks("Text."), model, gleaning=gleaning)
    for request in model.requests:
        assert [one.role for one in request.messages if one.begins_others] == marked
        plain = replace(request, messages=tuple(replace(one, begins_others=False) for one in request.messages))
        assert response_key("m", request) == response_key("m", plain)


def test_an_answer_whose_rows_are_all_rejected_fails_for_good_and_says_why() -> None:
    row = run(chunks("Text."), ScriptedChatModel(lambda request: GARBAGE + DONE), gleaning=1).to_pylist()[0]
    assert (row["status"], row["error_kind"], row["rounds"]) == ("failed", "permanent", 1)
    assert row["error"] == (
        "the answer of scripted holds no row that can be used (entity with 2 of 4 fields), twice; "
        "change the prompts or the model"
    )


@pytest.mark.parametrize(
    ("usable", "is_new", "asked"),
    [
        pytest.param([], True, 20, id="never"),
        pytest.param([], False, 30, id="known to work"),
        pytest.param([19], True, 30, id="the last of the first"),
        pytest.param([20], True, 20, id="too late"),
    ],
)
def test_a_new_recipe_without_a_usable_answer_is_asked_about_no_more_chunks(
    usable: list[int], is_new: bool, asked: int
) -> None:
    """A chunk of which nothing is said has a usable answer."""
    at = {f"Text {number}.": number for number in range(30)}
    model = ScriptedChatModel(lambda request: DONE if at[asked_for(request)] in usable else "I cannot.")
    extractor = Extractor(model, PROMPTS, ExtractionSettings(gleaning=0), "f1", len, is_new=lambda: is_new)
    error = "^none of the first 20 chunks of source 's' has a usable answer of scripted, so .*, twice; .* `run --retry-"
    with nullcontext() if asked == 30 else pytest.raises(ProviderAccessError, match=error):
        asyncio.run(extract("s", chunks(*at), extractor))
    assert len({*map(asked_for, model.requests)}) == asked


def test_answers_that_are_under_way_are_waited_for_when_a_model_is_useless() -> None:
    model = ScriptedChatModel(lambda request: "I cannot.", delay=0.001)
    extractor = Extractor(
        model, PROMPTS, ExtractionSettings(gleaning=0), "f1", len, max_concurrency=4, is_new=lambda: True
    )
    with pytest.raises(ProviderAccessError, match="none of the first 20"):
        asyncio.run(extract("s", chunks(*map(str, range(40))), extractor))
    asked = Counter(map(asked_for, model.requests))
    assert 20 <= len(asked) <= 23
    assert {*asked.values()} == {2}


def test_what_a_provider_refuses_does_not_end_a_run() -> None:
    def refuse(request: ChatRequest) -> str:
        raise PermanentProviderError("the content filter refused it")

    extractor = Extractor(
        ScriptedChatModel(refuse), PROMPTS, ExtractionSettings(gleaning=0), "f1", len, is_new=lambda: True
    )
    rows = asyncio.run(extract("s", chunks(*map(str, range(30))), extractor))
    assert rows["status"].to_pylist() == ["failed"] * 30


def test_a_gleaning_answer_whose_rows_are_all_rejected_is_asked_for_once_more() -> None:
    answers = {0: GARBAGE + DONE, 1: entity("B")}
    model = ScriptedChatModel(
        lambda request: entity("A") if len(request.messages) == 2 else answers[min(request.attempt, 1)]
    )
    row = run(chunks("Text."), model, gleaning=1).to_pylist()[0]
    assert (row["status"], row["responses"]) == ("ok", [entity("A"), entity("B")])
    assert [request.attempt for request in model.requests] == [0, 0, 1]


def test_an_unusable_gleaning_answer_costs_the_chunk_nothing() -> None:
    model = ScriptedChatModel(by_round(entity("A"), "There is nothing more.", entity("B")))
    row = run(chunks("Text."), model, gleaning=3).to_pylist()[0]
    assert (row["status"], row["rounds"], len(model.requests)) == ("ok", 2, 3)


def test_an_answer_cut_before_its_first_row_names_the_limit() -> None:
    model = ScriptedChatModel(lambda request: ChatResponse("Let me think", "length"))
    row = run(chunks("Text."), model).to_pylist()[0]
    assert row["status"] == "failed"
    assert "raise LIGHTRAG_LLM__MAX_OUTPUT_TOKENS" in row["error"]


def test_no_more_chunks_are_in_flight_than_allowed() -> None:
    model = ScriptedChatModel(lambda request: entity("A"), delay=0.005)
    run(chunks(*map(str, range(20))), model, concurrency=3)
    assert model.peak == 3
    assert len(model.requests) == 40


def test_a_slow_chunk_holds_up_no_other() -> None:
    """Every other chunk goes through both of its rounds while the first still waits for its first answer."""

    class Model(ScriptedChatModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            if asked_for(request) == "slow" and len(request.messages) == 2:
                while len(self.requests) < 20:
                    await asyncio.sleep(0.001)
            return await super().complete(request)

    model = Model(lambda request: entity("A"))
    table = chunks("slow", *map(str, range(10)))

    async def bounded() -> pa.Table:
        work = extract("s", table, Extractor(model, PROMPTS, ExtractionSettings(), "f1", len, 2))
        return await asyncio.wait_for(work, 10)

    assert asyncio.run(bounded()).num_rows == 11


def test_a_cache_hit_changes_no_byte(tmp_path: Path) -> None:
    model = ScriptedChatModel(by_round(ChatResponse(entity("A"), "stop", 11, 7, 3, 0.125), entity("B")))
    tables = []
    for _ in range(2):
        with ResponseStore(tmp_path / "responses.sqlite") as store:
            stored = StoredChatModel(model, store, Usage())
            tables.append(run(chunks("a", "b"), stored))
    assert tables[0].equals(tables[1])
    assert len(model.requests) == 4
    assert (stored.usage.calls, stored.usage.stored) == (0, 4)


def test_what_was_cut_off_is_asked_for_again_with_more_room() -> None:
    def answer(request: ChatRequest) -> ChatResponse:
        if request.max_output_tokens is None:
            raise OutputLimitError("all went into thought")
        whole = request.max_output_tokens == 400
        return ChatResponse(entity("A") if whole else "entity<|#|>A", "stop" if whole else "length")

    model = ScriptedChatModel(answer)
    (row,) = run(chunks("a"), model, longer_outputs=(200, 400), gleaning=0).to_pylist()
    assert [request.max_output_tokens for request in model.requests] == [None, 200, 400]
    assert (row["status"], row["responses"]) == ("ok", [entity("A")])

    (row,) = run(chunks("a"), model, longer_outputs=(200,), gleaning=0).to_pylist()
    assert (row["status"], row["finish_reason"]) == ("failed", "length")


_JSON = '{"entities": [{"name": "A", "type": "t", "description": "d"}], "relationships": []}'
_CUT = _JSON.replace("]", ', {"name": "Ha', 1)[:68]
_OFF = "the answer of scripted has no more rows for more tokens; its different rows are kept"


@pytest.mark.parametrize(
    ("answers", "kept"),
    [
        ([_CUT, _JSON], (_JSON, "ok", None)),
        ([_CUT, _CUT.replace("A", "B"), _CUT.replace("A", "C")], (_CUT.replace("A", "C"), "truncated", None)),
        ([_CUT, _CUT], (_CUT, "truncated", _OFF)),
        ([_JSON[:-1]], (_JSON[:-1], "ok", None)),
        ([entity("A") + entity("B")[:-3]], (entity("A") + entity("B")[:-3], "ok", None)),
    ],
)
def test_json_that_breaks_off_is_cut_whatever_reason_a_server_gives(
    answers: list[str], kept: tuple[str, str, str | None]
) -> None:
    model = ScriptedChatModel(lambda request: ChatResponse(answers[len(model.requests) - 1], "stop"))
    (found,) = run(chunks("a"), model, longer_outputs=(200, 400), gleaning=0).to_pylist()
    assert [request.max_output_tokens for request in model.requests] == [None, 200, 400][: len(answers)]
    assert (found["responses"], found["status"], found["error"]) == ([kept[0]], *kept[1:])
    assert found["finish_reason"] == "stop"


def test_thought_that_takes_all_of_the_output_is_given_more_until_the_last_limit() -> None:
    def answer(request: ChatRequest) -> str:
        if request.max_output_tokens != 400:
            raise OutputLimitError("all went into thought")
        return entity("A")

    model = ScriptedChatModel(answer)
    (row,) = run(chunks("a"), model, longer_outputs=(200, 400), gleaning=0).to_pylist()
    assert [request.max_output_tokens for request in model.requests] == [None, 200, 400]
    assert (row["status"], row["responses"]) == ("ok", [entity("A")])


@pytest.mark.parametrize("refusal", [PermanentProviderError("over the model's limit"), OutputLimitError("thought")])
def test_what_was_cut_off_stays_where_more_room_gives_nothing(refusal: Exception) -> None:
    cut_off = ChatResponse(entity("A") + "entity<|#|>B", "length")

    def answer(request: ChatRequest) -> ChatResponse:
        if request.max_output_tokens is not None:
            raise refusal
        return cut_off

    (row,) = run(chunks("a"), ScriptedChatModel(answer), longer_outputs=(200, 400), gleaning=0).to_pylist()
    assert (row["status"], row["responses"], row["error"]) == ("truncated", [cut_off.text], None)


def test_a_round_that_fails_later_costs_only_itself() -> None:
    def answer(request: ChatRequest) -> str:
        if len(request.messages) > 2:
            raise TransientProviderError("busy")
        return entity("A")

    table = run(chunks("a"), ScriptedChatModel(answer))
    (row,) = table.to_pylist()
    assert (row["status"], row["rounds"], row["error"], row["error_kind"]) == ("ok", 1, "busy", "transient")


@pytest.mark.parametrize("answer_format", ["json_object", "json_schema"])
def test_json_answers_are_asked_for_and_read(answer_format: str) -> None:
    answer = json.dumps({"entities": [{"name": "A", "type": "b", "description": "c"}], "relationships": []})
    model = ScriptedChatModel(lambda request: answer)
    (row,) = run(chunks("a"), model, answer_format=answer_format, gleaning=0).to_pylist()
    assert row["status"] == "ok"
    (request,) = model.requests
    assert request.json_answer
    assert (request.answer_schema is not None) is (answer_format == "json_schema")
    assert "JSON" in request.messages[0].content
    assert model.requests[0].messages[1] == extraction_request(PROMPTS, "a", None).messages[1]


def test_progress_counts_distinct_chunks() -> None:
    reports: list[tuple[str, int, int]] = []
    table = chunks("a", "b", "a")
    model = ScriptedChatModel(lambda request: DONE)
    extractor = Extractor(model, PROMPTS, ExtractionSettings(), "f1", len)
    with progress.listening(lambda *report: reports.append(report)):
        asyncio.run(extract("s", table, extractor, known=3))
    assert reports == [("extractions", 3, 5), ("extractions", 4, 5), ("extractions", 5, 5)]


def test_the_recipe_covers_prompts_settings_and_model(tmp_path: Path) -> None:
    (tmp_path / "entity_types.md").write_text("- Ship")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "answer_system.md").write_text("As $response_type")
    plain = ExtractionSettings()
    base = extraction_recipe(PROMPTS, plain, "m")
    others = [
        extraction_recipe(load_prompts(tmp_path), plain, "m"),
        extraction_recipe(load_prompts(None, "French"), plain, "m"),
        extraction_recipe(PROMPTS, ExtractionSettings(gleaning=0), "m"),
        extraction_recipe(PROMPTS, ExtractionSettings(document_language=True), "m"),
        extraction_recipe(PROMPTS, plain, "n"),
        extraction_recipe(PROMPTS, ExtractionSettings(profile="small"), "m"),
    ]
    assert len({base, *others}) == 7
    assert extraction_recipe(load_prompts(tmp_path / "a"), ExtractionSettings(), "m") == base
