"""The order of chunks by a language model, which reads them window by window and names the best first.

After RankGPT (Sun et al., "Is ChatGPT Good at Search?", 2023). One call a window.
"""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from lightrag_dagster.query.ask import Asking, parse_numbers
from lightrag_dagster.stages.prompts.requests import rerank_request

RANKED_CHUNKS = 20
"""First chunks that the model ranks; the others keep their order behind them."""

_WINDOW = 10
_STEP = 5
_CHARACTERS = 6000
"""Start of a chunk that the model reads; an English chunk of the usual size is shorter."""

Item = TypeVar("Item")


def rank_by_chat(
    asking: Asking, query: str, texts: Sequence[str], limit: int, notes: dict[str, Any]
) -> list[tuple[int, None]]:
    """Return positions of at most `limit` texts in the order of a language model, best first, without scores.

    Windows go from the last of the first 20 texts to the first, each half over the one before, so that a good text
    rises through all of them. A window whose answer cannot be used keeps its order; `notes` count it, and tokens.

    Raises:
        ProviderError: the model gave no answer, or the budget is spent.
    """
    order, ranked = list(range(len(texts))), min(len(texts), RANKED_CHUNKS)
    starts = [*range(ranked - _WINDOW, 0, -_STEP), 0] if ranked > 1 else []
    notes |= {"windows": len(starts), "cut texts": sum(len(text) > _CHARACTERS for text in texts[:ranked])}
    notes |= {"unusable answers": 0, "left out by answers": 0, "input tokens": 0, "output tokens": 0}
    for start in starts:
        window = order[start : min(start + _WINDOW, ranked)]
        lines = [
            json.dumps({"number": number, "text": texts[place][:_CHARACTERS]}, ensure_ascii=False)
            for number, place in enumerate(window, start=1)
        ]
        read = partial(_read_order, most=len(window))
        named = asking.read(rerank_request(asking.prompts, query, lines), read, notes) or ()
        notes["unusable answers"] += not named
        notes["left out by answers"] += len(window) - len(named)
        order[start : start + len(window)] = reordered(window, named)
    return [(place, None) for place in order[:limit]]


def _read_order(text: str, most: int) -> list[int] | None:
    return parse_numbers(text, "order", most) or None  # an order of nothing is none


def reordered(items: Sequence[Item], places: Iterable[int]) -> list[Item]:
    """Return the items with those at `places` in this order; an item that is not named keeps its place.

    Repeated places, and those of no item, are ignored.
    """
    named = [place for place in dict.fromkeys(places) if 0 <= place < len(items)]
    moved = dict(zip(sorted(named), named, strict=True))
    return [items[moved.get(place, place)] for place in range(len(items))]
