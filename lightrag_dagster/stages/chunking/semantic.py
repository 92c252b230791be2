"""Method `semantic`: cut where neighbouring sentences are far apart in meaning, LightRAG's method V."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lightrag_dagster.settings.chunking import ChunkerSettings
from lightrag_dagster.stages.chunking import boundaries, packed
from lightrag_dagster.stages.chunking.chunker import Cut, Document, EmbedTexts, Tools
from lightrag_dagster.stages.chunking.splitter import Divider, cuts_of

Distances = npt.NDArray[np.float64]

_SENTENCES_AT_ONCE = 4_096


def cut(document: Document, settings: ChunkerSettings, tools: Tools) -> list[Cut]:
    """Compare each sentence with the next, and cut at distances above the threshold of the document.

    A sentence is embedded with its two neighbours, since by itself it says little. Parts longer than `size` between two
    cuts are cut at `separators`, without overlap. Without an embedder, as when a run is only planned, all of the text
    is cut as by `recursive`.
    """
    text = document.text
    if tools.embed is None:
        return packed.recursive(document, settings, tools)
    measured = tools.tokenizer.measure(text)
    starts = [0, *boundaries.sentences(text)(0, len(text)), len(text)]
    distances = _distances(text, starts, tools.embed)
    breaks = [starts[at + 1] for at in np.flatnonzero(_stands_out(distances, settings)).tolist()]
    divider = Divider(text, measured, settings.size, packed.levels(text, settings))
    spans = [span for left, right in pairwise([0, *breaks, len(text)]) for span in divider.divide(left, right)]
    return cuts_of(text, measured, spans)


def _distances(text: str, starts: Sequence[int], embed: EmbedTexts) -> Distances:
    """Return the cosine distance of each sentence to the next; `starts` ends with the end of the text."""
    count = len(starts) - 1
    groups = [text[starts[max(0, at - 1)] : starts[min(count, at + 2)]].strip() for at in range(count)]
    found = [np.zeros(0)]
    for first in range(0, count - 1, _SENTENCES_AT_ONCE):
        vectors = embed(groups[first : first + _SENTENCES_AT_ONCE + 1]).astype(np.float64)
        found.append(1 - np.einsum("ij,ij->i", vectors[:-1], vectors[1:]))
    return np.concatenate(found)


def _stands_out(distances: Distances, settings: ChunkerSettings) -> npt.NDArray[np.bool_]:
    """Return for each distance True if it is above the threshold of the document."""
    if len(distances) < 2:
        return np.zeros(len(distances), np.bool_)
    how, given = settings.breakpoints
    compared = distances
    if how == "standard_deviation":
        threshold = distances.mean() + given * distances.std()
    elif how == "interquartile":
        lower, upper = np.percentile(distances, [25, 75])
        threshold = distances.mean() + given * (upper - lower)
    else:
        compared = np.gradient(distances) if how == "gradient" else distances
        threshold = np.percentile(compared, given)
    above: npt.NDArray[np.bool_] = compared > threshold
    return above
