from lightrag_dagster.core.text.figures import answers_of, described_name, find_marks, mark_of, subject_of

CHART = "figure-7ea625e1dbe11dee"


def test_a_caption_cannot_end_its_mark() -> None:
    assert mark_of(" The [old]\nweir ", CHART) == f"![The (old) weir]({CHART})"
    assert list(find_marks(f"a ![b]({CHART}) c")) == [(2, 6 + len(CHART) + 2, "b", CHART)]


def test_answers_are_found_by_the_names_of_described_images_alone() -> None:
    answer, alike, other = "a" * 32, "a" * 8 + "b" * 24, CHART[-16:] + "c" * 16
    name = described_name("0" * 64, "A weir", answer)
    assert subject_of(name) == subject_of(described_name("0" * 64, "A weir", alike))
    assert answers_of([name, CHART], [answer, alike, other]) == {answer}
    assert [mark[2:] for mark in find_marks(f"{mark_of('A weir', name)} {mark_of('', CHART)}")] == [
        ("A weir", name),
        ("", CHART),
    ]
