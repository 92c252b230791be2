"""Cached input, by the provider's rule."""

from benchmarks.bench.prefixes import Prefixes


def test_a_prefix_is_cached_from_1024_tokens_on_in_steps_of_128() -> None:
    seen = Prefixes()
    assert seen.add(range(1300)) == 0
    assert seen.add(range(1300)) == 1280
    assert seen.add([*range(1200), *range(500)]) == 1152
    assert seen.add([*range(1023), 0, 0]) == 0
    assert seen.add(range(1000)) == 0
    assert seen.add([1, *range(1, 1300)]) == 0
