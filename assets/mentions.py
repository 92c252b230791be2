"""`entity_mentions`, `relation_mentions` and `parsed`: the parsed responses; and the acceptance of the source."""

import dagster as dg

from lightrag_dagster.assets.declared import multi_asset
from lightrag_dagster.assets.source_steps import in_own_run

_DESCRIPTIONS = {
    "entity_mentions": "Entities as each chunk names them; parsing again costs no call.",
    "relation_mentions": "Relations as each chunk states them; parsing again costs no call.",
    "parsed": "Numbers of rows of each chunk's answers that became mentions or could not be used, and the reason.",
}


mentions = multi_asset(
    "mentions",
    partitioned=True,
    group_name="ingestion",
    specs=[
        dg.AssetSpec(name, deps=["extractions"], kinds={"python", "parquet"}, description=description)
        for name, description in _DESCRIPTIONS.items()
    ],
)(in_own_run("mentions"))
