from pathlib import Path

import pytest

from lightrag_dagster.storage.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")
