"""The roles in which a language model is asked: each may have a model of its own."""

from typing import Literal

Role = Literal[
    "extract", "summarise", "keywords", "relevance", "hops", "rerank", "answer", "judge", "describe", "resolve", "draft"
]
