"""The record of an upstream asset's partitions."""

from pathlib import Path

import pytest

from lightrag_dagster.errors import SourceError, StoreError
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


def test_dimensions_that_become_known_are_recorded_too(tmp_path: Path) -> None:
    home, versions = Home(tmp_path), {"2026-01-01|de": "7"}
    record_partitions(home, "tickets", "crawl/tickets", versions, 0)  # as by an earlier version of the package
    assert known_partitions(home, "tickets", "crawl/tickets", {"day", "lang"}) == versions
    record_partitions(home, "tickets", "crawl/tickets", versions, 0, ["language", "day"])
    assert known_partitions(home, "tickets", "crawl/tickets", {"language", "day"}) == versions
    assert known_partitions(home, "tickets", "crawl/tickets") == versions
    said = "source 'tickets' names the dimensions day, lang, and crawl/tickets has day, language; correct them in uri"
    with pytest.raises(SourceError, match=said):
        known_partitions(home, "tickets", "crawl/tickets", {"lang", "day"})
