"""Progress on the terminal: a bar for steps that count, a spinner for others."""

from collections.abc import Iterator
from contextlib import contextmanager
from re import sub
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from lightrag_dagster.core import progress

_TITLE_WIDTH = 32
"""Characters that the name of a run and its step have at least, so that bars of most lines are in one column."""

_FIRST_STEPS = 40
_SECONDS = 10.0
"""Without a terminal each of the first steps has a line when it is done; of later ones, and waits alike, one a time."""


class TerminalDisplay:
    """The lines of Dagster's steps on a terminal, each with a bar while the step counts."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._step: TaskID | None = None
        self._prefix = self._title = ""
        self.steps, self._noted, self._kind, self._printed = 0, -_SECONDS, "", 0.0

    def run(self, name: str) -> None:
        """Begin the steps of a run."""
        self._prefix = name

    def start(self, step: str) -> None:
        """Show a step as running, instead of one that failed."""
        self._bars.start()
        if self._step is not None:
            self._bars.remove_task(self._step)
        self._title = f"{self._prefix} {step}"
        self._step = self._bars.add_task(self._title, total=None)

    def finish(self) -> None:
        """Print the running step as done, above the one that runs next: all lines that are left are drawn each time."""
        if self._step is None:
            return
        (task,) = self._bars.tasks
        total = task.total or 1
        self._bars.update(self._step, description=self._title, total=total, completed=total)
        self._bars.stop_task(self._step)
        self._bars.remove_task(self._step)
        console, self._step, self.steps = self._bars.console, None, self.steps + 1
        is_told = console.is_terminal or self.steps <= _FIRST_STEPS or monotonic() - self._printed >= _SECONDS
        if is_told and (console.is_terminal or not console.stderr):  # else a scheduler logs it as an error
            self._printed = monotonic()
            console.print(self._bars.make_tasks_table([task]))

    def count(self, stage: str, done: int, total: int) -> None:
        """Show the progress of the running step."""
        if self._step is not None:
            self._bars.update(self._step, completed=done, total=max(total, 1))

    def note(self, text: str) -> None:
        """Show a note about a wait of the running step; an empty text ends the wait."""
        if self._step is None:
            return
        title = f"{self._title}: {text}" if text else self._title
        self._bars.update(self._step, description=title)
        kind = sub(r"\d+", "", text)
        is_due = kind != self._kind or monotonic() - self._noted >= _SECONDS
        if text and is_due and not self._bars.console.is_terminal:  # where bars are drawn
            self._noted, self._kind = monotonic(), kind
            (task,) = self._bars.tasks
            done = f" ({task.completed:,.0f} of {task.total:,.0f} done)" if task.total else ""
            self._bars.console.print(f"{title}{done}", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def display(console: Console) -> Iterator[TerminalDisplay]:
    """Show progress on `console` while the block runs."""
    columns = (
        SpinnerColumn(finished_text="[green]✓[/]"),
        TextColumn(f"{{task.description:<{_TITLE_WIDTH}}}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bars = Progress(*columns, console=console, transient=True)  # lines of done steps are printed
    shown = TerminalDisplay(bars)
    try:
        with progress.listening(shown.count, shown.note):
            yield shown
    finally:
        if bars.live.is_started:
            bars.live.stop()  # `Progress.stop` prints an empty line too
        if shown.steps > _FIRST_STEPS and not (console.is_terminal or console.stderr):
            console.print(f"{shown.steps:,} steps are done")


@contextmanager
def one_step(console: Console, step: str, run: str = "") -> Iterator[None]:
    """Show the block as the one step of a run; it stays unfinished at an error."""
    with display(console) as shown:
        shown.run(run)
        shown.start(step)
        yield
        shown.finish()
