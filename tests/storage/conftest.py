from pathlib import Path

import pytest

from tests.storage.years import History, Years


@pytest.fixture(scope="session")
def _history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return History(tmp_path_factory.mktemp("years"))


@pytest.fixture
def years(_history: History, tmp_path: Path) -> Years:
    """Homes with some snapshots of the same source, to be changed by one test."""
    return lambda number: _history.copy(number, tmp_path)
