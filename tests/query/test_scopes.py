"""Through every method and command, a scope says the same whatever documents are hidden."""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from typer.testing import CliRunner

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.cli.app import app
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.errors import DecisionError, LightRAGError
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.settings import Settings
from tests.pipeline.test_scopes import write_all
from tests.query.filters.test_leaks import SOURCES, decided, documents
from tests.support import build

Texts = Mapping[str, Mapping[str, str]]
"""Source → path → text."""

Rule = Mapping[str, tuple[str, ...]]
Way = Callable[[Texts, Texts], tuple[Texts, Rule]]
"""Returns what is written of shown and of hidden documents, and the rule of the scope."""

SHOWN = SOURCES[:2]
QUESTION = "Who leads the office in Bergen, and who repaired the gauge?"
COMMANDS = (
    ["status"],
    ["status", "--json"],
    ["find", "Marta"],
    ["find", "Qofficex"],
    ["entity", "Qofficex Instruments"],
    ["entity", "Bergen"],
    ["neighbours", "Jonas Feld", "--hops", "3"],
    ["path", "Bergen", "Jonas Feld"],
    ["path", "Bergen", "Marta Qofficex"],
    ["query", QUESTION, "--source", "offic"],
    ["query", QUESTION, "--json"],
    ["query", QUESTION, "--mode", "mix", "--only-prompt"],
    ["sql", "FROM snapshots SELECT sequence, documents, chunks, entities"],
    ["sql", "SELECT * FROM costs"],
    ["sql", "SELECT * FROM ledger"],
    ["sql", "SELECT count(*) FROM ofice"],
    ["facts"],
    ["count"],
)


def shown_by_source(found: Texts, hidden: Texts) -> tuple[Texts, Rule]:
    return {**{source: found[source] for source in SHOWN}, **hidden}, {"sources": SHOWN}


def shown_by_path(found: Texts, hidden: Texts) -> tuple[Texts, Rule]:
    """Hide documents in the same sources, and one source that has no others."""
    written = {source: {f"open/{path}": text for path, text in found[source].items()} for source in SHOWN}
    return together(written, hidden), {"paths": ("open/*",)}


def shown_by_tag(found: Texts, hidden: Texts) -> tuple[Texts, Rule]:
    def tagged(texts: Texts, tags: str) -> Texts:
        front = f"---\ntags: [{tags}]\n---\n\n"
        return {source: {path: front + text for path, text in of.items()} for source, of in texts.items()}

    shown = tagged({source: found[source] for source in SHOWN}, "Public, dam")
    return together(shown, tagged(hidden, "dam, secret")), {"tags": ("public",)}


def shown_by_access(found: Texts, hidden: Texts) -> tuple[Texts, Rule]:
    """Show documents by a file beside each; those that are hidden have another value, or no such file."""
    shown = {source: {**found[source], **{f"{path}.access": "all" for path in found[source]}} for source in SHOWN}
    others = {source: {**of, **{f"{path}.access": "board" for path in sorted(of)[:1]}} for source, of in hidden.items()}
    return together(shown, others), {"access": ("all",)}


def together(shown: Texts, hidden: Texts) -> Texts:
    """Return what is shown, with what is hidden in the same sources by names of its own."""
    found = {source: dict(texts) for source, texts in shown.items()}
    for target, source in zip((*SHOWN, "office"), sorted(hidden), strict=False):
        found.setdefault(target, {}).update({f"shut/{path}": text for path, text in hidden[source].items()})
    return found


def two_homes(folder: Path, settings: Settings, seed: int, way: Way) -> Iterator[Settings]:
    """Build homes with the same shown documents and decisions, and with other hidden documents."""
    chance = random.Random(seed)
    found = documents(chance)
    decisions = [one for one, _ in decided(chance)]
    others = documents(random.Random(chance.random()))
    for name in ("one", "other"):
        hidden = {} if name == "other" else {"office": found["office"], "more": others["archive"]}
        texts, rule = way(found, hidden)
        home = settings.changed(home=folder / name / "home", sources=folder / name / "sources", scopes={"shown": rule})
        write_all(home, texts)
        if "access" in rule:
            read = {one: {"uri": str(home.sources / one), "access": {"**": "{sidecar}"}} for one in texts}
            (folder / "others").mkdir(exist_ok=True)
            home = home.changed(sources=folder / "others", named_sources=read)
        for one in decisions:
            with suppress(DecisionError):
                take(home, [one])
        build(home, graph=True)
        yield home


def said(knowledge: KnowledgeBase) -> dict[str, Any]:
    """Return the answers of every method, or the error."""
    asked: dict[str, Callable[[], Any]] = {}
    for mode in get_args(ModeName):
        for filters in (None, Filters(sources="notes"), Filters(sources="office"), Filters(paths="q*")):
            asked[f"{mode} {filters}"] = partial(retrieved, knowledge, mode=mode, filters=filters)
        asked[f"query {mode}"] = partial(answered, knowledge, mode)
        asked[f"prompt {mode}"] = partial(knowledge.prompt, QUESTION, mode=mode)
    for name in ("Marta", "Bergen", "Qofficex Instruments", "Marta Qnotesx", "Jonas Feld"):
        asked[f"find {name}"] = partial(knowledge.find, name)
        asked[f"entity {name}"] = partial(knowledge.entity, name)
        asked[f"neighbours {name}"] = partial(knowledge.neighbours, name, hops=2)
        asked[f"path {name}"] = partial(knowledge.path, "Bergen", name)
    tables = [row["name"] for row in knowledge.sql("SHOW TABLES").to_pylist()]
    for table in tables:
        asked[f"sql {table}"] = partial(rows_of, knowledge, table)
    pairs = "MATCH (a)-[r]->(b) RETURN a, r, b ORDER BY a.id, b.id"
    asked["cypher"] = partial(knowledge.cypher, pairs, limit=10_000)
    return {name: outcome(ask) for name, ask in asked.items()} | {"tables": tables, "rows": knowledge.manifest.rows}


def outcome(ask: Callable[[], Any]) -> str:
    try:
        return repr(ask())
    except LightRAGError as error:
        return f"{type(error).__name__}: {error}"


def retrieved(knowledge: KnowledgeBase, **options: Any) -> object:
    """Return what is found, without the milliseconds of its steps."""
    found = json.dumps(knowledge.retrieve(QUESTION, **options).to_dict())
    return json.loads(found, object_hook=lambda one: {name: one[name] for name in one if name != "milliseconds"})


def answered(knowledge: KnowledgeBase, mode: ModeName) -> str:
    return knowledge.query(QUESTION, mode=mode).text


def rows_of(knowledge: KnowledgeBase, table: str) -> object:
    return knowledge.sql(f"FROM {table} ORDER BY ALL").to_pylist()


def _plain(text: str, home: Settings) -> str:
    """Return what is printed without places, times, and the bytes of stores, which vary by themselves."""
    text = re.sub(r"\s+", " ", text.replace(str(home.home.parent), ""))
    return re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.+]+|\d+(\.\d+)? ?ms|(_bytes|milliseconds)\": [\d.e-]+", "", text)


def compare(folder: Path, settings: Settings, seed: int, way: Way) -> None:
    one, other = two_homes(folder, settings, seed, way)
    found = []
    for home in (one, other):
        with KnowledgeBase.open(home.home, scope="shown", settings=home) as knowledge:
            found.append(said(knowledge) | {"id": knowledge.snapshot_id})
    for name in found[0]:
        assert found[0][name] == found[1][name], name
    for command in COMMANDS:
        printed = []
        for home in (one, other):
            result = CliRunner().invoke(app, ["--home", str(home.home), "--scope", "shown", *command])
            printed.append((result.exit_code, _plain(result.output, home)))
        assert printed[0] == printed[1], command


@pytest.mark.long
@pytest.mark.parametrize("way", [shown_by_source, shown_by_path, shown_by_tag, shown_by_access])
@bounds(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_a_scope_says_the_same_whatever_is_hidden(
    tmp_path_factory: pytest.TempPathFactory, settings: Settings, way: Way, seed: int
) -> None:
    compare(tmp_path_factory.mktemp("homes"), settings, seed, way)
