import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.stored_answer import stored_answer


def test_an_answer_that_was_used_today_comes_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, answer = tmp_path / "home of #1?" / "responses.sqlite", ChatResponse("text", "length", 1, 2, 3, 0.5)
    with ResponseStore(path) as store:
        store.put_many({"a": answer})
        assert stored_answer(path, "a") == answer
        assert stored_answer(path, "b") is None
        tomorrow = time.time() + 86_400
        monkeypatch.setattr(time, "time", lambda: tomorrow)
        assert stored_answer(path, "a") is None
        assert store.get_many(["a"]) == {"a": answer}
    assert stored_answer(path, "a") == answer


def test_elsewhere_the_store_must_be_asked(tmp_path: Path) -> None:
    (tmp_path / "damaged.sqlite").write_bytes(b"no database" * 1000)
    for address in (tmp_path / "missing.sqlite", tmp_path / "damaged.sqlite", SecretStr("postgresql://localhost/db")):
        assert stored_answer(address, "a") is None
    assert not (tmp_path / "missing.sqlite").exists()
