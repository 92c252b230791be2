from itertools import pairwise

from tests.stages.chunking.documents import TOKENIZER, contents, cut, prose


def test_each_separator_is_for_pieces_that_are_too_long() -> None:
    text = "One two three.\n\nFour five six seven\neight nine ten eleven\n\nTwelve."
    assert contents(text, method="recursive", size=6, overlap=0) == [
        "One two three.",
        "Four five six seven",
        "eight nine ten eleven",
        "Twelve.",
    ]


def test_chinese_is_cut_at_its_own_marks() -> None:
    text = "水位上升了很多。大家都离开了城市！没有人受伤，一切都好。"
    found = contents(text, method="recursive", size=12, overlap=0)
    assert "".join(found) == text
    assert all(one.endswith(("。", "！", "，")) for one in found)


def test_the_separators_can_be_chosen() -> None:
    text = "alpha one; beta two; gamma three"
    found = contents(text, method="recursive", size=4, overlap=0, separators=(";",))
    assert found == ["alpha one;", "beta two;", "gamma three"]


def test_the_overlap_begins_with_a_sentence() -> None:
    text = "\n\n".join(prose(30))
    plain, overlapping = (cut(text, method="recursive", size=200 + overlap, overlap=overlap) for overlap in (0, 60))
    assert [one.end for one in plain] == [one.end for one in overlapping]
    for before, without, one in zip(overlapping, plain[1:], overlapping[1:], strict=False):
        assert before.start < one.start < without.start
        assert before.end > one.start
        assert text[one.start].isupper()
        assert TOKENIZER.count(text[one.start : without.start]) <= 60
        assert one.tokens <= 261


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
