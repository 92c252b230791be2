"""A knowledge base as a Dagster component, made from a `defs.yaml`."""

from typing import Any

import dagster as dg
from pydantic import Field

from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.settings import load_settings


class KnowledgeBaseComponent(dg.Component, dg.Model, dg.Resolvable):
    """A knowledge base: assets from raw documents to a published snapshot, with their jobs, schedules and sensors.

    One code location holds one of them; give each of several in a deployment a namespace and a home of its own.

    Example:
        type: lightrag_dagster.KnowledgeBaseComponent
        attributes:
          namespace: contracts
          settings:
            home: /srv/lightrag/contracts
            sources: /srv/documents/contracts
    """

    namespace: str = Field(default="", description="Prefix of asset keys, partitions, jobs, schedules and sensors.")
    settings: dict[str, Any] = Field(
        default={}, description="Settings as in lightrag.yaml; they win over LIGHTRAG_… variables. No API keys."
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the code location; raises SettingsError."""
        chosen = {"namespace": self.namespace} if self.namespace else {}
        return build_definitions(load_settings(**self.settings | chosen))
