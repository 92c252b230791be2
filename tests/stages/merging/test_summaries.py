"""Map and reduce: which calls are made for which descriptions, and what becomes of their answers."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.progress import listening
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.errors import (
    LightRAGError,
    OutputLimitError,
    PermanentProviderError,
    ProviderAccessError,
    TransientProviderError,
)
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging.summaries import Group, summarise
from lightrag_dagster.stages.prompts import load_prompts


class Shortener:
    """Answers with `length` words, one of them new; raises `error` when the subject's name is in `refused`."""

    identity = "shortener"

    def __init__(self, length: int = 3, refused: tuple[str, ...] = (), error: LightRAGError | None = None) -> None:
        self.asked: list[tuple[str, int]] = []
        self._length = length
        self._refused = refused
        self._error = error or PermanentProviderError("refused")

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await asyncio.sleep(0)
        text = request.messages[-1].content
        name = text.splitlines()[0].removeprefix("Entity: ")
        self.asked.append((name, text.count('"Description"')))
        if name in self._refused:
            raise self._error
        return ChatResponse(" ".join([f"summary{len(self.asked)}"] + ["word"] * (self._length - 1)))


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def run(model: Shortener, groups: list[Group], **settings: int) -> dict[str, str | None]:
    return asyncio.run(summarise(groups, model, load_prompts(None), MergingSettings.model_validate(settings), words, 2))


def group(name: str, *lengths: int) -> Group:
    return Group(
        "Entity", name, name, ["word " * (length - 1) + f"{name}{index}" for index, length in enumerate(lengths)]
    )


@pytest.mark.parametrize(
    ("lengths", "packs"),
    [
        pytest.param([1] * 7, [], id="few-and-short"),
        pytest.param([1] * 8, [8], id="many"),
        pytest.param([5000], [], id="one-alone-is-kept"),
        pytest.param([600, 600], [2], id="long"),
        pytest.param([9000, 9000], [2], id="two-always-go-together"),
        pytest.param([3000] * 4, [4], id="just-fits"),
        pytest.param([3000] * 12, [4, 4, 4], id="three-packs-then-joined"),
        pytest.param([3000] * 5, [4], id="a-last-one-alone-is-kept-as-it-is-and-met-again"),
    ],
)
def test_descriptions_are_packed_in_order(lengths: list[int], packs: list[int]) -> None:
    model = Shortener()
    run(model, [group("Marta", *lengths)])
    # The lone last description makes a second round over the threshold.
    assert [count for _, count in model.asked] == ([*packs, 2] if len(lengths) == 5 else packs)


def test_short_summaries_are_joined_without_another_call() -> None:
    assert run(Shortener(), [group("Marta", *[3000] * 12)]) == {
        "Marta": "summary1 word word<SEP>summary2 word word<SEP>summary3 word word"
    }


def test_long_summaries_are_summarised_again() -> None:
    model = Shortener(length=700)
    found = run(model, [group("Marta", *[3000] * 12)])
    assert [count for _, count in model.asked] == [4, 4, 4, 3]
    assert (found["Marta"] or "").startswith("summary4 ")


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(1, 60), st.integers(1, 50))
def test_it_ends_and_loses_nothing_to_one_call_alone(lengths: list[int], room: int, answer: int) -> None:
    model = Shortener(length=answer)
    run(
        model,
        [group("Marta", *lengths)],
        summary_context_tokens=room,
        summary_min_tokens=30,
        summary_min_descriptions=4,
    )
    assert all(count >= 2 for _, count in model.asked)
    assert len(model.asked) < len(lengths)


@pytest.mark.parametrize("error", [PermanentProviderError("refused"), TransientProviderError("busy")])
def test_a_summary_fails_alone(error: LightRAGError) -> None:
    many = [group(name, *[1] * 8) for name in ("Marta", "Öre", "Weir")]
    found = run(Shortener(refused=("Öre",), error=error), many)
    assert found["Öre"] is None
    assert found["Marta"]
    assert found["Weir"]


@pytest.mark.parametrize(("needed", "limits"), [(1000, [None, 1000]), (4000, [None, 1000, 2000]), (0, [None])])
def test_a_summary_that_is_cut_off_is_asked_for_with_more_room_or_fails(needed: int, limits: list[int | None]) -> None:
    asked: list[int | None] = []

    class Wordy(Shortener):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            asked.append(request.max_output_tokens)
            if request.max_output_tokens == 2000:
                raise OutputLimitError("only reasoned")
            is_whole = (request.max_output_tokens or 500) >= needed
            return ChatResponse("Marta is", "stop" if is_whole else "length")

    found = asyncio.run(
        summarise([group("Marta", *[1] * 8)], Wordy(), load_prompts(None), MergingSettings(), words, 2, (1000, 2000))
    )
    assert found == {"Marta": None if needed == 4000 else "Marta is"}
    assert asked == limits


def test_a_refused_key_stops_all() -> None:
    model = Shortener(refused=("Weir 0", "Weir 1"), error=ProviderAccessError("key revoked"))
    with pytest.raises(ProviderAccessError, match="revoked"):
        run(model, [group(f"Weir {index}", *[1] * 8) for index in range(40)])
    assert len(model.asked) <= 4


def test_progress_reaches_its_end() -> None:
    seen: list[tuple[str, int, int]] = []
    with listening(lambda stage, done, total: seen.append((stage, done, total))):
        run(Shortener(refused=("Öre",)), [group(name, *[1] * 8) for name in ("Marta", "Öre", "Weir")])
    assert seen == [("summaries", done, 3) for done in (1, 2, 3)]
