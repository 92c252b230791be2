"""A chat model made of rules that answers a pass from the lines that columns of a table became."""

from contextlib import AbstractAsyncContextManager, nullcontext

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Usage
from lightrag_dagster.stages.facts.columns import answer_of
from lightrag_dagster.stages.prompts.fencing import last_fenced


class ColumnReader:
    """The rules of a pass over columns; no model is asked, and nothing is paid or stored."""

    awaited: frozenset[str] = frozenset()
    identity = "columns"

    def __init__(self) -> None:
        self.usage = Usage()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the facts of the passage in the last message."""
        return ChatResponse(answer_of(last_fenced(request.messages[-1].content) or ""))

    def is_stored(self, request: ChatRequest) -> bool:
        """Return False: nothing is stored."""
        return False

    def open(self) -> AbstractAsyncContextManager["ColumnReader"]:
        """Give these rules as the open model of a block."""
        return nullcontext(self)
