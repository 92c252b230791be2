import pytest

from tests.stages.chunking.documents import TOKENIZER, cut


@pytest.mark.parametrize(
    ("characters", "size", "overlap"), [(40_000, 1200, 100), (50_002, 800, 66), (100_000, 800, 66), (100_002, 600, 50)]
)
def test_long_documents_have_smaller_windows(characters: int, size: int, overlap: int) -> None:
    text = "a " * (characters // 2)
    expected = TOKENIZER.windows(text, size, overlap)
    assert [one[:3] for one in cut(text, method="adaptive")] == [tuple(one) for one in expected]
