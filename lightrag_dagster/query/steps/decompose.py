"""Decomposition of a question: a language model reads the best passages and names the next search, hop by hop."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.query.ask import Asking
from lightrag_dagster.query.hits import Found, Hits, round_robin
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.stages.extraction.reasoning import read_object
from lightrag_dagster.stages.prompts.requests import hop_request

HOP_PASSAGES = 5
"""Number of passages that the model sees at each hop."""

HOP_TOKENS = 6000
"""Their total length. Tokens."""


def follow_hops(
    search: Search,
    found: Found,
    passages_of: Callable[[Hits], Sequence[str]],
    step: Callable[[str], AbstractContextManager[dict[str, Any]]],
) -> Found:
    """Search for the parts that the model says are missing, at most `hops` times, and return all hits, fused.

    The search ends when the model is done, gives an unusable or repeated question, or a call for the new one fails.

    Args:
        search: the question.
        found: the hits of the question itself.
        passages_of: returns the texts of the best chunks for the model.
        step: opens a step of the trace, by its name.

    Raises:
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
    """
    asked: list[str] = []
    rankings = [found]
    while search.asking and len(asked) < search.settings.hops:
        with step(f"hop {len(rankings)}") as notes:
            request = hop_request(search.asking.prompts, search.query, asked, passages_of(fuse(rankings).chunks))
            further = search.asking.optional(request, parse_next, notes)
            if not further or further in (search.query, *asked):
                notes["question"] = "none" if not further else "as before"
                break
            try:
                rankings.append(_find(search, search.asking, further, notes))
            except (PermanentProviderError, TransientProviderError) as error:
                notes |= {"question": further, "error": str(error)}
                break
            asked.append(further)
            known = {row for ranking in rankings[:-1] for row in ranking.chunks}
            notes |= {"question": further, "new chunks": len(rankings[-1].chunks.keys() - known)}
            notes |= rankings[-1].notes
    return fuse(rankings)


def fuse(rankings: Sequence[Found]) -> Found:
    """Interleave the results of several searches; keep each row's first score.

    There are no more entities and relations than in the longest result, so that the context does not grow.
    """
    entities = [one.entities for one in rankings]
    relations = [one.relations for one in rankings]
    return Found(
        _by_turns(entities, max(map(len, entities))),
        _by_turns(relations, max(map(len, relations))),
        _by_turns([one.chunks for one in rankings]),
        rankings[0].notes,
        lambda chunk: next((one.paths_to(chunk) for one in rankings if one.paths_to and chunk in one.chunks), []),
    )


def parse_next(text: str) -> str | None:
    """Read a JSON object with `next`, a question, or with `done`; return the question, "" for done.

    None if there is neither.
    """
    try:
        found = read_object(text)
    except ValueError:
        return None
    further = found.get("next")
    if isinstance(further, str) and further.strip():
        return " ".join(further.split())
    return "" if found.get("done") is True else None


def _find(search: Search, asking: Asking, question: str, notes: dict[str, Any]) -> Found:
    """Search by the mode, with the keywords of the new question if it needs any; raises ProviderError."""
    mode = MODES[search.settings.mode]
    keywords = asking.keywords(question, notes) if mode.keywords else Keywords()
    return Found() if mode.keywords and keywords == Keywords() else mode.find(search.about(question, keywords))


def _by_turns(rankings: Sequence[Hits], most: int | None = None) -> Hits:
    scores: Hits = {}
    for ranking in rankings:
        scores = ranking | scores
    return {row: scores[row] for row in round_robin(*map(list, rankings))[:most]}
