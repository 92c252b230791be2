"""The provider of the packed homes: answers that follow from the request alone, and that no change of ours changes."""

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from itertools import pairwise
from typing import Any

from tests.loopback import END_MARK, Loopback, Received

DIMENSIONS = 8
KINDS = ("extractions", "summaries", "images", "vectors", "uploads")
"""Kinds of things that are paid for; an upload is a file of requests for a batch."""

_TYPES = {
    "Marta Lindqvist": "Person",
    "Jonas Feld": "Person",
    "Priya Nair": "Person",
    "Halden Weir": "Location",
    "Station 14": "Location",
    "Bergen": "Location",
    "Orrin Instruments": "Organization",
}


def serve_homes(loopback: Loopback) -> None:
    """Let the server answer as it did when the homes were packed."""
    loopback.chat, loopback.embed, loopback.dimensions = _chat, _embed, DIMENSIONS


def asked(requests: Iterable[Received]) -> dict[str, dict[str, int]]:
    """Return what was asked for and costs money: by kind, how often by hash."""
    found = {kind: Counter[str]() for kind in KINDS}
    for one in requests:
        if one.path.endswith("/chat/completions"):
            found[_kind(one.body)][_hash(one.body["messages"])] += 1
        elif one.path.endswith("/embeddings"):
            found["vectors"].update(map(_hash, one.body["input"]))
        elif one.path.endswith("/files"):
            found["uploads"]["file"] += 1
    return {kind: dict(sorted(hashes.items())) for kind, hashes in found.items()}


def _kind(body: dict[str, Any]) -> str:
    if isinstance(body["messages"][-1]["content"], list):
        return "images"
    return "extractions" if END_MARK in body["messages"][0]["content"] else "summaries"


def _chat(body: dict[str, Any]) -> str:
    kind, text = _kind(body), body["messages"][-1]["content"]
    if kind == "images":
        return "A map of Bergen."
    found = sorted((name for name in _TYPES if name in text), key=text.index)
    said = f"by {body['model']} in {_hash(text)}"
    if kind == "summaries":
        return f"All that is said {said}."
    rows = [f"entity<|#|>{name}<|#|>{_TYPES[name]}<|#|>{name} is named {said}." for name in found]
    rows += [f"relation<|#|>{a}<|#|>{b}<|#|>neighbours<|#|>{a} and {b} are named {said}." for a, b in pairwise(found)]
    return "\n".join([*rows, END_MARK])


def _embed(text: str, dimensions: int) -> list[float]:
    return [byte / 255 for byte in sha256(text.encode()).digest()[:dimensions]]


def _hash(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
