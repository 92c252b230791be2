"""Bases: openings that fail, and what is opened after them."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import NoSnapshotError
from lightrag_dagster.serving.bases import Bases
from lightrag_dagster.settings import load_settings


class Opened:
    """A base that knows whether it is closed."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_who_waited_for_an_opening_that_failed_leaves_the_next_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [NoSnapshotError("nothing is published"), Opened()]

    def opened(*_: object) -> Any:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(Bases, "_open", opened)
    bases = Bases(load_settings(home=tmp_path))

    async def ask_again() -> KnowledgeBase:
        with pytest.raises(NoSnapshotError):
            await bases.of(None)
        return await bases.of(None)

    async def ask() -> Opened:
        again, once = await asyncio.gather(ask_again(), bases.of(None), return_exceptions=True)
        assert isinstance(once, NoSnapshotError)
        assert await bases.of(None) is again
        await bases.close()
        return cast("Opened", again)

    assert asyncio.run(ask()).is_closed
