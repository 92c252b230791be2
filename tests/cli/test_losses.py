"""Lists that a broad fault makes long."""

import io
from collections.abc import Sequence

import pytest

from lightrag_dagster.cli.losses import print_few, print_losses
from lightrag_dagster.cli.terminal import console
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.pipeline.losses import Loss

WITHHELD = "{} is withheld: {} of 9 chunks of source '{}' failed; raise the bound"


@pytest.mark.parametrize(
    ("lines", "printed"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["one: a", "two", "three: b"], ["one: a", "two", "three: b"], id="other words"),
        pytest.param(
            [WITHHELD.format(name, 3, name) for name in "abc"],
            [WITHHELD.format(name, 3, name) for name in "abc"],
            id="three alike",
        ),
        pytest.param(
            [*(WITHHELD.format(name, at, name) for at, name in enumerate("abcdef")), "pass x is to read y"],
            [
                *(WITHHELD.format(name, at, name) for at, name in enumerate("ab")),
                "and 4 more like these two; --json has all",
                "pass x is to read y",
            ],
            id="six alike",
        ),
    ],
)
def test_of_many_lines_alike_two_are_printed_and_the_others_counted(
    lines: Sequence[str], printed: Sequence[str]
) -> None:
    terminal = console()
    terminal.file = shown = io.StringIO()
    print_few(terminal, lines, "red")
    assert shown.getvalue().splitlines() == printed


@pytest.mark.parametrize("of", ["chunks", "chunks of pass works", "documents"])
@pytest.mark.parametrize("counts", [{"failed": 1}, {"failed": 0, "truncated": 1}])
def test_only_of_chunks_that_failed_it_says_how_to_ask_again(of: str, counts: dict[str, int]) -> None:
    terminal = console()
    terminal.file = shown = io.StringIO()
    print_losses(terminal, [Loss(of, counts, 9, ("wiki",), "select 1")], [], None, ())
    again = "; `run --retry-failed` asks again" if "chunks" in of and counts["failed"] else ""
    assert shown.getvalue().endswith(f' of 9 (wiki){again}: lightrag-dagster sql "select 1"\n')


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, ""), (2, "0, 1"), (8, "0, 1, 2, 3, 4, 5, 6, 7"), (1010, "0, 1, 2, 3, 4, 5, 6, 7 and 1,002 more")],
)
def test_of_a_long_list_the_first_names_are_said_and_the_others_counted(number: int, words: str) -> None:
    assert some_of([str(at) for at in range(number)]) == words
