"""Summaries of descriptions that are too many or too long to be joined."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.llm.protocol import ChatModel
from lightrag_dagster.progress import report
from lightrag_dagster.prompts import Prompts
from lightrag_dagster.prompts.requests import summary_request
from lightrag_dagster.settings import MergingSettings

CountTokens = Callable[[list[str]], list[int]]


class Group(NamedTuple):
    """The distinct descriptions of one entity or relation, in canonical order."""

    kind: Literal["Entity", "Relation"]
    id: str
    name: str
    descriptions: list[str]


async def summarise(
    groups: Sequence[Group],
    model: ChatModel,
    prompts: Prompts,
    settings: MergingSettings,
    count_tokens: CountTokens,
    max_concurrency: int,
) -> dict[str, str]:
    """Return id → summary for the groups over a threshold; a summary that fails is left out.

    Raises:
        ProviderAccessError: no summary can succeed until a person acts.
    """
    long = [group for group in groups if _too_long(group, settings, count_tokens)]
    summaries: dict[str, str] = {}
    waiting = iter(long)

    async def work(todo: Iterator[Group]) -> None:
        for group in todo:
            fitting = _fitting(group.descriptions, settings.summary_context_tokens, count_tokens)
            request = summary_request(
                prompts, group.kind, group.name, fitting, settings.language, settings.summary_max_tokens
            )
            try:
                response = await model.complete(request)
            except (PermanentProviderError, TransientProviderError):
                continue
            finally:
                report("summaries", len(summaries), len(long))
            if response.text.strip():
                summaries[group.id] = response.text.strip()

    await asyncio.gather(*(work(waiting) for _ in range(max_concurrency)))
    return dict(sorted(summaries.items()))


def _too_long(group: Group, settings: MergingSettings, count_tokens: CountTokens) -> bool:
    if len(group.descriptions) >= settings.summary_min_descriptions:
        return True
    return sum(count_tokens(group.descriptions)) >= settings.summary_min_tokens


def _fitting(descriptions: list[str], limit: int, count_tokens: CountTokens) -> list[str]:
    """Return the first descriptions that fit into `limit` tokens, two at the least."""
    used, kept = 0, list[str]()
    for text, tokens in zip(descriptions, count_tokens(descriptions), strict=True):
        used += tokens
        if used > limit and len(kept) >= 2:
            break
        kept.append(text)
    return kept
