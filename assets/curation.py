"""`curation`: the decisions in force, which the merge reads; made by people, and only looked at here."""

from collections import Counter
from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.declared import observable
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.core.identity import digest
from lightrag_dagster.curation.rules import in_force
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.home_format import refresh

_NO_DECISIONS = "no decisions"


@observable(
    group_name="knowledge_base",
    kinds={"yaml"},
    description="Decisions of people about names: merged, renamed, retyped, removed and others, from the files that "
    "the setting `curation` names, and from the commands `curate`. Its data version is the hash of those in force.",
)
def curation(lightrag: dg.ResourceParam[LightRAG]) -> Iterator[dg.ObserveResult]:
    """Look at the decisions in force; those that cannot all hold are a version too, and the check stops the merge."""
    refresh(lightrag.home)
    try:
        found = in_force(lightrag.settings)
    except DecisionError as error:
        version, actions = digest("conflict", str(error)), Counter[str]()
    else:
        version = found.version or _NO_DECISIONS
        actions = Counter(one.decision.action for one in found.decisions)
    yield dg.ObserveResult(
        asset_key=Namespace(lightrag.settings.namespace).key("curation"),
        data_version=dg.DataVersion(version),
        metadata={"decisions": actions.total(), **{f"decisions/{action}": n for action, n in sorted(actions.items())}},
    )
