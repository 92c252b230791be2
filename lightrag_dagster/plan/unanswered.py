"""Questions that the response store does not answer, as they come up while a run is tried."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lightrag_dagster.core.protocols import ChatRequest, question_tokens


@dataclass
class Unanswered:
    """The input tokens of questions without a stored answer, by key; of `later` ones a part is a placeholder.

    `again` are those with which conversations begin once more, since no stored answer to the first one is of use.

    `placeholder` is the text in place of an answer, from which later questions may be made; empty if none is.
    """

    count_tokens: Callable[[list[str]], list[int]]
    placeholder: str = ""
    first: dict[str, int] = field(default_factory=dict)
    later: dict[str, int] = field(default_factory=dict)
    again: dict[str, int] = field(default_factory=dict)

    def __call__(self, key: str, request: ChatRequest) -> str:
        """Count a question, and return the placeholder."""
        made_of_it = self.placeholder and any(self.placeholder in message.content for message in request.messages)
        begins = request.attempt and all(message.role != "assistant" for message in request.messages)
        found = self.later if made_of_it else self.again if begins else self.first
        found[key] = question_tokens(request, self.count_tokens)
        return self.placeholder
