"""Room with a door: a knowledge base behind HTTP and MCP. Others use the names here alone."""

from lightrag_dagster.serving.access import VARIABLE, Tokens
from lightrag_dagster.serving.app import app_of
from lightrag_dagster.serving.limits import Limits
from lightrag_dagster.serving.service import Service

__all__ = ["VARIABLE", "Limits", "Service", "Tokens", "app_of"]
