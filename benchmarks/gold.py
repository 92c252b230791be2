"""Scores of a model that loses and forges rows at given rates, and the backfills that the gate stops.

    python -m benchmarks.gold DATA

DATA is a folder with `documents.jsonl` (id, title, text). The truth of a passage is made by a rule: its names are its
runs of capitalised words, and the first is related to the second, the third to the fourth, and so on. A server on
127.0.0.1 answers for language models that find this truth, but lose and forge rows at known rates; the passages go
through the real pipeline. Gold rows are those of 40 passages, other ones with each of 20 seeds.

Prints how many of the 95% intervals of precision, recall and F1 hold the rate, and how many backfills the gate stops
of a recipe that is worse, better or equal.
"""

import argparse
import json
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from lightrag_dagster.evaluation.gold.gate import Comparison, try_gold
from lightrag_dagster.evaluation.gold.judged import find_passages, judge
from lightrag_dagster.evaluation.gold.rows import read_gold
from lightrag_dagster.evaluation.gold.scores import MEASURES, score
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.stages.prompts.fencing import last_fenced
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.gold import reads_with, write_gold
from tests.loopback import serving

RATES = {"good": (0.10, 0.05), "same": (0.10, 0.05), "bad": (0.30, 0.05)}
"""The shares of rows that a model loses and forges: recall .90 or .70."""

SEEDS, CHUNKS = 20, 40
_PHRASE = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data, console = parser.parse_args().data, Console(highlight=False, width=120)
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        server.chat = reads_with(RATES, relations=True, names=lambda question: phrases(last_fenced(question) or ""))
        folder = Path(scratch)
        texts = prepared(data, folder, "good")
        assert prepared(data, folder, "bad") == texts
        for seed in range(SEEDS):
            some = random.Random(seed).sample(texts, CHUNKS)
            write_gold(folder / "gold" / f"{seed}.csv", some, relations=True, names=phrases)
        console.print(f"{len(texts)} passages; {SEEDS} samples of {CHUNKS}")
        for model in ("good", "bad"):
            console.print(f"{model}: {within_rates(folder, model)}")
        for stored, model in (("good", "bad"), ("bad", "good"), ("good", "same")):
            console.print(f"{stored} is stored, {model} is new: {gated(folder, stored, model)}")


def phrases(text: str) -> list[str]:
    """Return the runs of capitalised words in a text, each once in any case."""
    return list({one.casefold(): one for one in _PHRASE.findall(text)}.values())


def settings_of(folder: Path, stored: str, model: str, gold: int = 0) -> Settings:
    """Return settings of the home whose rows one model made, for another model and the gold of a seed."""
    return load_settings(
        home=folder / stored,
        sources=folder / "sources",
        llm={"provider": "openai", "model": model, "prices": {model: {"input": 1.0, "output": 2.0}}},
        extraction={"gleaning": 0},
        gold={"folder": folder / "gold" / f"{gold}.csv"},
    )


def prepared(data: Path, folder: Path, model: str) -> list[str]:
    """Ingest all passages by a model, and return the texts of their chunks that have names."""
    settings, source = settings_of(folder, model, model), folder / "sources" / data.name
    source.mkdir(parents=True, exist_ok=True)
    for line in (data / "documents.jsonl").read_text().splitlines():
        one = json.loads(line)
        (source / f"{one['id']}.txt").write_text(f"{one['title']}\n{one['text']}")
    tables = SourceTables(Home.of(settings))
    ingest(find_sources(settings)[data.name], tables, Recipes.of(settings), Account("benchmark", data.name))
    texts: Sequence[str] = tables.read("chunks", data.name)["content"].unique().to_pylist()
    return sorted(one for one in texts if phrases(one))


def within_rates(folder: Path, model: str) -> str:
    """Return how many intervals over all samples hold the rate of a model, by kind and measure."""
    lost, forged = RATES[model]
    recall, precision = 1 - lost, (1 - lost) / (1 - lost + forged)
    rates = {"precision": precision, "recall": recall, "f1": 2 * recall * precision / (recall + precision)}
    inside, means = Counter[str](), Counter[str]()
    for seed in range(SEEDS):
        settings = settings_of(folder, model, model, seed)
        situation, gold = Situation.looking(settings), read_gold(settings.gold.folder)
        found = find_passages(situation, gold)
        rows = judge(gold, found.located, found.tables.values(), situation.decided.curation, settings.merging.types)
        for one in score(rows):
            if one.grouping == "all" and one.kind in ("entity", "relation"):
                for name in MEASURES:
                    mean, low, high, _ = getattr(one, name)
                    inside[f"{one.kind} {name}"] += low <= rates[name] <= high
                    means[f"{one.kind} {name}"] += mean / SEEDS
    return "; ".join(
        f"{name} {means[name]:.3f} for {rates[name.split()[1]]:.3f}, in {number} of {SEEDS} intervals"
        for name, number in inside.items()
    )


def gated(folder: Path, stored: str, model: str) -> str:
    """Return how many backfills the gate stops, by a model that reads otherwise with each seed."""
    stopped, differences, before = 0, list[float](), time.perf_counter()
    for seed in range(SEEDS):
        settings = settings_of(folder, stored, f"{model}-{seed}", seed)
        compared = try_gold(settings, settings)
        assert isinstance(compared, Comparison)
        stopped += compared.is_worse
        differences.append(compared.difference.mean)
    seconds = (time.perf_counter() - before) / SEEDS
    ends = f"{min(differences):+.3f} to {max(differences):+.3f}"
    return f"stopped {stopped} of {SEEDS}; F1 changes by {ends}; {seconds:.1f} s a gate"


if __name__ == "__main__":
    main()
