"""Pairs of names that people labelled, beside what is joined and what is proposed."""

from pathlib import Path

import pytest

from lightrag_dagster.errors import NoSnapshotError
from lightrag_dagster.evaluation.gold.names import score_names
from lightrag_dagster.evaluation.gold.rows import GoldRow
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from tests.support import build, write_source


def pair(name: str, other: str, *, right: bool = True) -> GoldRow:
    return GoldRow("", "names", name, other, "", "", "", right, "a.csv:2")


def test_pairs_are_counted_by_what_takes_them_for_one(tmp_path: Path) -> None:
    (tmp_path / "names.yaml").write_text("- merge: [Marta Lindqvist, The Keeper]\n- merge: [Bergen, Halden Weir]\n")
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", curation=tmp_path / "names.yaml")
    texts = (
        "Orrin Instruments built the gauge.",
        "Orrin Instruments Ltd sold the gauge to Marta Lindqvist in Bergen. Marta Lindquist stayed.",
    )
    write_source(settings, "notes", {f"{at}.md": text for at, text in enumerate(texts)})
    build(settings)
    pairs = [
        pair("The Keeper", "marta  LINDQVIST"),
        pair("ORRIN instruments", "Orrin Instruments"),
        pair("Orrin Instruments", "Orrin Instruments Ltd"),
        pair("Bergen", "Halden Weir", right=False),
        pair("Bergen", "Marta Lindqvist", right=False),
        pair("Nowhere", "Elsewhere"),
    ]
    joined, _, shown = score_names(Situation.looking(settings), pairs)
    assert joined.right == 2
    assert [one.name for one in joined.wrong] == ["Bergen"]
    assert [one.other for one in joined.missed] == ["Orrin Instruments Ltd", "Elsewhere"]
    assert shown.right == 3
    assert [one.name for one in shown.missed] == ["Nowhere"]


def test_before_the_first_run_there_are_no_names(settings: Settings) -> None:
    with pytest.raises(NoSnapshotError):
        score_names(Situation.looking(settings), [pair("A", "B")])
