"""Assets that follow what they are made from: when its content changed, not when it was merely made again."""

from typing import Any

import dagster as dg

from lightrag_dagster.settings import Settings

FOLLOWS_DATA = (
    (
        dg.AutomationCondition.any_deps_match(
            dg.AutomationCondition.data_version_changed() | dg.AutomationCondition.will_be_requested()
        )
        | dg.AutomationCondition.newly_missing()
    ).since_last_handled()
    & ~dg.AutomationCondition.any_deps_missing()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
).with_label("follows data versions")
"""Unlike `eager`, which also fires when something was made again with the same content. `code_version_changed` is left
out on purpose: it would make everything anew, and pay for it, at the first tick after a prompt was edited."""

downstream = dg.AutomationConditionSensorDefinition(
    "downstream",
    target=dg.AssetSelection.groups("downstream"),
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Makes what is downstream of the knowledge base anew when another snapshot is published.",
)


def conditions(settings: Settings) -> dict[str, dg.AutomationCondition[Any]]:
    """Return asset → when to make it by itself. Without questions there is nothing to ask.

    Ingestion and publication have none: they follow manifests, by the schedule `nightly` and the sensors `reconcile`
    and `publish_accepted`, since Dagster's event log knows neither removed partitions nor what was accepted.
    """
    return dict.fromkeys(("answers", "retrieval_evaluation"), FOLLOWS_DATA) if settings.questions else {}
