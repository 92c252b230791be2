from itertools import pairwise

from tests.stages.chunking.documents import contents, prose


def test_chunks_are_whole_sentences() -> None:
    text = "\n\n".join(prose(20))
    found = contents(text, method="sentence", size=100, overlap=0)
    assert len(found) > 10
    assert all(one[0].isupper() and one.endswith(".") for one in found)


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    found = contents(f"Short. {'word ' * 40}end.", method="sentence", size=20, overlap=0)
    assert found[0].startswith("Short. word")
    assert all(set(one.split()) <= {"Short.", "word", "end."} for one in found)


def test_the_overlap_is_of_whole_sentences() -> None:
    found = contents("\n\n".join(prose(20)), method="sentence", size=100, overlap=30)
    shared = [after[: after.index(".") + 1] in before for before, after in pairwise(found)]
    assert sum(shared) > len(shared) / 2
