"""The record of an upstream asset's partitions."""

from pathlib import Path

import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.upstream import known_partitions, record_partitions


def test_a_damaged_record_is_replaced_when_dagster_is_asked_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    record_partitions(home, "tickets", "crawl/tickets", {"1": "7 a"}, 0)
    assert known_partitions(home, "tickets", "crawl/tickets") == {"1": "7 a"}
    assert known_partitions(home, "tickets", "crawl/others") is None
    (record,) = tmp_path.rglob("upstream.json")
    record.write_text("{")
    with pytest.raises(StoreError, match=r"upstream.json is damaged; delete it and run"):
        known_partitions(home, "tickets", "crawl/tickets")
    record_partitions(home, "tickets", "crawl/tickets", {"1": "7 a"}, 0)
    assert known_partitions(home, "tickets", "crawl/tickets") == {"1": "7 a"}
