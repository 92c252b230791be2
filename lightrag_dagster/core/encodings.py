"""tiktoken encodings: o200k_base from this package, with no network and no cache; others as tiktoken finds them."""

import hashlib
import lzma
from importlib.resources import files
from itertools import accumulate, pairwise

import tiktoken

from lightrag_dagster.errors import TokenizerError

_PACKAGED = "o200k_base"
_SPECIAL_TOKENS = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_UNPACKED_SHA256 = "ba55b38e477b631966c2496061ecd7d10108501c7c47358222d9dc27c22f9422"
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"


def load_encoding(name: str) -> tiktoken.Encoding:
    """Return an encoding by its tiktoken name.

    Raises:
        TokenizerError: there is no such encoding, or its vocabulary is neither cached nor can be downloaded.
    """
    return _packaged_encoding() if name == _PACKAGED else _other_encoding(name)


def _packaged_encoding() -> tiktoken.Encoding:
    folder = files("lightrag_dagster.core") / "vocabulary"
    tokens = _unpack((folder / f"{_PACKAGED}.xz").read_bytes())
    return tiktoken.Encoding(
        _PACKAGED,
        pat_str="|".join((folder / f"{_PACKAGED}.pattern.txt").read_text("utf-8").splitlines()),
        mergeable_ranks={token: rank for rank, token in enumerate(tokens)},
        special_tokens=_SPECIAL_TOKENS,
    )


def _unpack(packed: bytes) -> list[bytes]:
    """Return the tokens in order of rank; `vocabulary/LICENSE.txt` describes the format."""
    try:
        data = lzma.decompress(packed)
    except lzma.LZMAError as error:
        raise TokenizerError(f"the vocabulary of {_PACKAGED} in this package is damaged; reinstall it") from error
    count = int.from_bytes(data[:4], "little")
    bounds = accumulate(data[4 : 4 + count], initial=4 + count)
    if hashlib.sha256(data).hexdigest() != _UNPACKED_SHA256:
        raise TokenizerError(f"the vocabulary of {_PACKAGED} in this package is not the published one; reinstall it")
    return [data[start:end] for start, end in pairwise(bounds)]


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
