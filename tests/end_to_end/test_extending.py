"""The packages of docs/extending.md, installed beside others that fail: each costs its own files or source alone."""

import json
import os
import re
import subprocess
import sys
import tomllib
from email.message import EmailMessage
from mailbox import mbox
from pathlib import Path
from typing import Any

import pytest

from tests.packages import install

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/extending.md").read_text("utf-8")
SUBTITLES = "1\n00:00:01,000 --> 00:00:04,000\n# Halden Weir\n\n2\n00:00:05,000 --> 00:00:09,000\nThe weir holds.\n"
SAID = "# Halden Weir\n\nThe weir holds."

PROGRAM = """
import json
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.documents.sources import chosen_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.support import build

settings = load_settings()
failed, tables = build(settings).failed, SourceTables(Home.of(settings))
names = [source.name for source in chosen_sources(settings, ()) if source.name not in failed]
columns = ["path", "title", "content", "media_type", "status", "error"]
rows = [row for name in names for row in tables.read("raw_documents", name, columns=columns).to_pylist()]
print(json.dumps({"failed": failed, "rows": rows, "code": Recipes.of(settings).table_recipes["raw_documents"]}))
"""


def examples() -> list[tuple[dict[str, Any], str]]:
    """Return the pyproject.toml and the module of each example of the page."""
    found = re.findall(r"```python\n([^`]+)```\n\n```toml\n([^`]+)```", PAGE)
    return [(tomllib.loads(project), module) for module, project in found]


def install_examples(site: Path) -> None:
    for project, module in examples():
        points = project["project"]["entry-points"]
        install(site, project["project"]["name"], project["project"]["version"], points)
        [value] = [value for one in points.values() for value in one.values()]
        (site / f"{value.partition(':')[0]}.py").write_text(module, encoding="utf-8")


def build_beside(site: Path, folder: Path) -> dict[str, Any]:
    """Build in a process of its own that finds the packages of `site`; return its report."""
    environment = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "LIGHTRAG_SOURCES": "sources"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_documents(folder: Path) -> None:
    """Write a folder of subtitles, a mailbox, and the settings that name it."""
    (folder / "sources/talks").mkdir(parents=True)
    for name, text in {
        "a.srt": SUBTITLES,
        "b.SRT": "no times",
        "c.broken": "x",
        "d.twice": "x",
        "e.md": "# E",
        "f.dies": "x",
    }.items():
        (folder / "sources/talks" / name).write_text(text)
    box = mbox(folder / "list.mbox")
    for number in (1, 2, 1, 3):
        mail = EmailMessage()
        mail["Subject"] = f"Gauge {number}"
        if number < 3:
            mail["Message-ID"] = f"<{number}@halden.example>"
        mail.set_content(f"The gauge {number} was read.")
        box.add(mail)
    box.close()
    uris = {"list": f"mbox://{folder}/list.mbox", "gone": "nowhere://x"}
    named = "".join(f'  {name}: {{uri: "{uri}", exclude: ["2@*"]}}\n' for name, uri in uris.items())
    (folder / "lightrag.yaml").write_text(f"home: home\nnamed_sources:\n{named}")


@pytest.mark.long
def test_packages_of_others_read_formats_and_list_sources(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_examples(site)
    readers, sources = "lightrag_dagster.readers", "lightrag_dagster.sources"
    broken = {
        readers: {".broken": "half:read", ".twice": "half:read", ".dies": "hard:read"},
        sources: {"nowhere": "half:x"},
    }
    install(site, "half", "2.0", broken)
    install(site, "other", "3.1", {readers: {"twice": "other:read"}})
    (site / "half.py").write_text("import a_module_that_is_not_there")
    (site / "hard.py").write_text("import os\n\ndef read(data): os._exit(3)")
    write_documents(tmp_path)
    found = build_beside(site, tmp_path)
    rows = {row.pop("path"): row for row in found["rows"]}
    assert rows["a.srt"] == {
        "title": "Halden Weir",
        "content": SAID,
        "media_type": "application/x-srt",
        "status": "processed",
        "error": None,
    }
    assert {path: row["error"] for path, row in rows.items() if row["status"] == "failed"} == {
        "b.SRT": ".srt = acme_subtitles:read of acme-subtitles 1.0 failed: ValueError: it has no times, so these are "
        "no subtitles",
        "c.broken": ".broken = half:read of half 2.0 failed: ModuleNotFoundError: No module named "
        "'a_module_that_is_not_there'",
        "d.twice": "several packages bring .twice = half:read of half 2.0 and twice = other:read of other 3.1; "
        "keep one of them",
        "f.dies": "its parser ended; .dies = hard:read of half 2.0 ended it, or needs more memory than "
        "documents.max_memory_mb = 2048; raise it, or divide the file",
    }
    titles = {path: row["title"] for path, row in rows.items() if row["status"] == "processed"}
    [unnamed] = titles.keys() - {"a.srt", "e.md", "1@halden.example.eml"}
    assert len(unnamed) == 64 + len(".eml")
    assert titles == {"a.srt": "Halden Weir", "e.md": "E", "1@halden.example.eml": "Gauge 1", unnamed: "Gauge 3"}
    assert found["failed"] == {
        "gone": "source 'gone': nowhere://x cannot be listed: nowhere = half:x of half 2.0 failed: "
        "ModuleNotFoundError: No module named 'a_module_that_is_not_there'; nothing was changed. Correct that and run "
        "again"
    }


@pytest.mark.long
def test_another_version_of_a_reader_reads_again(tmp_path: Path) -> None:
    (tmp_path / "sources/talks").mkdir(parents=True)
    (tmp_path / "sources/talks/a.srt").write_text(SUBTITLES)
    (tmp_path / "lightrag.yaml").write_text("home: home\n")
    first, second = tmp_path / "first", tmp_path / "second"
    install_examples(first)
    module = (first / "acme_subtitles.py").read_text().replace('_CUE.sub("", text)', '_CUE.sub("", text).upper()')
    install(second, "acme-subtitles", "1.1", {"lightrag_dagster.readers": {".srt": "acme_subtitles:read"}})
    (second / "acme_subtitles.py").write_text(module)
    before, after = build_beside(first, tmp_path), build_beside(second, tmp_path)
    assert before["code"] != after["code"]
    assert [row["content"] for row in before["rows"] + after["rows"]] == [SAID, SAID.upper()]
