"""Memory of a process that opens, asks and closes a knowledge base again and again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lightrag_dagster.settings import load_settings
from tests.query.published import publish_sources

# Without Python's garbage collector a cycle that holds the vectors would keep them for good. From 3.12 on LanceDB makes
# one itself: the exception that ends its reader keeps the frames of all callers.
SCRIPT = """
import gc, sys
from lightrag_dagster import KnowledgeBase

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

if sys.version_info < (3, 12):
    gc.disable()
for number in range(60):
    with KnowledgeBase.open(sys.argv[1]) as knowledge:
        assert knowledge.retrieve("Who met Person 7?", mode="mix", top_k=10).entities
    if number == 9:
        before = resident()
print(resident() - before)
"""


@pytest.mark.long
def test_closing_frees_the_memory(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    people = [f"Person{number:04} Smith met Person{number + 1:04} Smith in Town{number:04}." for number in range(300)]
    publish_sources(settings, {"people": {f"{part}.md": " ".join(people[part::5]) for part in range(5)}})
    (vectors,) = (settings.home / "lance").glob("entity_vectors-*.lance")
    size = sum(path.stat().st_size for path in vectors.rglob("*.lance"))
    assert size > 1_000_000
    asked = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(settings.home)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"MALLOC_ARENA_MAX": "2"},
    )
    # 50 openings, of which one holds twice the size of these vectors at least.
    assert int(asked.stdout) < 10 * size
