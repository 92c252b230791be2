"""The revision numbers that are raised by hand: each belongs to one output of its stage for fixed input.

The golden file has, for each number, a hash of every part of that output. Where a part changes, the number is to be
raised, else stored rows stay as they were; where none does, raising it makes every home do that work again for nothing.
`python -m tests.pipeline.test_revisions` writes the file again, and refuses if a number is wrong. It takes the names of
numbers of which only the fixed input changed, or a library that the recipe names besides. A new part raises nothing: it
is a new input.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.revisions import of_answers, of_documents, of_merge, of_names
from tests.test_floors import product

GOLDEN = Path(__file__).parent / "revisions" / "golden.json"
COMMAND = "python -m tests.pipeline.test_revisions"
RECIPES, RULES = "lightrag_dagster.pipeline.recipes", "lightrag_dagster.models.rules"
_RAISED_BY_HAND = re.compile(r"^(_?[A-Z_]*(?:VERSION|REVISION)S?)\b[^\n=]*=", re.MULTILINE)
Output = Callable[[], Mapping[str, Any]]
Parts = Mapping[str, str]


@dataclass(frozen=True)
class Revision:
    """A number: the module and constant that has it, its key where the constant is a dictionary, and its output."""

    module: str
    constant: str
    key: str | None
    output: Output

    @property
    def number(self) -> int:
        """The number as it is today."""
        found = getattr(import_module(self.module), self.constant)
        return int(found if self.key is None else found[self.key])

    @property
    def place(self) -> str:
        """The line to change."""
        key = "" if self.key is None else f'["{self.key}"]'
        return f"{self.constant}{key} in {self.module.replace('.', '/')}.py"


OF_STAGES: Mapping[str, Output] = {
    "raw_documents": of_documents.raw_documents,
    "chunks": of_documents.chunks,
    "extractions": of_answers.extractions,
    "mentions": of_answers.mentions,
    "facts": of_answers.facts,
    "merge": of_merge.merge,
    "stores": of_merge.stores,
    "report": of_merge.status_report,
    "duplicates": of_names.duplicates,
}
REVISIONS = {stage: Revision(RECIPES, "_REVISIONS", stage, output) for stage, output in OF_STAGES.items()} | {
    "offline_answers": Revision(RULES, "_RULES_VERSION", None, of_answers.offline_answers),
    "offline_names": Revision(RULES, "_NAMES_VERSION", None, of_answers.offline_names),
    "offline_vectors": Revision("lightrag_dagster.offline.embedder", "_VERSION", None, of_answers.offline_vectors),
}


@dataclass(frozen=True)
class Golden:
    """A number and the hashes of its output, by part: as the file has them, or as they are today."""

    number: int
    parts: Parts


def parts_of(output: Mapping[str, Any]) -> Parts:
    """Return a hash of each part of an output."""
    texts = {name: json.dumps(_plain(part), sort_keys=True) for name, part in output.items()}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def _plain(value: Any) -> Any:
    """Return what JSON can say, with four digits of a number, since processors differ in the last ones."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | None) else str(value)


def mistake(name: str, place: str, golden: Golden | None, today: Golden) -> str | None:
    """Return what is wrong with a number, which no writing of the golden file may hide."""
    if golden is None:
        return None
    changed = sorted(part for part, found in golden.parts.items() if today.parts.get(part) != found)
    if today.number < golden.number:
        return f"{place} was lowered from {golden.number} to {today.number}; a number only rises"
    if changed and today.number == golden.number:
        return (
            f"the output of {name} changed ({', '.join(changed)}): raise {place} to {today.number + 1}, then run "
            f"`{COMMAND}`. If only the fixed input changed, or a library that the recipe names besides, run "
            f"`{COMMAND} {name}`"
        )
    if today.number > golden.number and today.parts == golden.parts:
        return (
            f"{place} was raised from {golden.number} to {today.number}, and no output changed: take that back, or add "
            f"an input that shows the change to {name} in {GOLDEN.parent.name}/"
        )
    return None


def complaint(name: str, place: str, golden: Golden | None, today: Golden) -> str | None:
    """Return why the golden file is not today's, and what to do."""
    if golden == today:
        return None
    return mistake(name, place, golden, today) or f"the golden file has another {name}: run `{COMMAND}`"


def read_golden() -> dict[str, Golden]:
    return {name: Golden(**one) for name, one in json.loads(GOLDEN.read_text("utf-8")).items()}


def write_golden(allowed: Sequence[str]) -> list[str]:
    """Write the golden file, unless a number is wrong that is not `allowed`; return what is wrong."""
    if unknown := set(allowed) - set(REVISIONS):
        return [f"there is no number {', '.join(sorted(unknown))}; there are {', '.join(REVISIONS)}"]
    before = read_golden() if GOLDEN.exists() else {}
    today = {name: Golden(one.number, parts_of(one.output())) for name, one in REVISIONS.items()}
    checked = [name for name in REVISIONS if name not in allowed]
    found = [mistake(name, REVISIONS[name].place, before.get(name), today[name]) for name in checked]
    mistakes = [one for one in found if one]
    if not mistakes:
        content = {name: {"number": one.number, "parts": dict(one.parts)} for name, one in today.items()}
        GOLDEN.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return mistakes


@pytest.mark.parametrize("name", REVISIONS)
def test_the_number_is_that_of_the_output(name: str) -> None:
    revision = REVISIONS[name]
    today = Golden(revision.number, parts_of(revision.output()))
    assert complaint(name, revision.place, read_golden().get(name), today) is None


def test_every_number_is_held() -> None:
    held = {(one.module, one.constant, one.key) for one in REVISIONS.values()}
    found = {number for module, text in product().items() for number in numbers_in(module, text)}
    assert found == held
    assert set(read_golden()) == set(REVISIONS)


def numbers_in(module: str, text: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the numbers of a module whose name says that they are raised by hand."""
    for constant in _RAISED_BY_HAND.findall(text):
        value = getattr(import_module(module), constant)
        if isinstance(value, int):
            yield module, constant, None
        elif isinstance(value, dict) and all(isinstance(one, int) for one in value.values()):
            yield from ((module, constant, key) for key in value)


@pytest.mark.parametrize(
    ("number", "parts", "said"),
    [
        (3, {"a": "1", "b": "2"}, None),
        (3, {"a": "1", "b": "other"}, "the output of merge changed (b): raise PLACE to 4, then run `python -m"),
        (4, {"a": "1", "b": "other"}, "the golden file has another merge: run `python -m"),
        (4, {"a": "1", "b": "2"}, "PLACE was raised from 3 to 4, and no output changed: take that back, or add"),
        (4, {"a": "1", "b": "2", "new": "3"}, "the golden file has another merge: run `python -m"),
        (3, {"a": "1", "b": "2", "new": "3"}, "the golden file has another merge: run `python -m"),
        (3, {"a": "1"}, "the output of merge changed (b): raise PLACE to 4, then run `python -m"),
        (2, {"a": "1", "b": "other"}, "PLACE was lowered from 3 to 2; a number only rises"),
    ],
)
def test_a_number_is_raised_with_its_output_alone(number: int, parts: Parts, said: str | None) -> None:
    found = complaint("merge", "PLACE", Golden(3, {"a": "1", "b": "2"}), Golden(number, parts))
    assert found is None if said is None else found is not None and found.startswith(said)


def test_the_golden_file_is_not_written_over_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, output = sys.modules[__name__], {"a": "old"}
    monkeypatch.setattr(here, "GOLDEN", tmp_path / "golden.json")
    monkeypatch.setattr(here, "REVISIONS", {"report": Revision(RECIPES, "_REVISIONS", "report", lambda: output)})
    assert write_golden([]) == []
    before = GOLDEN.read_bytes()
    output["a"] = "new"
    (mistake,) = write_golden([])
    assert "raise _REVISIONS" in mistake
    assert GOLDEN.read_bytes() == before
    assert write_golden(["repot"]) == ["there is no number repot; there are report"]
    assert write_golden(["report"]) == []
    assert GOLDEN.read_bytes() != before


if __name__ == "__main__":
    wrong = write_golden(sys.argv[1:])
    sys.exit("\n".join(wrong) if wrong else 0)
