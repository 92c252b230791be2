import json
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.errors import StoreError
from lightrag_dagster.models.batch.jsonl import RequestFile, Spool, request_path
from lightrag_dagster.settings import BatchSettings

Requests = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 50)), max_size=30)


@given(Requests, st.integers(1, 5), st.integers(100, 1500), st.none() | st.integers(1, 100))
def test_files_keep_to_their_limits_and_hold_everything_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    requests: list[tuple[int, int]],
    max_requests: int,
    max_bytes: int,
    room: int | None,
) -> None:
    folder, sealed = tmp_path_factory.mktemp("spool"), list[RequestFile]()
    spool = Spool(folder, BatchSettings(max_requests=max_requests, max_bytes=max_bytes), room, sealed.append)
    for number, (characters, tokens) in enumerate(requests):
        spool.add(str(number), {"text": "x" * characters}, tokens, 0.5)
    spool.seal()
    spool.seal()

    written = [request_path(folder, file.name).read_bytes() for file in sealed]
    keys = [[json.loads(line)["custom_id"] for line in content.splitlines()] for content in written]
    assert list(chain(*keys)) == [str(number) for number in range(len(requests))]
    for file, content, its_keys in zip(sealed, written, keys, strict=True):
        assert file.keys == set(its_keys)
        assert file.size == len(content)
        assert file.tokens == sum(requests[int(key)][1] for key in its_keys)
        assert file.worst_usd == 0.5 * len(its_keys)
        assert len(its_keys) <= max_requests
        assert len(its_keys) == 1 or (file.size <= max_bytes and file.tokens <= (room or file.tokens))


def test_a_request_is_what_the_provider_expects(tmp_path: Path) -> None:
    sealed = list[RequestFile]()
    spool = Spool(tmp_path, BatchSettings(), None, sealed.append)
    spool.add("k", {"model": "m"}, 1, 0.0)
    assert "k" in spool
    spool.seal()
    assert "k" not in spool
    assert json.loads(request_path(tmp_path, sealed[0].name).read_text()) == {
        "custom_id": "k",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m"},
    }


def test_a_disk_that_refuses_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spool = Spool(tmp_path / "file", BatchSettings(), None, lambda file: None)
    with pytest.raises(StoreError, match="cannot write requests to"):
        spool.add("k", {}, 1, 0.0)
