"""Questions that a language model drafts from passages of one's own documents, for people to correct."""

from hashlib import sha256
from typing import NamedTuple

from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.sample import Sample
from lightrag_dagster.pipeline.asking import AskingPrice, Questionnaire
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.extraction.reasoning import read_object
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import draft_request

_LEAST_TOKENS = 40
_ANSWER_TOKENS = 50
"""Tokens of an answer: an object with a question and a phrase. Not measured."""


class Draft(NamedTuple):
    """A question with its answer; an empty one if the passage answers none that people would ask."""

    question: str
    answer: str


class Drafted(NamedTuple):
    """The questions that were drafted; the number of passages that answer none, and the reason of each failed draft."""

    questions: list[FiledQuestion]
    unfit: int
    failed: list[str]


class Drafting:
    """The drafting of questions about some passages of a sample, one a passage, by the model of the role `draft`."""

    def __init__(self, settings: Settings, sample: Sample, count: int, *, least_tokens: int = _LEAST_TOKENS) -> None:
        """Choose up to `count` passages of at least `least_tokens` tokens, by a hash: the same each time.

        Raises:
            SettingsError: a prompt cannot be read.
        """
        self._settings = settings
        rows = [row for tables in sample.tables.values() for row in tables["chunks"].to_pylist()]
        by_id = {row["chunk_id"]: row for row in rows if row["tokens"] >= least_tokens}
        chosen = sorted(by_id, key=lambda one: sha256(one.encode()).hexdigest())[:count]
        documents: dict[str, set[str]] = {one: set() for one in chosen}
        for row in rows:
            if row["chunk_id"] in documents:
                documents[row["chunk_id"]].add(f"{row['source']}/{row['path']}")
        self._documents = [sorted(documents[one]) for one in chosen]
        prompts = load_prompts(settings.prompts, settings.language)
        requests = [draft_request(prompts, by_id[one]["content"], by_id[one]["heading"]) for one in chosen]
        self._asking = Questionnaire("draft", requests, parse_draft, _ANSWER_TOKENS)

    @property
    def passages(self) -> int:
        """The number of passages."""
        return len(self._documents)

    def price(self) -> AskingPrice:
        """Return what the drafts would cost that are not stored; raises StoreError."""
        return self._asking.price(self._settings)

    def draft(self, account: Account) -> Drafted:
        """Ask for the questions; stored ones cost nothing.

        Raises:
            ProviderAccessError: the model cannot be used at all, or the budget is spent; the answers so far are stored.
            StoreError: the response store cannot be used.
        """
        made, unfit, failed = dict[str, FiledQuestion](), 0, list[str]()
        for documents, one in zip(self._documents, self._asking.ask(self._settings, account), strict=True):
            if isinstance(one, str):
                failed.append(one)
            elif not one.question:
                unfit += 1
            else:  # passages of the same question should all be found
                others = made[one.question].documents if one.question in made else []
                made[one.question] = FiledQuestion(
                    question=one.question, documents=sorted({*others, *documents}), answer=one.answer or None
                )
        return Drafted(list(made.values()), unfit, failed)


def parse_draft(text: str) -> Draft | None:
    """Read a model's answer, a JSON object with `question` and `answer`; None if it is something else."""
    try:
        found = read_object(text)
        question, answer = found["question"], found.get("answer") or ""
    except (ValueError, KeyError, TypeError):
        return None
    if question is not None and not isinstance(question, str):
        return None
    answer = answer if isinstance(answer, str) else str(answer)
    return Draft(" ".join((question or "").split()), " ".join(answer.split()))
