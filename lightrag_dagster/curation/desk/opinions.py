"""The opinions of a language model on pairs of names: asked once for two names and types, and stored."""

from collections.abc import Sequence
from typing import NamedTuple

from lightrag_dagster.core.text.sanitise import sanitise
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.pipeline.asking import Questionnaire
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.extraction.reasoning import read_object
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import PairEnd, resolve_request

Pair = tuple[PairEnd, PairEnd]

_ANSWER_TOKENS = 60
"""Tokens of an answer: an object with one short sentence. Not measured."""


class Opinion(NamedTuple):
    """A model's opinion whether two names are one, None if it cannot tell or `failed`; and its reason, or the error."""

    same: bool | None
    reason: str
    failed: bool = False


def ask_pairs(settings: Settings, pairs: Sequence[Pair], account: Account) -> list[Opinion]:
    """Ask the model of the role `resolve` about pairs of names; stored opinions cost nothing.

    Raises:
        SettingsError: there is no language model.
        ProviderAccessError: the model cannot be used at all, or the budget is spent; the answers so far are stored.
        StoreError: the response store cannot be used.
    """
    answers = pair_questions(settings, pairs).ask(settings, account)
    return [Opinion(None, one, failed=True) if isinstance(one, str) else one for one in answers]


def pair_questions(settings: Settings, pairs: Sequence[Pair]) -> Questionnaire[Opinion]:
    """Return the questions about pairs of names; raises SettingsError if there is no language model."""
    if settings.llm.provider == "offline":
        raise SettingsError(
            "llm.provider is offline, and only a language model can compare names; name a provider, such as openai, "
            "or list the pairs without --ask and --price"
        )
    prompts = load_prompts(settings.prompts, settings.language)
    return Questionnaire("resolve", [resolve_request(prompts, *pair) for pair in pairs], parse_opinion, _ANSWER_TOKENS)


def parse_opinion(text: str) -> Opinion | None:
    """Read a model's answer, a JSON object with `same` and `reason`; None if it is something else."""
    try:
        found = read_object(text)
        same = found["same"]
    except (ValueError, KeyError, TypeError):
        return None
    if same is not None and not isinstance(same, bool):
        return None
    reason = found.get("reason")
    return Opinion(same, " ".join(sanitise(reason).split()) if isinstance(reason, str) else "")
