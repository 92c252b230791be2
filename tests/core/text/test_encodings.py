import hashlib
from base64 import b64encode
from importlib.resources import files
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
import tiktoken
from pyarrow import parquet

from lightrag_dagster.core.text import encodings
from lightrag_dagster.core.text.encodings import load_encoding
from lightrag_dagster.errors import TokenizerError

PACKED = (files("lightrag_dagster.core.text") / "vocabulary" / "o200k_base.parquet").read_bytes()
URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty tiktoken cache, with no network behind it."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def published_file() -> bytes:
    tokens = encodings._read_tokens(PACKED)
    return b"".join(b"%b %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens))


def test_the_packaged_vocabulary_is_the_published_one() -> None:
    # The hash that tiktoken_ext.openai_public pins.
    expected = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    assert hashlib.sha256(published_file()).hexdigest() == expected


@pytest.mark.long
def test_the_packaged_encoding_is_tiktokens_and_touches_no_cache(cache: Path) -> None:
    packaged = load_encoding("o200k_base")
    assert list(cache.iterdir()) == []

    (cache / hashlib.sha1(URL.format("o200k_base").encode()).hexdigest()).write_bytes(published_file())
    original = tiktoken.get_encoding("o200k_base")
    alternatives = (files("lightrag_dagster.core.text") / "vocabulary" / "o200k_base.pattern.txt").read_text("utf-8")
    assert "|".join(alternatives.splitlines()) == original._pat_str
    random = Random(1)
    for _ in range(3_000):
        text = "".join(random.choices("aBé'sD7.,/{  \t\n\r漢é👍\u3000", k=random.randrange(40)))
        assert packaged.encode_ordinary(text) == original.encode_ordinary(text)
    assert packaged._mergeable_ranks == original._mergeable_ranks
    assert packaged._special_tokens == original._special_tokens
    assert load_encoding("o200k_harmony").name == "o200k_harmony"  # another encoding, from tiktoken's cache


@pytest.mark.parametrize(
    ("packed", "message"),
    [(PACKED[:-100], "is damaged"), (b"", "is damaged"), (b"not Parquet", "is damaged")],
)
def test_a_damaged_vocabulary_is_refused(packed: bytes, message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        encodings._read_tokens(packed)


def test_another_vocabulary_is_refused() -> None:
    other, file = encodings._read_tokens(PACKED), pa.BufferOutputStream()
    other[-1] += b"!"
    parquet.write_table(pa.table({"token": other}), file)
    with pytest.raises(TokenizerError, match="not the published one"):
        encodings._read_tokens(file.getvalue().to_pybytes())


def test_an_unknown_encoding_names_those_there_are() -> None:
    with pytest.raises(TokenizerError, match=r"no encoding 'o200k'; set chunking.encoding to one of .*cl100k_base"):
        load_encoding("o200k")


def test_a_vocabulary_that_is_not_to_be_had_says_where_to_put_it(cache: Path) -> None:
    with pytest.raises(TokenizerError) as caught:
        load_encoding("p50k_edit")
    message = str(caught.value)
    assert "'p50k_edit'" in message
    assert "TIKTOKEN_CACHE_DIR" in message
    assert hashlib.sha1(URL.format("p50k_base").encode()).hexdigest() in message
