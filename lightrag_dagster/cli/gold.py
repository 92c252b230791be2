"""`gold draft` and `gold score`: rows that people labelled, and how good extraction is beside them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from lightrag_dagster.cli.losses import print_warnings
from lightrag_dagster.cli.rows import require_new, write_new_csv
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.bootstrap import Interval
from lightrag_dagster.evaluation.gold.drafting import draft
from lightrag_dagster.evaluation.gold.gate import Comparison
from lightrag_dagster.evaluation.gold.judged import Passages, find_passages, judge
from lightrag_dagster.evaluation.gold.names import NamesScore, score_names
from lightrag_dagster.evaluation.gold.rows import COLUMNS, Gold, read_gold, require_passages
from lightrag_dagster.evaluation.gold.scores import MEASURES, Score, below, score
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import load_settings

_RECIPE_DIGITS = 8
_AROUND = 40
"""Characters that are shown before and after a name."""


def draft_gold(console: Console, file: Path, chunks: int, kinds: Sequence[str]) -> None:
    """Write passages that no gold file has yet, with what is stored of them, if it is of one of some kinds.

    Raises:
        SettingsError: the file cannot be written, or another one not read.
        StoreError: nothing was ingested yet, or a table is damaged.
    """
    require_new(file, "perhaps with labels; score it with `gold score`", SettingsError)
    if unknown := [one for one in kinds if one not in ("entity", "relation", "fact")]:
        raise SettingsError(f"there is no kind {unknown[0]!r}; choose entity, relation or fact")
    settings = load_settings()
    place = settings.gold.folder
    known = read_gold(place if place and place.exists() else None)  # it may be this file
    drawn = draft(Situation.looking(settings), known.passages.keys() | known.open, chunks)
    rows = [one for one in drawn if not kinds or one[1] in ("passage", *kinds)]
    passages = sum(one[1] == "passage" for one in rows)
    if not passages:
        raise SettingsError(
            "there is no passage to draw: nothing was ingested yet, or all are in gold.folder; `lightrag-dagster run`"
        )
    write_new_csv(file, COLUMNS, rows, SettingsError)
    others = f"are not in {place}" if known.passages or known.open else "there are"
    fewer = f", all that {others}" if passages < chunks else ""
    console.print(
        f"Passages in {file}: {passages:,}{fewer}; rows: {len(rows) - passages:,}. Write `no` as the verdict of a row "
        "that its passage does not state, add a row for what is missing, and `done` as the verdict of the passage. "
        f"Then: lightrag-dagster gold score {file}"
    )


def show_scores(console: Console, folder: Path | None, *, rows: bool, as_json: bool) -> int:
    """Print the scores of the stored rows, and return the exit code.

    It is 1 if F1 of a kind is below the setting's bound, or if no passage is left to measure.

    Raises:
        SettingsError: there is no gold, or it cannot be read.
        StoreError: nothing was ingested yet, or a table is damaged.
    """
    settings = load_settings()
    folder = folder or settings.gold.folder
    gold, situation = read_gold(folder), Situation.looking(settings)
    if not gold.names:
        require_passages(gold, folder)
    passages = find_passages(situation, gold)
    judged = judge(gold, passages.located, passages.tables.values(), situation.decided.curation, settings.merging.types)
    scores = score(judged)
    names = score_names(situation, gold.names) if gold.names else []
    low, unmeasured = below(scores, settings.gold.least_f1), passages.unmeasured()
    if as_json:
        print_json(_facts(gold, passages, scores, names, judged) | {"below": [one.kind for one in low]})
        return int(bool(low or unmeasured))
    if scores:
        columns = ("", "rows", "passages", *MEASURES[:2], "F1")
        print_table(console, columns, list(_rows(scores)), wrap={"", "rows"}, keys=2)
    if names:
        heads = ("names taken for one", "precision", "recall")
        print_table(console, heads, [(one.rule, *_shares(one)) for one in names], wrap=heads[:1])
    console.print(f"{_counted(gold, passages, names)} Intervals are of 95%, over passages.")
    for one in low:
        console.print(f"F1 of {one.kind} rows is {one.f1.mean:.3f}, below gold.least_f1.", style="yellow")
    print_warnings(console, unmeasured)
    if rows:
        _print_rows(console, passages, judged, names)
    return int(bool(low or unmeasured))


def print_compared(console: Console, compared: Comparison) -> None:
    """Print the scores of gold passages as they are stored, and by another recipe."""
    before, after = ({one.kind: one for one in score(each) if one.grouping == "all"} for each in compared[:2])
    cells = []
    for kind in sorted(before.keys() & after.keys()):
        pairs = [[getattr(one[kind], name).mean for one in (before, after)] for name in MEASURES]
        cells.append((kind, f"{before[kind].passages:,}", *(f"{old:.3f} → {new:.3f}" for old, new in pairs)))
    print_table(console, ("gold rows", "passages", *MEASURES[:2], "F1"), cells, wrap={"gold rows"}, keys=1)
    mean, low, high, passages = compared.difference
    if compared.unanswered:
        console.print(f"Passages without an answer for now, left out: {compared.unanswered:,}", style="yellow")
    if passages:
        changes = f"changes by {mean:+.3f} [{low:+.3f}, {high:+.3f}]"
        console.print(f"F1 over all gold rows of {passages:,} passages {changes}.")


def _rows(scores: Sequence[Score]) -> Iterator[tuple[str, ...]]:
    """Yield a row a score; those of a group that is the only one of its kind are those of all."""
    for grouping, found in groupby(scores, lambda one: one.grouping):
        group = list(found)
        if grouping == "all" or len({one.value for one in group}) > 1:
            for one in group:
                value = one.value[:_RECIPE_DIGITS] if grouping == "recipe" else one.value
                name = "" if grouping == "all" else f"{grouping} {value or '(no answer)'}"
                yield name, one.kind, f"{one.passages:,}", *(_interval(getattr(one, each)) for each in MEASURES)


def _interval(one: Interval) -> str:
    return "" if one.mean != one.mean else f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _shares(one: NamesScore) -> list[str]:
    return [f"{one.right:,} of {one.right + len(others):,}" for others in (one.wrong, one.missed)]


def _counted(gold: Gold, passages: Passages, names: Sequence[NamesScore]) -> str:
    """Return what was compared, and what was not, in words."""
    parts = [f"{passages.located.num_rows:,} gold passages with {len(passages.right(gold)):,} rows"]
    if passages.gone:
        parts.append(f"{len(passages.gone):,} whose text is no longer a chunk ({', '.join(passages.gone[:3])})")
    if gold.open:
        parts.append(f"{len(gold.open):,} that are not done")
    if names and (unknown := names[0].unknown):
        first = f"{unknown[0].name} — {unknown[0].other}"
        parts.append(f"{len(unknown):,} pairs of names left out, of which a name is of no published entity ({first})")
    return f"{'; '.join(parts)}."


def _print_rows(console: Console, passages: Passages, judged: pa.Table, names: Sequence[NamesScore]) -> None:
    """Print the missed and wrong rows of passages, with the words around them there, and the pairs of names."""
    texts = dict(zip(*passages.located.select(["chunk", "content"]).to_pydict().values(), strict=True))
    faults = judged.filter(pc.not_equal(judged["outcome"], "right")).sort_by([("place", "ascending")]).to_pylist()
    cells = [
        (one["outcome"], one["kind"], one["shown"], one["place"], _around(texts[one["chunk"]], one)) for one in faults
    ]
    print_table(console, ("", "row", "says", "passage", "words"), cells, wrap={"says", "passage", "words"}, keys=3)
    for rule in names[-1:]:
        for said, pairs in (("apart, and taken for one", rule.wrong), ("one, and not found", rule.missed)):
            for pair in pairs:
                console.print(f"{said}: {pair.name} — {pair.other} ({pair.place})", highlight=False)


def _around(text: str, row: Mapping[str, Any]) -> str:
    """Return the words of a passage around the name that a row begins with; nothing where it does not stand there."""
    name = re.split(" — |: ", row["shown"])[0]
    at = text.casefold().find(name.casefold())
    return "" if at < 0 else " ".join(text[max(0, at - _AROUND) : at + len(name) + _AROUND].split())


def _facts(
    gold: Gold, passages: Passages, scores: Sequence[Score], names: Sequence[NamesScore], judged: pa.Table
) -> dict[str, Any]:
    texts = passages.located.select(["chunk", "content"])
    faults = judged.filter(pc.not_equal(judged["outcome"], "right")).join(texts, "chunk").to_pylist()
    counts = {"passages": passages.located.num_rows, "gold_rows": len(passages.right(gold)), "gone": passages.gone}
    found = {"scores": [one.facts() for one in scores], "names": [one._asdict() for one in names], "faults": faults}
    return counts | {"not_done": sorted(gold.open)} | found
