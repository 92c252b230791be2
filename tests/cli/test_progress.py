import io

from rich.console import Console
from rich.progress import Progress

from lightrag_dagster.cli.progress import TerminalDisplay, display
from lightrag_dagster.core.progress import note, report

WAITING = "waiting for 127.0.0.1:8000, attempt 2 of 9"


def test_a_running_step_says_what_it_waits_for() -> None:
    out = io.StringIO()
    bars = Progress(console=Console(file=out, force_terminal=True), auto_refresh=False)
    shown = TerminalDisplay(bars)
    shown.run("failing")
    shown.start("chunks")
    shown.run("notes")
    shown.note(WAITING)
    shown.start("extractions")
    seen = []
    for text in (WAITING, "", WAITING):
        shown.note(text)
        seen.append(bars.tasks[0].description)
    assert seen == [f"notes extractions: {WAITING}", "notes extractions", f"notes extractions: {WAITING}"]
    shown.finish()
    assert bars.tasks == []  # of a thousand sources, each line would be drawn thousands of times
    assert "notes extractions " in out.getvalue().splitlines()[-1]


def test_without_a_terminal_the_note_has_a_line_of_its_own() -> None:
    """Bars show nothing there until the end."""
    out = io.StringIO()
    with display(Console(file=out, width=40)) as shown:
        shown.run("notes")
        shown.start("extractions")
        note(WAITING)
        assert out.getvalue() == f"notes extractions: {WAITING}\n"
        report("extractions", 12, 1400)
        for text in ("", WAITING) * 5:
            note(text)
        assert out.getvalue().count(WAITING) == 1, "a limit that is met at every question has no line of each"
        shown._noted -= 60
        note(WAITING)
        assert out.getvalue().splitlines()[-1] == f"notes extractions: {WAITING} (12 of 1,400 done)"
        note("no credit left; tries again in 300 s")
        assert "no credit left" in out.getvalue(), "a wait of another kind does not wait for its turn"
        note("")
        shown.finish()
    assert WAITING not in out.getvalue().splitlines()[-1]


def test_without_a_terminal_many_steps_have_few_lines_and_are_counted() -> None:
    out = io.StringIO()
    with display(Console(file=out, width=80)) as shown:
        shown.run("notes")
        for number in range(60):
            shown.start(f"step {number}")
            shown.finish()
    lines = out.getvalue().splitlines()
    assert (len(lines), lines[-1]) == (41, "60 steps are done")
