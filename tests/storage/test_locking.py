import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building, ingesting, using_batches
from lightrag_dagster.storage.locks import postgres
from lightrag_dagster.storage.locks.base import Lock
from lightrag_dagster.storage.snapshots.snapshots import set_published
from tests.postgres import PostgresServer, new_schema

HOLD = """
import os, sys
from pathlib import Path
from pydantic import SecretStr
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
url = os.environ.get("URL")
with building(Home(Path(sys.argv[1]), SecretStr(url) if url else None), 0):
    print("held", flush=True)
    sys.stdin.read()
"""
HERE = f"{os.getpid()} on {socket.gethostname()}"


def _holder(home: Home) -> str:
    return (home.root / "builder.pid").read_text()


def hold(home: Home) -> subprocess.Popen[str]:
    """Start another process that builds until its input ends."""
    root = Path(__file__).parents[3]
    url = {"URL": home.database.get_secret_value()} if home.database else {}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)} | url,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def _on_another_thread(enter: threading.Event, home: Home) -> None:
    def build() -> None:
        with building(home, 0):
            enter.set()

    thread = threading.Thread(target=build)
    thread.start()
    thread.join()


def test_a_lock_file_makes_the_home_and_leaves_no_holder_behind(tmp_path: Path) -> None:
    home = Home(tmp_path / "new" / "home")
    with building(home, 0):
        assert _holder(home) == HERE
    assert not (home.root / "builder.pid").exists()


def test_the_same_process_enters_again_from_any_thread(any_home: Home) -> None:
    entered = threading.Event()
    with building(any_home, 0) as outer:
        with building(Home(any_home.root, any_home.database), 0):
            _on_another_thread(entered, any_home)
        assert entered.is_set()
        assert outer.still_held()
    assert not outer.still_held()


@pytest.mark.long
def test_another_process_is_named_and_waited_for(any_home: Home, caplog: pytest.LogCaptureFixture) -> None:
    with hold(any_home) as holder:
        named = f"process {holder.pid} on {socket.gethostname()} is building in "
        with (
            caplog.at_level("INFO"),
            pytest.raises(BuilderLockedError, match=f"{named}.*home.* within 0 s") as refused,
            building(any_home, 0.2),
        ):
            pytest.fail("two builders at once")
        assert "\n" not in str(refused.value)
        assert named in caplog.text
        assert holder.stdin is not None
        threading.Timer(0.3, holder.stdin.close).start()
        with building(any_home, 30) as lock:
            assert lock.still_held()


def test_a_killed_holder_holds_nothing(any_home: Home) -> None:
    with hold(any_home) as holder:
        holder.send_signal(signal.SIGKILL)
    with building(any_home, 5) as lock:
        assert lock.still_held()


@pytest.mark.long
def test_an_error_inside_the_block_releases_it(any_home: Home) -> None:
    with pytest.raises(KeyError), building(any_home, 0):
        raise KeyError("x")
    with hold(any_home) as holder:
        holder.communicate("")
    assert holder.returncode == 0


def test_what_was_released_is_free_at_once(any_home: Home) -> None:
    for _ in range(20):
        with building(any_home, 0) as lock:
            assert lock.still_held()


def test_threads_wait_for_each_other_at_the_lock_of_a_source(any_home: Home) -> None:
    refused: list[BuilderLockedError] = []

    def ingest(source: str) -> None:
        try:
            with ingesting(any_home, source, 0.1):
                pass
        except BuilderLockedError as error:
            refused.append(error)

    with ingesting(any_home, "river", 0), ingesting(any_home, "river", 0), using_batches(any_home, 0):
        threads = [threading.Thread(target=ingest, args=(source,)) for source in ("river", "office")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [str(error).partition(" and ")[0] for error in refused] == [f"process {HERE} is ingesting source 'river'"]


def test_a_scope_has_locks_of_its_own(any_home: Home) -> None:
    scope = replace(any_home, root=any_home.root / "scopes" / "shown", scope="shown", parent=any_home)
    ended = list[str]()

    def publish() -> None:
        with building(scope, 0), ingesting(scope, "river", 0):
            ended.append("published")

    with ingesting(any_home, "river", 0):
        thread = threading.Thread(target=publish)
        thread.start()
        thread.join()
    assert ended == ["published"]


def test_a_lock_of_postgres_that_nobody_uses_is_forgotten(tmp_path: Path) -> None:
    nowhere = Home(tmp_path, SecretStr("postgresql://127.0.0.1:1/nowhere"))
    for lock in (building(nowhere, 0), ingesting(nowhere, "river", 0)):
        with pytest.raises(StoreError, match="cannot be reached"), lock:
            pytest.fail("entered")
    gc.collect()  # the errors, which refer to their locks
    assert [key for key in postgres._locks if "nowhere" in key[0]] == []


def _moves_no_pointer(home: Home, lock: Lock) -> None:
    assert not lock.still_held()
    with pytest.raises(BuilderLockedError, match="lock was lost"):
        set_published(home, "gen-1", lock)
    assert not home.published.exists()


def test_a_builder_whose_lock_file_was_deleted_moves_no_pointer(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with building(home, 0) as lock:
        assert lock.still_held()
        home.lock.unlink()
        _moves_no_pointer(home, lock)
        home.lock.touch()
        _moves_no_pointer(home, lock)


@pytest.mark.long
def test_a_builder_whose_connection_was_dropped_moves_no_pointer(tmp_path: Path, postgres: SecretStr) -> None:
    home = Home(tmp_path, postgres)
    with building(home, 0) as lock:
        assert lock.still_held()
        with psycopg.connect(postgres.get_secret_value()) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s",
                (f"lightrag process {HERE}"[:63],),
            )
        until = time.monotonic() + 5
        while lock.still_held() and time.monotonic() < until:
            time.sleep(0.01)
        _moves_no_pointer(home, lock)
        with hold(home) as holder:
            holder.communicate("")
        assert holder.returncode == 0


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match=r"cannot lock .*builder\.lock.*writable"),
        building(Home(tmp_path / "file"), 0),
    ):
        pytest.fail("entered")


def test_a_lock_is_given_back_also_where_the_number_of_its_holder_cannot_be_removed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with building(home):
        (tmp_path / "builder.pid").unlink()
        (tmp_path / "builder.pid").mkdir()
    with hold(home) as holder:
        holder.communicate("")
    assert holder.returncode == 0


@pytest.mark.long
def test_two_knowledge_bases_in_schemas_of_one_database_do_not_wait_for_each_other(
    tmp_path: Path, postgres: SecretStr, postgres_server: PostgresServer
) -> None:
    other = SecretStr(postgres_server.url(new_schema()))
    with hold(Home(tmp_path, other)) as holder, building(Home(tmp_path, postgres), 0) as lock:
        assert lock.still_held()
        holder.communicate("")
