"""Helpers for the tests of a project that uses a knowledge base: no network, no key, no cost.

`build_knowledge_base` makes a real one of a few texts, `CannedKnowledgeBase` answers as it is told, and
`offline_provider` is an OpenAI-compatible server that answers by rules.
"""

from lightrag_dagster.testing.building import build_knowledge_base
from lightrag_dagster.testing.canned import CannedKnowledgeBase
from lightrag_dagster.testing.provider import offline_provider

__all__ = ["CannedKnowledgeBase", "build_knowledge_base", "offline_provider"]
