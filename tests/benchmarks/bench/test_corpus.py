"""Passages, questions and changes of the benchmark beside LightRAG."""

import pytest

from benchmarks.bench.changes import ADD, CHANGES, DELETE, EDIT, NOTHING, changes, index, passages_needed
from benchmarks.bench.corpus import MOST, edited, passage, questions

ALL = [passage(number) for number in range(passages_needed(MOST))]


def test_there_are_passages_enough_and_one_percent_more_all_of_them_different() -> None:
    assert len(ALL) == 1010
    assert len({one.name for one in ALL}) == len({one.text for one in ALL}) == 1010
    assert all(one.entities and one.triples for one in ALL)


@pytest.mark.parametrize("number", [0, 296, 592, 593, 1009])
def test_an_edit_keeps_the_name_and_adds_to_text_and_extraction(number: int) -> None:
    before, after = passage(number), edited(number)
    assert after.name == before.name
    assert after.text.startswith(before.text)
    assert len(after.text) > len(before.text) + 50
    assert set(after.triples) > set(before.triples)


def test_every_question_has_keywords_and_supporting_passages_of_the_corpus() -> None:
    names = {one.name for one in ALL}
    assert len(questions()) == 30
    for question in questions():
        assert question.low_level
        assert question.high_level
        assert set(question.supporting) < names


def test_changes_follow_each_other() -> None:
    documents = dict(index(200).inserted)
    after = {}
    for change in changes(200):
        documents = {name: text for name, text in documents.items() if name not in change.deleted}
        documents |= change.inserted
        after[change.operation] = dict(documents)
    assert list(after) == list(CHANGES)
    assert [len(after[name]) for name in (ADD, EDIT, DELETE, NOTHING)] == [202, 202, 201, 201]
    assert len(set(after[EDIT].items()) - set(after[ADD].items())) == 1
    assert after[NOTHING] == after[DELETE] == dict(list(changes(200))[-1].inserted)


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(ValueError, match="no operation 'rename'; there are add 1%, edit one"):
        list(changes(10, ["rename"]))
