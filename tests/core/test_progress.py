import asyncio

from lightrag_dagster.core.progress import listening, note, report


def test_reports_and_notes_reach_the_listeners_of_the_block() -> None:
    heard: list[object] = []

    async def work() -> None:
        report("chunks", 1, 2)
        note("waiting")

    with listening(lambda *counts: heard.append(counts), heard.append):
        asyncio.run(work())
    note("unheard")
    report("unheard", 1, 1)
    assert heard == [("chunks", 1, 2), "waiting"]


def test_a_listener_need_not_take_notes() -> None:
    heard: list[str] = []
    with listening(lambda *counts: None, heard.append), listening(lambda *counts: None):
        note("waiting")
    assert heard == ["waiting"]  # the outer one takes them
