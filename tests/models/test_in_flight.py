import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.models.in_flight import InFlight

HOLDER = """
import asyncio, sys, time
from pathlib import Path
from lightrag_dagster.models.in_flight import InFlight

async def hold():
    async with InFlight(Path(sys.argv[1])).claim("key"):
        print("held", flush=True)
        time.sleep(600)

asyncio.run(hold())
"""


async def _take_turns(*claimants: InFlight, key: str = "key") -> list[str]:
    """Let each claim the key at once; tell who came and went in which order."""
    seen: list[str] = []

    async def claim(name: int, claimant: InFlight) -> None:
        async with claimant.claim(key):
            seen.append(f"{name} in")
            await asyncio.sleep(0.01)
            seen.append(f"{name} out")

    await asyncio.gather(*(claim(name, claimant) for name, claimant in enumerate(claimants)))
    return seen


@pytest.mark.parametrize("shared", [False, True])
def test_a_key_has_one_holder(tmp_path: Path, shared: bool) -> None:
    calls = InFlight(tmp_path if shared else None)
    assert asyncio.run(_take_turns(calls, calls)) == ["0 in", "0 out", "1 in", "1 out"]


def test_so_it_has_among_all_that_share_the_folder(tmp_path: Path) -> None:
    seen = asyncio.run(_take_turns(*(InFlight(tmp_path / "in-flight") for _ in range(4))))
    assert sorted(seen[::2]) == [f"{name} in" for name in range(4)]
    assert [came.split()[0] for came in seen[::2]] == [went.split()[0] for went in seen[1::2]]
    assert list((tmp_path / "in-flight").iterdir()) == []


def test_other_keys_are_free(tmp_path: Path) -> None:
    async def run() -> None:
        calls = InFlight(tmp_path)
        async with calls.claim("one"), calls.claim("two"), InFlight(tmp_path).claim("three"):
            assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "three", "two"]

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_process_that_is_killed_lets_go(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"

        async def claim(seconds: float) -> None:
            async with asyncio.timeout(seconds), InFlight(tmp_path).claim("key"):
                pass

        with pytest.raises(TimeoutError):
            asyncio.run(claim(0.2))
        holder.kill()
        holder.wait()
        asyncio.run(claim(10))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot lock .*/file/in-flight/key: .*make the home writable"):
        asyncio.run(_take_turns(InFlight(tmp_path / "file" / "in-flight")))
