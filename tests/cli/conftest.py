from pathlib import Path

import pytest

from tests.support import RIVER


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The folder of a source, `notes`, that holds one document, `river.md`."""
    folder = tmp_path / "sources" / "notes"
    folder.mkdir(parents=True)
    (folder / "river.md").write_text(RIVER)
    return folder
