import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.facts import open_facts


@pytest.mark.long
def test_what_holds_on_a_day_is_what_sql_says(facts_home: Path) -> None:
    with KnowledgeBase.open(facts_home) as knowledge:
        facts = knowledge.snapshot.facts
        assert facts is not None
        days = [date(2018, 12, 31) + timedelta(days=61 * step) for step in range(40)]
        asked = ", ".join(f"DATE '{day}'" for day in days)
        held = knowledge.sql(
            f"SELECT day, list(fact_id ORDER BY fact_id) AS ids FROM fact_spans, (SELECT unnest([{asked}]) AS day)"
            " WHERE coalesce(holds_from <= day, true) AND coalesce(holds_to >= day, true) GROUP BY day"
        ).to_pylist()
        expected = {one["day"]: one["ids"] for one in held}
        for day in days:
            assert facts.table.rows["fact_id"].filter(facts.holding(day)).to_pylist() == expected.get(day, [])


@pytest.mark.parametrize("name", ["facts.arrow", "facts_ids.npy", "entity_facts_values.npy"])
def test_a_damaged_file_is_named_with_the_next_step(facts_home: Path, tmp_path: Path, name: str) -> None:
    home = shutil.copytree(facts_home, tmp_path / "home")
    (file,) = home.glob(f"generations/*/adjacency/{name}")
    file.write_bytes(b"")
    with pytest.raises(StoreError, match=rf"{name} has other content .*; run `lightrag-dagster run --verify`$"):
        KnowledgeBase.open(home)
    file.unlink()
    with pytest.raises(StoreError, match=r"; run `lightrag-dagster run --verify`$"):
        open_facts(file.parent)


def test_a_home_without_passes_has_no_file_of_facts(published_home: Path) -> None:
    assert not [*published_home.glob("generations/*/adjacency/*fact*")]
