"""Documents that come, go, are edited and copied from rule to rule end with the chunks of a clean build."""

import random
from pathlib import Path

import pytest

from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables

TEXTS = [
    "One two three. Four five six.\nSeven eight nine.\n\nTen eleven twelve. " * 3,
    "# A\n\nalpha beta gamma.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n| 7 | 8 |\n",
    "漢字。かな。漢字です！" * 6,
    "tiny",
]
PATHS = ["a.md", "b.txt", "x/a.md", "x/b.md", "y/a.txt", "y/c.md", "z.md", "q/d.md"]
RULES = [
    {"path": "notes/x/**", "method": "structure"},
    {"path": "notes/y/*", "method": "character", "separators": ["\n"]},
    {"path": "notes/q/**", "method": "recursive", "size": 9},
]


def cut(settings: Settings) -> str:
    """Read and cut the source; return the version of its chunks."""
    tables, recipes = SourceTables(Home(settings.home)), Recipes.of(settings)
    read_source(find_source(settings, "notes"), tables, recipes)
    return chunk_source("notes", tables, recipes).version.version


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
def test_any_history_ends_as_a_clean_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    choice, folder = random.Random(seed), tmp_path / "sources" / "notes"
    folder.mkdir(parents=True)
    (folder / "always.txt").write_text("Always there.")
    settings = load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        chunking={"size": 12, "overlap": 0, "rules": RULES},
        documents={"accept_deletes": True},
    )
    for _ in range(5):
        monkeypatch.setattr(shards, "ROWS", choice.choice([1, 2, 3, 8_192]))
        for path in PATHS:
            file, chance = folder / path, choice.random()
            if chance < 0.4:
                file.parent.mkdir(exist_ok=True)
                file.write_text(choice.choice(TEXTS))
            elif chance < 0.6:
                file.unlink(missing_ok=True)
        version = cut(settings)
    monkeypatch.setattr(shards, "ROWS", 8_192)
    assert cut(settings.changed(home=tmp_path / "clean")) == version
