import asyncio
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.protocols import text_tokens
from lightrag_dagster.engines.engine import LocalEngine
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.indexes import embedding_batches
from lightrag_dagster.indexes.embedding_batches import Embedding, batches
from lightrag_dagster.offline.embedder import LexicalEmbedder
from lightrag_dagster.settings import EmbeddingSettings


@given(
    st.lists(st.text(max_size=60), max_size=30),
    st.integers(1, 5),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_batches_keep_texts_and_order_within_both_bounds(
    texts: list[str], size: int, tokens: int, longest: int
) -> None:
    settings = EmbeddingSettings(batch_size=size, max_input_tokens=longest)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(embedding_batches, "BATCH_TOKENS", tokens)
        made = list(batches(texts, settings))

    def weight(batch: list[str]) -> int:
        return sum(min(text_tokens(text), longest) for text in batch)

    assert [text for batch in made for text in batch] == texts
    assert all(0 < len(batch) <= size for batch in made)
    assert all(len(batch) == 1 or weight(batch) <= tokens for batch in made)
    for batch, following in pairwise(made):
        assert len(batch) == size or weight([*batch, following[0]]) > tokens


class Three(LocalEngine):
    """An engine that seems to have three workers."""

    workers = 3


@pytest.mark.parametrize("texts", [1, 4, 5, 6, 7, 100])
def test_the_parts_of_workers_are_all_texts_in_order(monkeypatch: pytest.MonkeyPatch, texts: int) -> None:
    monkeypatch.setattr(embedding_batches, "_TEXTS_A_WORKER", 2)
    settings, named = EmbeddingSettings(dimensions=64), [f"Weir {number}" for number in range(texts)]
    done, here = list[int](), Embedding(LexicalEmbedder(64), settings)
    vectors = asyncio.run(here._replace(engine=Three()).vectors_of(named, done.append))
    np.testing.assert_array_equal(vectors, asyncio.run(here.vectors_of(named, done.append)))
    assert sum(done) == 2 * texts


@pytest.mark.long
def test_workers_count_a_corpus_as_one_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_batches, "_TEXTS_A_WORKER", 2)
    embedder = LexicalEmbedder(64)
    blocks = [["The weir held.", "The gauge failed.", "The weir failed.", "Nothing"], ["One more weir."], []]
    with ProcessEngine(2) as engine:
        counted = Embedding(embedder, EmbeddingSettings(dimensions=64), engine).corpus_state(blocks)
    assert counted is not None
    np.testing.assert_array_equal(counted, embedder.corpus_state(text for texts in blocks for text in texts))
    assert counted[-1] == 5
