"""A chat model made of rules that answers a pass from the lines that columns of a table became."""

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, FreeModel
from lightrag_dagster.stages.facts.columns import answer_of
from lightrag_dagster.stages.prompts.fencing import last_fenced


class ColumnReader(FreeModel):
    """The rules of a pass over columns; no model is asked, and nothing is paid or stored."""

    identity = "columns"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the facts of the passage in the last message."""
        return ChatResponse(answer_of(last_fenced(request.messages[-1].content) or ""))
