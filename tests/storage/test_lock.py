import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building

HOLD = """
import sys, time
from pathlib import Path
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building
with building(Home(Path(sys.argv[1])), 0):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "new" / "home")


def hold(home: Home) -> subprocess.Popen[str]:
    """Start another process that builds until its input ends."""
    root = Path(__file__).parents[2]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_it_makes_the_home_and_leaves_no_holder_behind(home: Home) -> None:
    with building(home, 0):
        assert home.lock_holder.read_text() == str(os.getpid())
    assert not home.lock_holder.exists()


def test_the_same_process_enters_again_from_any_thread(home: Home) -> None:
    entered = []

    def build() -> None:
        with building(home, 0):
            entered.append(True)

    with building(home, 0), building(Home(home.root), 0):
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
        assert home.lock_holder.exists()
    assert entered == [True]


def test_another_process_is_named_and_waited_for(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    with hold(home) as holder:
        with (
            caplog.at_level("INFO"),
            pytest.raises(BuilderLockedError, match=rf"process {holder.pid} is building in .*home") as refused,
            building(home, 0.2),
        ):
            pytest.fail("two builders at once")
        assert "\n" not in str(refused.value)
        assert f"process {holder.pid} is building" in caplog.text
        assert holder.stdin is not None
        threading.Timer(0.3, holder.stdin.close).start()
        with building(home, 30):
            assert home.lock_holder.read_text() == str(os.getpid())


def test_a_killed_holder_holds_nothing(home: Home) -> None:
    with hold(home) as holder:
        holder.kill()
    assert home.lock_holder.read_text() == str(holder.pid)
    with building(home, 5):
        assert home.lock_holder.read_text() == str(os.getpid())


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match=r"cannot lock .*builder\.lock.*writable"),
        building(Home(tmp_path / "file"), 0),
    ):
        pytest.fail("entered")


def test_an_error_inside_the_block_releases_it(home: Home) -> None:
    with pytest.raises(KeyError), building(home, 0):
        raise KeyError("x")
    with hold(home) as holder:
        holder.communicate("")
    assert holder.returncode == 0
