"""A decision that may be about purged documents is named, with what ends it."""

from pathlib import Path

import pytest

from lightrag_dagster.curation.desk.taking import take, undo
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import taken
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.decided import erase_undone, why_decided
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from tests.support import RIVER, build, write_source

GONE = {"notes": {"secret.md"}, "hidden": set[str]()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with a decision on a name that no document has, of a file and of a command."""
    folder = tmp_path_factory.mktemp("decided")
    (folder / "curation.yaml").write_text("- {retype: Zephyrine Quollmark, type: leader}\n")
    settings = Settings(home=folder / "home", sources=folder / "sources", curation=folder / "curation.yaml")
    write_source(settings, "notes", {"river.md": RIVER})
    take(settings, [Decision(action="merge", names=("Marta Lindqvist", "Zephyrine Quollmark"))])
    build(settings)
    return settings


def refused(settings: Settings, *because: str) -> None:
    found = list(why_decided(Situation.looking(settings), GONE))
    assert [words in reason for words, reason in zip(because, found, strict=True)] == [True] * len(because)


def test_names_that_no_document_has_are_refused_by_file_and_by_number(built: Settings) -> None:
    of_file = "curation.yaml:1 names “Zephyrine Quollmark”, which no document has; remove it from that file, "
    of_table = "decision 1 names “Zephyrine Quollmark”, which no document has; `lightrag-dagster curate undo 1`"
    refused(built, *(sorted([of_file, of_table])))
    refused(built.changed(curation=None), of_table)


@pytest.mark.parametrize(
    ("split", "because"),
    [
        ({"sources": ("hidden",)}, "decision 1 names the source hidden; "),
        pytest.param({"paths": ("secret.md", "a/*")}, "decision 1 names the path secret.md; ", marks=pytest.mark.long),
        pytest.param({"sources": ("notes",), "paths": ("secret*",)}, None, marks=pytest.mark.long),
    ],
)
def test_places_that_are_gone_are_refused(
    built: Settings, tmp_path: Path, split: dict[str, tuple[str, ...]], because: str | None
) -> None:
    other = built.changed(curation=None, home=tmp_path / "other")
    build(other)
    take(
        other, [Decision.model_validate({"action": "split", "names": ("Marta Lindqvist",), "into": "Another"} | split)]
    )
    refused(other, *([because] if because else []))


def test_decisions_that_were_undone_are_erased_from_the_files(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", sources=tmp_path / "sources")
    home = Home.of(settings)
    assert erase_undone(home) == 0
    take(settings, [Decision(action="remove", names=(name,)) for name in ("Quollmark", "Priya Nair")])
    undo(settings, [1])
    assert erase_undone(home) == 1
    assert [(one.number, one.decision.names) for one in taken(home)] == [(2, ("Priya Nair",))]
    assert all(b"Quollmark" not in path.read_bytes() for path in home.root.glob("decisions.sqlite*"))
    assert take(settings, [Decision(action="remove", names=("Bergen",))]) == [3]
