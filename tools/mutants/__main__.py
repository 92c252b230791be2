"""`python -m tools.mutants`: draw mutants, try them, and say which survive; the exit code is 1 if one is unexplained.

Each is tried with the tests that execute it, of its folder and end to end (`choosing.py` says which). `survivors.yaml`
lists survivors with the reason why no test notices them. Who executes what, and outcomes, are kept in `.mutants/`, so
that a run may be interrupted; what was edited since is measured, or tried, again.
"""

import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from difflib import unified_diff
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated

import typer
import yaml

from tools.mutants.choosing import END_TO_END, Cover, folder_of
from tools.mutants.drawing import Mutant, draw
from tools.mutants.trying import Copy, Results

ROOT = Path(__file__).parents[2]
FOLDERS = [f"lightrag_dagster/{name}" for name in ("storage", "pipeline", "purge", "stages", "query", "spending")]
KEPT = ROOT / ".mutants"
LISTED = Path(__file__).with_name("survivors.yaml")
MOST_SURVIVING = 0.08


def explained() -> dict[str, str]:
    """Return the key of each listed survivor, and the reason."""
    return {f"{one['where']}: {one['change']}": one["why"] for one in yaml.safe_load(LISTED.read_text()) or ()}


def shown(mutant: Mutant) -> str:
    """Return a mutant as a diff."""
    source = (ROOT / mutant.path).read_bytes()
    before, after = (text.decode().splitlines() for text in (source, mutant.applied(source)))
    lines = list(unified_diff(before, after, n=1, lineterm=""))[3:]
    return "\n".join([f"{mutant.path}:{mutant.line} {mutant.place}", *(f"    {line}" for line in lines)])


def main(
    number: Annotated[int, typer.Option(help="Mutants to draw.")] = 300,
    seed: Annotated[int, typer.Option(help="Which ones.")] = 24,
    workers: Annotated[int, typer.Option(help="Mutants tried at once.")] = 2,
    below: Annotated[str, typer.Option(help="Of those drawn, only try the ones of this folder or file.")] = "",
) -> None:
    """Try mutants, and print those that no test notices."""
    drawn = [one for one in draw(ROOT, FOLDERS, number, seed) if one.path.startswith(below)]
    KEPT.mkdir(exist_ok=True)
    results, listed = Results(ROOT, KEPT / "results.jsonl"), explained()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ending, ThreadPoolExecutor(workers) as threads:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for worker in range(workers):
            copies.put(ending.enter_context(Copy(ROOT, Path(folder, str(worker)))))
        cover = covered(copies, workers)

        def attempt(mutant: Mutant) -> str | None:
            tried, killed_by = results.killed_by(mutant)
            if tried:
                return killed_by
            copy = copies.get()
            try:
                killed_by = copy.killed_by(mutant, cover.tests_of(mutant))
            finally:
                copies.put(copy)
            results.put(mutant, killed_by)
            print(f"{killed_by or 'SURVIVES':60} {mutant.key}", flush=True)
            return killed_by

        try:
            outcomes = dict(zip(drawn, threads.map(attempt, drawn), strict=True))
        except BaseException:
            threads.shutdown(cancel_futures=True)  # what is being tried is still tried to its end
            raise
    report(outcomes, listed)


def covered(copies: SimpleQueue[Copy], workers: int) -> Cover:
    """Return who executes what, measured where it is not known; raises RuntimeError when a copy is of no use."""
    copy = copies.get()
    folders = [END_TO_END, *map(folder_of, (f"{one}/" for one in FOLDERS))]
    cover = Cover(ROOT, KEPT, folders)
    if cover.stale:
        copy.measure(cover.stale, KEPT, workers)
        cover = Cover(ROOT, KEPT, folders)
    if failing := copy.fails(cover.quickest()):
        raise RuntimeError(f"{failing} fails without a mutant; run `pytest '{failing}'`")
    copies.put(copy)
    return cover


def report(outcomes: dict[Mutant, str | None], listed: dict[str, str]) -> None:
    """Print who noticed how many, and the survivors with their reasons; end the process."""
    survivors = [mutant for mutant, killed_by in outcomes.items() if killed_by is None]
    unexplained = [mutant for mutant in survivors if mutant.key not in listed]
    stale = {mutant.key for mutant, killed_by in outcomes.items() if killed_by} & listed.keys()
    found = Counter((one or "no test").partition("::")[0].partition("/test_")[0] for one in outcomes.values())
    lines = [f"{count:5} noticed by {where}" for where, count in sorted(found.items())]
    lines += [f"\n{shown(one)}\n  {listed.get(one.key, 'UNEXPLAINED: ' + one.key)}" for one in survivors]
    lines += [f"\nlisted, but noticed: {key}" for key in sorted(stale)]
    share = len(survivors) / max(1, len(outcomes))
    lines += [f"\n{len(survivors)} of {len(outcomes)} mutants survive ({share:.1%}), {len(unexplained)} unexplained"]
    print("\n".join(lines))
    sys.exit(bool(unexplained or stale) or share > MOST_SURVIVING)


if __name__ == "__main__":
    typer.run(main)
