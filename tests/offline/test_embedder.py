import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.protocols import Embedder, Vectors
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.offline.embedder import LexicalEmbedder
from tests.offline.passages import GERMAN, HANDBOOK, NOTES

CORPUS = [
    HANDBOOK,
    NOTES,
    GERMAN,
    *(f"The boat of crew {number} came back with water samples." for number in range(20)),
]


def documents(texts: Sequence[str], dimensions: int = 1024) -> Vectors:
    return asyncio.run(LexicalEmbedder(dimensions).embed_documents(texts))


def queries(texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
    return asyncio.run(LexicalEmbedder().embed_queries(texts, corpus_state))


def test_it_is_an_embedder_whose_identity_names_its_dimensions() -> None:
    embedder: Embedder = LexicalEmbedder(256)
    assert embedder.dimensions == 256
    assert embedder.identity != LexicalEmbedder(512).identity
    assert documents(["one boat"], 256).shape == (1, 256)


@given(st.lists(st.text(), max_size=4))
def test_vectors_are_finite_and_of_length_1(texts: list[str]) -> None:
    state = LexicalEmbedder().corpus_state(texts)
    for vectors in (documents(texts), queries(texts), queries(texts, state)):
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(texts), 1024)
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("text", ["", "   ", "the of and", "—"])
def test_a_text_without_terms_is_the_first_axis(text: str) -> None:
    np.testing.assert_array_equal(documents([text])[0], np.eye(1, 1024, dtype=np.float32)[0])


def test_a_document_is_embedded_alike_alone_and_in_a_batch() -> None:
    np.testing.assert_array_equal(documents(CORPUS), np.concatenate([documents([text]) for text in CORPUS]))


def test_corpus_state_counts_texts_whatever_their_order() -> None:
    embedder = LexicalEmbedder()
    state = embedder.corpus_state(CORPUS)
    np.testing.assert_array_equal(state, embedder.corpus_state(reversed(CORPUS)))
    assert state.dtype == np.float32
    assert state.ndim == 1
    assert state[-1] == len(CORPUS)
    assert state[:-1].max() == 21  # `samples` is in all but two
    assert embedder.corpus_state([])[-1] == 0


@pytest.mark.parametrize(
    ("query", "nearest"),
    [
        ("how many days of vacation do employees get", HANDBOOK),
        ("Which grebes did Nadia count?", NOTES),
        ("Wer betreibt die Datenplattformen?", GERMAN),  # a form the text does not hold
        ("crew 13 came back with water samples", CORPUS[3 + 13]),
    ],
)
def test_the_nearest_document_shares_the_rare_words(query: str, nearest: str) -> None:
    similarities = queries([query], LexicalEmbedder().corpus_state(CORPUS)) @ documents(CORPUS).T
    assert CORPUS[int(similarities.argmax())] == nearest
    assert similarities.max() > 0.2


def test_rare_words_weigh_more_with_a_corpus_than_without() -> None:
    texts = ["boats boats samples", "grebe"]
    plain = queries(["boats samples grebe"])
    weighted = queries(["boats samples grebe"], LexicalEmbedder().corpus_state([texts[0]] * 50 + [texts[1]]))
    assert (weighted @ documents(texts).T)[0, 1] > (plain @ documents(texts).T)[0, 1]


def test_texts_that_share_nothing_stay_under_the_usual_threshold() -> None:
    texts = ["Granite quarries shipped ballast northward.", "Violinists rehearse quietly before concerts."]
    assert float(documents(texts)[0] @ documents(texts)[1]) < 0.2


def test_too_few_dimensions_are_refused() -> None:
    with pytest.raises(SettingsError, match="64 or more"):
        LexicalEmbedder(16)
