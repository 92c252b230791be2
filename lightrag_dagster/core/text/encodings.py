"""Encodings of tiktoken: o200k_base from this package, with no network and no cache; others as tiktoken finds them."""

import hashlib
from collections.abc import Sequence
from importlib.resources import files

import pyarrow as pa
import tiktoken
from pyarrow import parquet

from lightrag_dagster.errors import TokenizerError

_PACKAGED = "o200k_base"
_SHA256 = "3bf84d1481dd580b8c08ca6cdac1922903f362637d412c3bd591cd74d6189d53"
_AHEAD = "(?!"
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"


def load_encoding(name: str) -> tiktoken.Encoding:
    """Return an encoding by its tiktoken name.

    Raises:
        TokenizerError: there is no such encoding, or its vocabulary is neither cached nor can be downloaded.
    """
    return _packaged_encoding() if name == _PACKAGED else _other_encoding(name)


def _packaged_encoding() -> tiktoken.Encoding:
    folder = files("lightrag_dagster.core.text") / "vocabulary"
    tokens = _read_tokens((folder / f"{_PACKAGED}.parquet").read_bytes())
    return tiktoken.Encoding(
        _PACKAGED,
        pat_str=_pattern((folder / f"{_PACKAGED}.pattern.txt").read_text("utf-8").splitlines()),
        mergeable_ranks=dict(zip(tokens, range(len(tokens)), strict=True)),
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    )


def _pattern(alternatives: Sequence[str]) -> str:
    """Return alternatives as one expression, equivalent to the plain alternation and a fifth faster.

    tiktoken tries each one by itself because one of them looks ahead; those before that one are a group, tried at once.
    """
    ahead = next(at for at, one in enumerate(alternatives) if _AHEAD in one)
    return "|".join([f"(?:{'|'.join(alternatives[:ahead])})", *alternatives[ahead:]])


def _read_tokens(data: bytes) -> list[bytes]:
    """Return the tokens in order of rank; `vocabulary/LICENSE.txt` describes the file."""
    try:
        tokens: list[bytes] = parquet.read_table(pa.BufferReader(data))["token"].to_pylist()
    except (pa.ArrowException, OSError, KeyError) as error:
        raise TokenizerError(f"the vocabulary of {_PACKAGED} in this package is damaged; reinstall it") from error
    if hashlib.sha256(b"".join(tokens)).hexdigest() != _SHA256:
        raise TokenizerError(f"the vocabulary of {_PACKAGED} in this package is not the published one; reinstall it")
    return tokens


def _other_encoding(name: str) -> tiktoken.Encoding:
    known = tiktoken.list_encoding_names()
    if name not in known:
        raise TokenizerError(f"tiktoken has no encoding {name!r}; set chunking.encoding to one of {', '.join(known)}")
    try:
        return tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:  # no network or no room for the cache; a hash that does not match
        url = getattr(getattr(error, "request", None), "url", None)
        file = f" as {hashlib.sha1(url.encode()).hexdigest()}" if url else ""
        raise TokenizerError(
            f"the vocabulary of encoding {name!r} cannot be loaded ({type(error).__name__}); put it{file} into the "
            f"folder that {_CACHE_VARIABLE} names (tiktoken deletes a file there whose hash is wrong), or use "
            f"{_PACKAGED}, which needs no file"
        ) from error
