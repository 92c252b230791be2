"""Closed room: rules for names, types, relations, vectors, summaries and answers, without a model, a network or a key.

They know texts, no prompts. Others use the names here alone.
"""

from lightrag_dagster.offline.embedder import LexicalEmbedder
from lightrag_dagster.offline.entity_types import OTHER
from lightrag_dagster.offline.extractor import Extracted, extract, find_names
from lightrag_dagster.offline.keywords import find_keywords
from lightrag_dagster.offline.prose import sentences
from lightrag_dagster.offline.recognised import NameSpan, Recogniser
from lightrag_dagster.offline.summaries import Passage, answer, summarise
