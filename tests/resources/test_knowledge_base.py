"""The query resource in Dagster, and in a code location that is not ours."""

import asyncio
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import lightrag_dagster
from lightrag_dagster import Filters, KnowledgeBaseResource
from lightrag_dagster.errors import NoSnapshotError, SettingsError
from lightrag_dagster.storage.home import Home

STATION = "Who closed Station 14 in the flood?"
PROJECT = Path(lightrag_dagster.__file__).parent.parent


def test_an_asset_asks_and_everything_is_closed_after_the_run(published_home: Path) -> None:
    @dg.asset
    def briefing(knowledge: KnowledgeBaseResource) -> dict[str, str]:
        found = knowledge.retrieve(STATION, mode="naive")
        return {"answer": knowledge.query(STATION).text, "path": found.chunks[0].path}

    result = dg.materialize([briefing], resources={"knowledge": KnowledgeBaseResource(home=str(published_home))})
    assert result.output_for_node("briefing")["path"] == "flood.md"
    assert "Jonas Feld" in result.output_for_node("briefing")["answer"]
    assert "lightrag-models" not in [thread.name for thread in threading.enumerate()]


def test_an_asset_lists_and_counts_facts(facts_home: Path) -> None:
    @dg.asset
    def chiefs(knowledge: KnowledgeBaseResource) -> dict[str, object]:
        found = knowledge.knowledge_base.facts(
            "Orrin Instruments", relation="chief_executive", as_of="2021-06", filters=Filters("crm")
        )
        counted = knowledge.knowledge_base.count(by="relation", source="crm")
        return {"led by": [one.object for one in found], "facts": {one.key: one.count for one in counted.counts}}

    result = dg.materialize([chiefs], resources={"knowledge": KnowledgeBaseResource(home=str(facts_home))})
    assert result.output_for_node("chiefs")["led by"] == ["Priya Nair"]
    assert result.output_for_node("chiefs")["facts"]["chief_executive"] == 8


def test_it_opens_at_the_first_question_and_then_stays_with_its_snapshot(published_home: Path, tmp_path: Path) -> None:
    home = Home(Path(shutil.copytree(published_home, tmp_path / "home")))
    pointer = home.published.read_text()
    home.published.unlink()

    @dg.asset
    def publishing() -> None:
        home.published.write_text(pointer)

    @dg.asset(deps=[publishing])
    def asking(knowledge: KnowledgeBaseResource) -> list[str]:
        first = knowledge.query(STATION).snapshot_id
        home.published.unlink()
        return [first, knowledge.query(STATION).snapshot_id]

    result = dg.materialize([publishing, asking], resources={"knowledge": KnowledgeBaseResource(home=str(home.root))})
    first, second = result.output_for_node("asking")
    assert first == second


def test_threads_tasks_and_batches_share_one_opening(published_home: Path) -> None:
    resource = KnowledgeBaseResource(home=str(published_home))

    async def service() -> list[str]:
        asked = [resource.knowledge_base.aquery(STATION), resource.knowledge_base.aquery(STATION, mode="naive")]
        return [answer.text for answer in await asyncio.gather(*asked)]

    with ThreadPoolExecutor(4) as threads:
        opened = set(threads.map(lambda _: id(resource.knowledge_base), range(8)))
    assert len(opened) == 1
    texts = asyncio.run(service())
    assert texts == [resource.query(STATION).text, resource.query(STATION, mode="naive").text]
    assert [answer.text for answer in resource.query_batch([STATION, STATION])] == texts[:1] * 2
    resource.knowledge_base.close()


def test_a_snapshot_and_settings_can_be_configured(published_home: Path) -> None:
    (snapshot_id,) = [path.name for path in published_home.glob("generations/gen-*")]
    resource = KnowledgeBaseResource(
        home=str(published_home), snapshot_id=snapshot_id, settings={"query": {"mode": "naive", "chunk_top_k": 1}}
    )
    with resource.open() as knowledge:
        found = knowledge.retrieve(STATION)
    assert (found.mode, len(found.chunks), found.snapshot_id) == ("naive", 1, snapshot_id)


def test_its_database_may_be_a_variable_that_the_run_reads(
    published_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that Dagster, which shows the configuration of resources, has the name alone."""

    @dg.asset
    def asking(knowledge: KnowledgeBaseResource) -> str:
        return knowledge.query(STATION).text

    resource = KnowledgeBaseResource(home=str(published_home), database=dg.EnvVar("KB_DATABASE"))
    monkeypatch.setenv("KB_DATABASE", "mysql://reader:secret@127.0.0.1:9/kb")
    with pytest.raises(SettingsError, match="write a URL that begins with postgresql://") as found:
        dg.materialize([asking], resources={"knowledge": resource})
    assert "secret" not in str(found.value)


@pytest.mark.parametrize("name", ["home", "scope", "database"])
def test_settings_cannot_name_another_home_or_scope(published_home: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is an argument of its own"):
        KnowledgeBaseResource(home=str(published_home), settings={name: "elsewhere"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lllm": {"provider": "openai"}}, "setting lllm does not exist; did you mean llm"),
        ({"llm": {"provider": "ofline"}}, "setting llm.provider: .*; did you mean offline"),
    ],
)
def test_misspelt_settings_are_refused_where_the_code_is_loaded(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KnowledgeBaseResource(home="data", settings=settings)


def test_settings_may_need_others_of_the_environment() -> None:
    settings = {"named_sources": {"letters": {"types": ["letter"]}}, "chunking": {"overlap_tokens": 5000}}
    assert KnowledgeBaseResource(home="data", settings=settings).settings == settings


def test_nothing_published_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshotError, match="lightrag-dagster run"):
        KnowledgeBaseResource(home=str(tmp_path)).query(STATION)


def _python(code: str, folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", f"import sys; sys.path.append({str(PROJECT)!r})\n{code}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long  # test_imports.py holds it too
def test_asking_imports_no_dagster(published_home: Path, tmp_path: Path) -> None:
    _python(
        f"""
import lightrag_dagster
assert not [name for name in ("pyarrow", "lancedb", "duckdb") if name in sys.modules]
from lightrag_dagster import KnowledgeBase, Retrieval
with KnowledgeBase.open({str(published_home)!r}) as knowledge:
    assert isinstance(knowledge.retrieve({STATION!r}), Retrieval)
loaded = [name for name in ("dagster", "assets", "resources", "openai") if name in sys.modules]
assert not loaded, loaded
""",
        tmp_path,
    )


@pytest.mark.long
def test_it_works_beside_other_packages_of_the_same_names(published_home: Path, tmp_path: Path) -> None:
    (tmp_path / "resources.py").write_text("raise RuntimeError('not for lightrag_dagster')")
    (tmp_path / "assets.py").write_text(
        """
import dagster as dg
from lightrag_dagster import KnowledgeBaseResource

@dg.asset
def briefing(knowledge: KnowledgeBaseResource) -> str:
    return knowledge.query("Who closed Station 14 in the flood?").text
"""
    )
    _python(
        f"""
import dagster as dg
from assets import briefing
from lightrag_dagster import KnowledgeBaseResource
resource = KnowledgeBaseResource(home=dg.EnvVar("ELSEWHERE"))
import os
os.environ["ELSEWHERE"] = {str(published_home)!r}
result = dg.materialize([briefing], resources={{"knowledge": resource}})
assert "Jonas Feld" in result.output_for_node("briefing")
assert "resources" not in sys.modules
""",
        tmp_path,
    )


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Knowledge'"):
        lightrag_dagster.Knowledge  # noqa: B018
