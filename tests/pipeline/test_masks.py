"""A mask of a source: nothing that it takes away is stored in the home, or sent to a provider."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.origin import ListedFile
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Loopback
from tests.support import build, write_source
from tests.traces import places

PAGE = (Path(__file__).parents[2] / "docs/extending.md").read_text("utf-8")
SAMPLES = Path(__file__).parents[1] / "readers/samples"
SECRETS = ["marta@halden.example", "DE02 1203 0000 0000 2020 51", "+49 (170) 555 0199", "plan-omega"]
LETTERS = {
    "a.md": "---\nauthor: marta@halden.example\ntags: [marta@halden.example]\n---\n# From marta@halden.example\n\nCall "
    "+49 (170) 555 0199 about Halden Weir, or pay Orrin Instruments to DE02 1203 0000 0000 2020 51.",
    "b.md": "# Order\n\nSTRICTLY CONFIDENTIAL: plan-omega.",
    "c.md": "Halden Weir has number 170, built in 2019.",
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module of docs/extending.md, where Python finds it."""
    (example,) = (code for code in re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL) if "def mask" in code)
    path = tmp_path / "modules" / "masking.py"
    path.parent.mkdir()
    path.write_text(example)
    monkeypatch.syspath_prepend(path.parent)
    monkeypatch.delitem(__import__("sys").modules, "masking", raising=False)
    return path


def settings_of(tmp_path: Path, named: dict[str, Any], **more: Any) -> Settings:
    (tmp_path / "sources").mkdir(exist_ok=True)
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        named_sources={"letters": {"mask": "masking.mask"} | named},
        documents={"max_failed_share": 0.5} | more.pop("documents", {}),
        **more,
    )


def letters(tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "letters"
    folder.mkdir(exist_ok=True)
    for name, text in LETTERS.items():
        (folder / name).write_text(text)
    return {"uri": str(folder)}


def rows_of_a_table(tmp_path: Path) -> dict[str, Any]:
    """The same letters as rows with a watermark, of which a run keeps what it has still to read."""
    said = {"author": "marta@halden.example", "tags": ["marta@halden.example"]}  # of a.md, whose cells say it apart
    lines = [
        json.dumps({"id": name, "text": text.rpartition("---\n")[2], "at": number} | (said if not number else {}))
        for number, (name, text) in enumerate(LETTERS.items())
    ]
    (tmp_path / "letters.jsonl").write_text("\n".join(lines))
    return {"uri": str(tmp_path / "letters.jsonl"), "rows": {"watermark": "at", "author": "author", "tags": "tags"}}


def documents(settings: Settings) -> dict[str, dict[str, Any]]:
    columns = ["path", "title", "content", "author", "tags", "status", "error"]
    found = SourceTables(Home(settings.home)).read("raw_documents", "letters", columns=columns).to_pylist()
    return {row["path"]: row for row in found}


@pytest.mark.parametrize("source", [letters, pytest.param(rows_of_a_table, marks=pytest.mark.long)])
@pytest.mark.usefixtures("module")
def test_what_is_masked_or_refused_is_neither_stored_nor_sent(tmp_path: Path, loopback: Loopback, source: Any) -> None:
    settings = settings_of(tmp_path, source(tmp_path), llm={"provider": "openai", "model": "gpt-4o-mini"})
    assert build(settings).failed == {}
    found = documents(settings)
    assert found["a.md"] == {
        "path": "a.md",
        "title": "From [mail]",
        "content": "# From [mail]\n\nCall [phone] about Halden Weir, or pay Orrin Instruments to [iban].",
        "author": "[mail]",
        "tags": ["[mail]"],
        "status": "processed",
        "error": None,
    }
    assert (found["b.md"]["status"], found["b.md"]["content"]) == ("failed", "")
    assert found["b.md"]["error"] == "masking.mask refused it: it is strictly confidential"
    assert found["c.md"]["content"] == LETTERS["c.md"]
    assert places(Home(settings.home), SECRETS) == {}
    assert len(loopback.requests) > 0
    assert [word for word in SECRETS for one in loopback.requests if word in json.dumps(one.body)] == []
    assert places(Home(settings.home), ["halden weir"]) != {}  # else the search finds nothing at all


@pytest.mark.parametrize("source", [letters, rows_of_a_table])
def test_what_failed_before_or_in_the_function_is_kept_nowhere_and_tried_again(
    tmp_path: Path, module: Path, source: Any
) -> None:
    failing = f"""
def mask(text):
    if "omega" in text and not __import__("os").path.exists("{tmp_path}/up"):
        raise ConnectionError(text)
    return text.replace("plan-omega", "").replace("marta@halden.example", "[mail]")
"""
    module.write_text(module.read_text() + failing)
    settings = settings_of(tmp_path, source(tmp_path), documents={"max_failed_share": 1.0, "max_bytes": 100})
    tables, recipes, found = SourceTables(Home(settings.home)), Recipes.of(settings), find_source(settings, "letters")
    read_source(found, tables, recipes)
    errors = {name: row["error"] for name, row in documents(settings).items()}
    assert (errors["a.md"], errors["b.md"]) == (
        "larger than documents.max_bytes = 100",
        "masking.mask failed: ConnectionError",
    )
    assert places(Home(settings.home), SECRETS) == {}
    assert "input changed" in str(why_ingest(found, tables, recipes))
    (tmp_path / "up").touch()
    read_source(found, tables, recipes)
    after = documents(settings)
    assert (after["a.md"]["error"], after["b.md"]["status"]) == (errors["a.md"], "processed")
    assert after["b.md"]["content"].startswith("# Order")
    assert places(Home(settings.home), SECRETS) == {}


class Unreadable(LocalFolder):
    """A folder of which files can be listed, and not be opened."""

    def read(self, listed: ListedFile, most: int) -> bytes:
        raise OSError(13, "Permission denied")


@pytest.mark.usefixtures("module")
def test_a_text_that_the_mask_of_today_did_not_see_stays_in_no_document_that_cannot_be_opened(tmp_path: Path) -> None:
    place = letters(tmp_path)
    for mask in (None, "masking.mask"):
        settings = settings_of(tmp_path, place | {"mask": mask}, documents={"max_failed_share": 1.0})
        tables, recipes, found = (
            SourceTables(Home(settings.home)),
            Recipes.of(settings),
            find_source(settings, "letters"),
        )
        read_source(replace(found, origin=Unreadable(Path(place["uri"]))) if mask else found, tables, recipes)
    said = ("failed", "cannot be read: Permission denied", "")
    assert [(one["status"], one["error"], one["content"]) for one in documents(settings).values()] == [said] * 3
    read_source(found, tables, recipes)
    assert documents(settings)["a.md"]["author"] == "[mail]"
    (tmp_path / "letters/a.md").write_text("edited")
    for of in (tables, SourceTables(Home(settings.home), candidate=True)):
        read_source(replace(found, origin=Unreadable(Path(place["uri"]))), of, recipes)
        [stale] = [one for one in of.read("raw_documents", "letters").to_pylist() if one["path"] == "a.md"]
        assert (stale["status"], stale["author"]) == ("stale", "[mail]")


@pytest.mark.long
def test_an_edit_of_the_function_has_its_source_read_again(tmp_path: Path, module: Path) -> None:
    settings = settings_of(tmp_path, letters(tmp_path))
    write_source(settings, "unmasked", {"c.md": LETTERS["c.md"]})
    build(settings)
    assert [one.ingest for one in pending(Situation.looking(settings)).sources.values()] == [None, None]
    module.write_text(module.read_text().replace("VERSION = 1", "VERSION = 2"))
    states = pending(Situation.looking(settings)).sources
    assert {name: one.ingest for name, one in states.items()} == {
        "letters": "raw_documents, code or settings changed",
        "unmasked": None,
    }


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, "named_sources.letters.mask masking.mask: there is no such module; give the dotted path"),
        ("", "named_sources.letters.mask masking.mask: AttributeError: module 'masking' has no attribute 'mask'; give"),
        ("def mask(text): raise KeyError(text)", "3 of 3 documents of source 'letters' failed (100.0%), more than"),
    ],
)
def test_a_function_that_cannot_be_used_withholds_the_source(
    tmp_path: Path, module: Path, code: str | None, reason: str
) -> None:
    if code is None:
        module.unlink()
    else:
        module.write_text(code)
    settings = settings_of(tmp_path, letters(tmp_path))
    done = build(settings)
    assert reason in (done.failed | done.rejected)["letters"]
    assert places(Home(settings.home), SECRETS) == {}


@pytest.mark.long
@pytest.mark.usefixtures("module")
def test_images_are_not_described(tmp_path: Path, loopback: Loopback) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "figures.docx").write_bytes((SAMPLES / "figures.docx").read_bytes())
    settings = settings_of(
        tmp_path,
        {"uri": str(folder)},
        documents={"describe_figures": True},
        llm={"provider": "openai", "model": "gpt-4o-mini"},
    )
    build(settings)
    assert documents(settings)["figures.docx"]["status"] == "processed"
    assert len(loopback.requests) > 0
    assert [one for one in loopback.requests if "image_url" in json.dumps(one.body)] == []
    assert pending(Situation.looking(settings)).sources["letters"].ingest is None
