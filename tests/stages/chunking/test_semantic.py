from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.stages.chunking import semantic
from tests.stages.chunking.documents import cut

RIVER = "The river rose. The river fell. The river froze. The river thawed. "
TRADE = "Some trade grew. All trade fell. Much trade moved. Most trade ended. "


def by_topic(texts: Sequence[str]) -> Vectors:
    """Embed texts by how often each topic is named."""
    counts = np.array([[text.count("river") + 0.01, text.count("trade") + 0.01] for text in texts], np.float32)
    vectors: Vectors = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return vectors


@pytest.mark.parametrize(
    "settings",
    [
        {"breakpoints": ("percentile", 85.0)},
        {"breakpoints": ("standard_deviation", 1.0)},
        {"breakpoints": ("interquartile", 0.5)},
    ],
)
def test_the_text_is_cut_where_the_topic_changes(settings: dict[str, Any]) -> None:
    text = RIVER + TRADE
    starts = [one.start for one in cut(text, by_topic, method="semantic", **settings)]
    assert starts[0] == 0
    assert len(starts) == 2
    assert abs(starts[1] - len(RIVER)) <= len("The river thawed. ")


def test_a_sentence_is_embedded_with_its_neighbours_and_blocks_join(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> Vectors:
        asked.extend(texts)
        return by_topic(texts)

    whole = cut(RIVER + TRADE, embed, method="semantic", breakpoints=("percentile", 85.0))
    assert asked[:2] == ["The river rose. The river fell.", "The river rose. The river fell. The river froze."]
    assert len(asked) == 8
    monkeypatch.setattr(semantic, "_SENTENCES_AT_ONCE", 3)
    assert cut(RIVER + TRADE, by_topic, method="semantic", breakpoints=("percentile", 85.0)) == whole


def test_what_is_longer_than_the_size_is_cut() -> None:
    cuts = cut(RIVER * 20, by_topic, method="semantic", size=60, overlap=0)
    assert len(cuts) > 5
    assert max(one.tokens for one in cuts) <= 60


def test_without_an_embedder_it_is_recursive() -> None:
    text = RIVER * 20
    assert cut(text, method="semantic", size=60, overlap=5) == cut(text, method="recursive", size=60, overlap=5)


@pytest.mark.parametrize("text", ["One sentence.", "One. Two."])
def test_a_text_of_one_or_two_sentences_is_whole(text: str) -> None:
    assert [one[:2] for one in cut(text, by_topic, method="semantic")] == [(0, len(text))]
