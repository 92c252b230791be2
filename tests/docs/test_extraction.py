import json
import re
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.settings import load_settings
from tests.cli.test_cli import command
from tests.loopback import Loopback
from tests.models.models import offline_answer
from tests.pipeline.test_ingest import ingest_all
from tests.support import RIVER, write_source

PAGE = (Path(__file__).parents[2] / "docs" / "extraction.md").read_text(encoding="utf-8")
DAMAGED = ("relation<|#|>Halden Weir<|#|>Bergen<|#|>lies in", "entity | Bergen | location | A town.")


@pytest.mark.long
def test_rejected_rows_are_listed_as_the_model_wrote_them(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    def answer(body: dict[str, Any]) -> str:
        return "\n".join([*DAMAGED, offline_answer(body)])

    loopback.chat = answer
    settings = load_settings(
        home=tmp_path / "data",
        sources=tmp_path / "sources",
        extraction={"gleaning": 0, "max_rejected_share": 1.0},
        llm={"provider": "openai", "model": "gpt-4o-mini"},
    )
    write_source(settings, "notes", {"river.md": RIVER})
    ingest_all(settings, "notes")
    (query,) = re.findall(r'sql "(select path, reason, line.*?)"\n', PAGE, re.DOTALL)
    code, output, _ = command(capfd, monkeypatch, "--home", str(settings.home), "sql", query, "--format", "json")
    assert code == 0
    found = [(row["path"], row["line"]) for row in json.loads(output)]
    assert found == [("river.md", line) for line in sorted(DAMAGED)]
