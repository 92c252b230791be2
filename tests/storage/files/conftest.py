from pathlib import Path

import pytest

from tests.storage.files.machines import Machine, machines


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Homes on machines by name, which share one bucket in memory."""
    return machines(tmp_path, monkeypatch)
