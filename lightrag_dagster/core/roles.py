"""The roles in which a language model is asked: each may have a model of its own."""

from typing import Literal

RoleOfQuestion = Literal["keywords", "relevance", "hops", "rerank", "answer"]
Role = Literal["extract", "summarise", RoleOfQuestion, "judge", "describe", "resolve", "draft"]
