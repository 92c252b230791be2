import random
import re
import subprocess
import sys
from collections import Counter
from itertools import chain, islice
from pathlib import Path

import pytest

from benchmarks.passages import (
    OPENINGS,
    ORGANISATION_ENDINGS,
    PLACE_ENDINGS,
    WORK_BEGINNINGS,
    Kind,
    _Names,
    generate,
    write_sources,
)

ROOT = Path(__file__).parents[2]
NAME = re.compile(
    rf"(?:{'|'.join(WORK_BEGINNINGS)}) of [A-Z][a-z]+"
    rf"|[A-Z][a-z]+ (?:{'|'.join(ORGANISATION_ENDINGS)})\b"
    rf"|[A-Z][a-z]+(?:{'|'.join(PLACE_ENDINGS)})\b"
    r"|(?!(?:Few|In|The|Only) )[A-Z][a-z]+ [A-Z][a-z]+"
)


@pytest.fixture(scope="module", params=[4_000, pytest.param(10_000, marks=pytest.mark.long)])
def passages(request: pytest.FixtureRequest) -> list[str]:
    return list(generate(request.param, seed=7))


@pytest.fixture(scope="module")
def names(passages: list[str]) -> list[list[str]]:
    """The names of each passage."""
    return [NAME.findall(passage) for passage in passages]


def test_passages_are_distinct(passages: list[str]) -> None:
    assert len(set(passages)) == len(passages) >= 4_000


def test_the_same_seed_gives_the_same_passages_and_another_seed_others(passages: list[str]) -> None:
    assert list(generate(500, seed=7)) == passages[:500], "a longer corpus begins with the shorter one"
    assert not set(generate(500, seed=8)) & set(passages)


def test_the_first_passage_never_changes() -> None:
    # Benchmarks of different days are compared, so the corpus must be the same on every machine and Python.
    assert next(generate(1, seed=0)) == (
        'The only copy of "Map of Kern" was kept in Vinstead until Pev Wuv lent it to the Gov Institute. '
        "According to Pev Wuv, the lectures of the Pux Foundry on tides were a mistake. "
        "Two years later the Pux Foundry sent 3 boxes of salt to Tolhollow. "
        "Pev Wuv and the Trarn College argued about tolls for 48 years. "
        "The Brern Society in Nornstead doubled in size in 1975, and nobody was surprised."
    )


def test_a_passage_has_about_a_hundred_tokens(passages: list[str]) -> None:
    # Words in pieces of at most six letters, and punctuation marks; o200k_base gives 102 on average, at most 130.
    tokens = [len(re.findall(r"\w{1,6}|[^\w\s]", passage)) for passage in passages]
    assert 80 <= sum(tokens) / len(tokens) <= 120
    assert min(tokens) >= 60
    assert max(tokens) <= 140


def test_a_passage_is_full_sentences(passages: list[str]) -> None:
    for passage in passages[:200]:
        assert len(re.findall(r'[.]"?(?: |$)', passage)) == 5
        assert not re.search(r'[{}]|  | a [aeiou]|(?<=[.] )[^A-Z"]', passage)


def test_names_grow_by_about_five_a_passage(names: list[list[str]]) -> None:
    assert 4.5 <= len(set(chain(*names))) / len(names) <= 5.5
    assert 4.5 <= len(set(chain(*names[-1_000:])) - set(chain(*names[:-1_000]))) / 1_000 <= 5.5


def test_name_usage_is_zipf(names: list[list[str]]) -> None:
    # Usage falls as one over the rank, past the shift: ten times the rank, about a tenth of the uses.
    uses = [count for _, count in Counter(chain(*names)).most_common()]
    assert 0.01 < uses[0] / len(names) < 0.05
    for rank in (50, 100):
        assert 5 < uses[rank] / uses[rank * 10] < 15
    assert sum(count == 1 for count in uses) > len(uses) / 3


@pytest.mark.parametrize("kind", OPENINGS)
def test_names_never_run_out(kind: Kind) -> None:
    names = _Names(random.Random(1))
    drawn = [names.new(kind) for _ in range(30_000)]
    assert len({name.casefold() for name in drawn}) == len(drawn)


@pytest.mark.long
def test_sources_hold_folders_of_a_thousand(tmp_path: Path, passages: list[str]) -> None:
    write_sources(tmp_path, 3_000, seed=7, sources=2)
    files = sorted(tmp_path.rglob("*.txt"))
    assert [file.read_text("utf-8") for file in files] == [f"{passage}\n" for passage in passages[:3_000]]
    counts = Counter(file.parent.relative_to(tmp_path).as_posix() for file in files)
    assert counts == {
        "passages-1/0000": 1000,
        "passages-1/0001": 500,
        "passages-2/0001": 500,
        "passages-2/0002": 1000,
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--count", "20", "--sources", "2"], 0, "20 passages in 2 sources"),
        (["--count", "1", "--sources", "2"], 2, "--count 1 must be at least --sources 2"),
        (["--count", "1", "--sources", "1", "--seed", "x"], 2, "invalid int value"),
    ],
)
def test_command_line(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    command = [sys.executable, "-m", "benchmarks.passages", str(tmp_path / "corpus"), *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == code
    assert message in result.stdout + result.stderr


def test_a_source_that_exists_is_not_mixed_with_another(tmp_path: Path) -> None:
    write_sources(tmp_path, 2, seed=1)
    with pytest.raises(FileExistsError):
        write_sources(tmp_path, 2, seed=2)
    files = sorted(tmp_path.rglob("*.txt"))
    assert [file.read_text("utf-8") for file in files] == [f"{passage}\n" for passage in generate(2, seed=1)]


def test_generation_is_lazy() -> None:
    assert len(list(islice(generate(10**9, seed=1), 3))) == 3
