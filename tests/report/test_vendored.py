"""The libraries in a page are those that their table names, with their licences."""

import hashlib
import re
from importlib.resources import files

VENDORED = files("lightrag_dagster.report") / "page" / "vendored"


def test_the_files_have_the_hashes_of_the_table() -> None:
    table = re.findall(r"^\| `([^`]+)` \|.*`([0-9a-f]{64})` \|$", (VENDORED / "README.md").read_text(), re.MULTILINE)
    found = {name: hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() for name, _ in table}
    assert found == dict(table)
    assert {one.name for one in VENDORED.iterdir() if one.name.endswith(".js")} == set(found)


def test_each_library_has_its_licence() -> None:
    for name in ("sigma", "graphology", "events", "graphology-utils"):
        assert "Permission is hereby granted" in (VENDORED / f"{name}.LICENSE.txt").read_text()
