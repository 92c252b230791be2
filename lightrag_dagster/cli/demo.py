"""`demo`: everything on the sample sources, offline."""

import sys
import time
from pathlib import Path
from shlex import quote

from rich.console import Console

import lightrag_dagster
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.cli.losses import print_few
from lightrag_dagster.cli.progress import display
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import StoreError
from lightrag_dagster.orchestration.runner import bring_up_to_date, make_report
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.settings.sources import SourceSettings
from lightrag_dagster.settings.yaml_files import read_settings
from lightrag_dagster.storage.manifests import Manifest

QUESTION = "What does the duty officer do at an amber alarm?"
_EXAMPLES = (Path(lightrag_dagster.__file__).parent / "examples").resolve()  # in a clone a link


def run_demo(console: Console) -> None:
    """Build, publish and ask; print the counts and the commands to try next.

    Raises:
        StoreError: the home is that of other sources, which the demo would replace.
    """
    settings = demo_settings(load_settings(), _EXAMPLES)
    _require_own_home(settings)
    started = time.perf_counter()
    with display(console) as shown:
        outcome = bring_up_to_date(settings, [], shown)
        make_report(settings, shown)  # so that the UI shows no asset that is missing
    assert outcome.states.manifest is not None
    _print_built(console, outcome.states.manifest, time.perf_counter() - started)
    withheld = outcome.failed | outcome.rejected
    print_few(console, (f"{source} is withheld: {reason}" for source, reason in withheld.items()), "red")
    with KnowledgeBase.open(settings=settings) as knowledge_base:
        answer = knowledge_base.query(QUESTION)
    console.print(f"\n{QUESTION}\n", style="bold")
    console.print(answer.text)
    console.print(_next_commands(settings.home))


def _require_own_home(settings: Settings) -> None:
    situation = Situation.looking(settings)
    published = situation.published.inputs.sources if situation.published else {}
    others = sorted(published.keys() - situation.sources.keys() - {CURATION})
    if others:
        raise StoreError(
            f"{settings.home} publishes {', '.join(others[:3])}{' and others' if others[3:] else ''}, which the demo"
            " would replace; give it a home of its own: `lightrag-dagster --home demo demo`"
        )


def demo_settings(settings: Settings, examples: Path) -> Settings:
    """Return the defaults, which are offline, with the sample sources and questions, and places and jobs of `settings`.

    The home is `demo` unless one was chosen: another `run` in the default home is about other sources.
    """
    return Settings.model_construct().changed(
        home=settings.home if "home" in settings.model_fields_set else Path("demo"),
        cache=settings.cache,
        dagster=settings.dagster,
        sources=examples / "sources",
        named_sources=_tables(examples),
        questions=examples / "questions.yaml",
    )


def _tables(examples: Path) -> dict[str, SourceSettings]:
    """Return the sample sources that are rows of a table."""
    named = read_settings(examples / "lightrag.yaml").get("named_sources", {})
    return {name: SourceSettings(**{**one, "uri": str(examples.parent / one["uri"])}) for name, one in named.items()}


def _print_built(console: Console, manifest: Manifest, seconds: float) -> None:
    rows = manifest.rows
    counted = ("documents", "chunks", "entities", "relations")
    values = (rows["raw_documents"], *(rows[name] for name in counted[1:]), f"{seconds:.1f}")
    console.print(f"Built and published {manifest.snapshot_id}")
    print_table(console, [*counted, "seconds"], [values])
    if facts := rows.get("merged_facts"):
        console.print(f"{facts} facts with dates, from the columns of a list of prices")


def _next_commands(home: Path) -> str:
    here, clone = Path.cwd(), _EXAMPLES.parent
    installed = Path(sys.executable).with_name("lightrag-dagster")
    program = installed.relative_to(here) if installed.is_relative_to(here) else installed
    command = f"{quote(str(program))} --home {quote(str(home))}"
    at_home = (here, home.absolute()) == (clone, clone / "demo")
    ui = "make ui" if at_home else f"make -C {quote(str(clone))} ui LIGHTRAG_HOME={quote(str(home.absolute()))}"
    is_clone = (clone / "Makefile").exists()  # else installed from a wheel
    return "\n".join(
        (
            "",
            "Try next:",
            f'  {command} query "What happened at Station 14?" --mode local',
            f'  {command} sql "select name, type, degree from entities order by degree desc, name limit 10"',
            f"  {command} sql \"select subject, relation, coalesce(object, value) from facts_at('2024-07-01')\"",
            f"  {command} evaluate --questions {quote(str(_EXAMPLES / 'questions.yaml'))}",
            *([f"  {ui}      # lineage, runs and tables in the Dagster UI"] if is_clone else []),
        )
    )
