"""`retrieval_evaluation` and its check, materialised on small snapshots."""

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets.evaluation import default_check, retrieval_evaluation
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.evaluation.test_summary import rows
from tests.loopback import Loopback
from tests.query.published import publish_sources

FACTS = {f"{name.lower()}.md": f"{name} repaired the clock in {town}." for name, town in zip(
    ("Ada", "Bruno", "Clara", "Dario", "Edith", "Fritz", "Greta", "Hugo"),
    ("Arles", "Bergen", "Corley", "Dunsrow", "Evora", "Ferrol", "Genoa", "Halden"),
    strict=True,
)}  # fmt: skip
QUESTIONS = "\n".join(
    f"- {{question: 'Who repaired the clock in {words[-1][:-1]}?', documents: [notes/{path}], answer: {words[0]}}}"
    for path, words in ((path, text.split()) for path, text in FACTS.items())
)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a home and its sources, published, to be copied."""
    folder = tmp_path_factory.mktemp("facts")
    publish_sources(load_settings(home=folder / "home", sources=folder / "sources"), {"notes": FACTS})
    return folder


@pytest.fixture
def offline(facts: Path, tmp_path: Path) -> Settings:
    shutil.copytree(facts, tmp_path, dirs_exist_ok=True)
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        questions=tmp_path / "questions.yaml",
    )


def evaluated(settings: Settings, instance: dg.DagsterInstance) -> tuple[dict[str, Any], dg.AssetCheckEvaluation]:
    """Return the metadata, and the check of what dropped."""
    metadata, checks = materialised(settings, instance)
    return metadata, checks["no_mode_dropped"]


def materialised(
    settings: Settings, instance: dg.DagsterInstance
) -> tuple[dict[str, Any], dict[str, dg.AssetCheckEvaluation]]:
    result = dg.materialize(
        [retrieval_evaluation.within(Namespace())], instance=instance, resources={"lightrag": LightRAG(settings)}
    )
    (event,) = result.asset_materializations_for_node("retrieval_evaluation")
    checks = {one.check_name: one for one in result.get_asset_check_evaluations()}
    return {name: value.value for name, value in event.metadata.items()}, checks


@pytest.mark.long
def test_modes_stand_beside_the_controls(offline: Settings, instance: dg.DagsterInstance) -> None:
    metadata, checks = materialised(offline, instance)
    assert checks["default_mode_is_best"].passed
    assert checks["default_mode_is_best"].metadata["default"].value == "fusion"
    assert "| fusion | naive | +0.000 [+0.000, +0.000] |" in metadata["beside the controls"]
    stored = SourceTables(Home(offline.home)).read("evaluated_questions", ALL_SOURCES)
    plain = [one["recall_at_2"] for one in stored.to_pylist() if one["mode"] in ("bm25", "naive", "fusion")]
    assert set(plain) == {1.0}


def test_a_default_mode_that_is_not_the_best_is_a_warning() -> None:
    check = default_check(rows(1, {"mix": [0] * 10, "fusion": [1] * 10}), "mix")
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.WARN
    assert "fusion by 1.000" in str(check.description)


@pytest.mark.long
def test_a_drop_since_the_snapshot_before_fails_the_check(offline: Settings, instance: dg.DagsterInstance) -> None:
    metadata, check = evaluated(offline, instance)
    assert check.passed
    assert "changes" not in check.metadata
    assert metadata["questions"] == 8
    assert (metadata["missing_gold"], metadata["unjudged"]) == ([], 0)
    assert "| naive | 1.000 [1.000, 1.000] |" in metadata["modes"]
    assert metadata["recall/naive"] == 1

    gone = list(FACTS)[:4]
    for path in gone:
        (offline.sources / "notes" / path).unlink()
    publish_sources(
        offline.changed(documents={"max_deleted_share": 1.0}), {"notes": {"other.md": "Nobody repaired anything."}}
    )
    metadata, check = evaluated(offline, instance)
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.WARN
    assert "naive recall" in str(check.metadata["dropped"].value)
    assert metadata["missing_gold"] == [f"notes/{path}" for path in gone]
    assert "| naive | recall@5 | 1.000 | 0.500 | -0.500 [" in str(check.metadata["changes"].value)
    history = SourceTables(Home(offline.home)).read("retrieval_evaluation", ALL_SOURCES)
    assert set(history["sequence"].to_pylist()) == {1, 2}


@pytest.mark.long
def test_the_same_again_is_the_same_data_version(offline: Settings, instance: dg.DagsterInstance) -> None:
    for _ in range(2):
        evaluated(offline, instance)
    records = instance.fetch_materializations(dg.AssetKey("retrieval_evaluation"), limit=2).records
    assert len({dict(one.asset_materialization.tags or {})["dagster/data_version"] for one in records}) == 1  # type: ignore[union-attr]


def test_without_questions_there_are_no_rows(offline: Settings, instance: dg.DagsterInstance) -> None:
    none = offline.model_copy(update={"questions": None})
    metadata, check = evaluated(none, instance)
    assert check.passed
    assert metadata["dagster/row_count"] == 0


@pytest.mark.long
def test_answers_are_judged_by_a_language_model_and_paid_once(
    offline: Settings, instance: dg.DagsterInstance, loopback: Loopback
) -> None:
    def chat(body: dict[str, Any]) -> str:
        if "You judge" in body["messages"][0]["content"]:
            return '{"faithfulness": 5, "relevance": 4}'
        return "Ada\n\n### References\n\n- [1] notes/ada.md"

    loopback.chat = chat
    asking = load_settings(
        **offline.model_dump() | {"llm": {"provider": "openai", "model": "gpt-4o-mini", "max_concurrency": 2}}
    )
    metadata, _ = evaluated(asking, instance)
    assert "faithfulness" in metadata["modes"]
    stored = SourceTables(Home(offline.home)).read("evaluated_questions", ALL_SOURCES).to_pylist()
    judged = [row for row in stored if row["mode"] == "fusion"]
    assert {row["answer"] for row in judged} == {"Ada"}
    assert sum(row["exact_match"] for row in judged) == 1
    assert {(row["faithfulness"], row["relevance"]) for row in judged} == {(1, 0.75)}
    assert {row["answer"] for row in stored if row["mode"] == "bm25"} == {None}

    calls = {purpose: one.calls for purpose, one in Ledger(Home(offline.home).ledger).by_purpose().items()}
    assert (calls["answer"], calls["judge"]) == (8, 8)
    asked = len(loopback.requests)
    evaluated(asking, instance)
    assert len(loopback.requests) == asked
