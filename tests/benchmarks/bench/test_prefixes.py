"""Cached input, by the provider's rules."""

import pytest

from benchmarks.bench.prefixes import Counted, Part, Prefixes, parts_of, text_of

SYSTEM, PASSAGE, ANSWER, MORE = range(1100), range(2000, 2300), range(3000, 3050), range(4000, 4020)


def prefix(seen: Prefixes, prompt: list[int] | range) -> int:
    return seen.add([Part(prompt)])["prefix"].read


def test_a_prefix_is_cached_from_1024_tokens_on_in_steps_of_128() -> None:
    seen = Prefixes()
    assert prefix(seen, range(1300)) == 0
    assert prefix(seen, range(1300)) == 1280
    assert prefix(seen, [*range(1200), *range(500)]) == 1152
    assert prefix(seen, [*range(1023), 0, 0]) == 0
    assert prefix(seen, range(1000)) == 0
    assert prefix(seen, [1, *range(1, 1300)]) == 0


def test_an_implicit_breakpoint_finds_only_what_ended_where_a_message_ends() -> None:
    seen = Prefixes()
    first, other = [Part(SYSTEM), Part(PASSAGE)], [Part(SYSTEM), Part(range(300))]
    assert seen.add(first)["implicit"] == Counted(0, 1400)
    assert seen.add(other)["implicit"] == Counted(0, 1400)
    assert seen.add([*first, Part(ANSWER), Part(MORE)])["implicit"] == Counted(1400, 70)
    assert seen.add(first)["implicit"] == Counted(1400, 0)
    assert seen.add([Part(range(500)), Part(range(500))])["implicit"] == Counted(0, 0)


@pytest.mark.parametrize(
    ("gleaning", "asked", "again"),
    [(False, Counted(1100, 0), None), (True, Counted(1100, 300), Counted(1400, 0))],
)
def test_explicit_breakpoints_keep_what_a_request_says(gleaning: bool, asked: Counted, again: Counted | None) -> None:
    seen = Prefixes()
    system = Part(SYSTEM, True)
    first = [system, Part(PASSAGE, gleaning)]
    assert seen.add([system, Part(range(300))], explicit=True)["explicit"] == Counted(0, 1100)
    assert seen.add(first, explicit=True)["explicit"] == asked
    if again:
        assert seen.add([*first, Part(ANSWER), Part(MORE)], explicit=True)["explicit"] == again


def test_a_request_without_the_mode_is_treated_as_before() -> None:
    seen = Prefixes()
    assert seen.add([Part(SYSTEM), Part(PASSAGE)])["explicit"] == Counted(0, 1400)
    assert seen.add([Part(SYSTEM, True), Part(PASSAGE)])["explicit"] == Counted(1400, 0)


def test_a_message_in_parts_is_read_as_one_in_one() -> None:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    parted = {"role": "user", "content": [{"type": "text", "text": "ab", **mark}, {"type": "text", "text": "c"}]}
    whole = {"role": "user", "content": "abc"}
    assert text_of(parted) == text_of(whole) == "abc"
    read = list(parts_of([parted, whole], lambda text: list(map(ord, text))))
    assert read == [Part([97, 98], True), Part([99]), Part([97, 98, 99])]
