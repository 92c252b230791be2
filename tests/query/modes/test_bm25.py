from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.text.terms import text_terms
from lightrag_dagster.indexes.text_arrays import write_text_index
from lightrag_dagster.indexes.text_index import TextIndex
from lightrag_dagster.query.modes.bm25 import best_chunk_coverage

TEXTS = ["The mother of the king was a painter.", "The king lived in Bergen, Bergen, Bergen.", "A painter of ships."]


@pytest.fixture
def texts(tmp_path: Path) -> TextIndex:
    write_text_index(tmp_path, TEXTS, [])
    return TextIndex.open(tmp_path)


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("king Bergen", 1.0),
        ("Was the mother of the king born in Bergen?", 0.5),
        ("a painter of ships and bridges", 2 / 3),
        ("zebra", 0.0),
        ("", 0.0),
    ],
)
def test_every_word_of_the_question_counts_once(texts: TextIndex, question: str, held: float) -> None:
    assert best_chunk_coverage(question, texts.scores(text_terms(question)), texts) == pytest.approx(held)


def test_a_chunk_that_may_not_be_found_holds_nothing(texts: TextIndex) -> None:
    assert best_chunk_coverage("king", np.zeros(len(TEXTS), dtype=np.float32), texts) == 0
