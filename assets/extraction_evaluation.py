"""`extraction_evaluation`: precision and recall of what was extracted, beside gold rows, at each snapshot."""

import dagster as dg

from lightrag_dagster.assets.declared import asset
from lightrag_dagster.assets.metadata import stopwatch, table_metadata, warned
from lightrag_dagster.core.identity import table_version
from lightrag_dagster.core.text.safe_markdown import markdown_table
from lightrag_dagster.evaluation.gold.judged import find_passages, judge
from lightrag_dagster.evaluation.gold.rows import gold_inputs, read_gold
from lightrag_dagster.evaluation.gold.scores import MEASURES, as_table, below, score, worse_than_before
from lightrag_dagster.evaluation.summary import with_history
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES

TABLE = "extraction_evaluation"


@asset(
    deps=["knowledge_base"],
    group_name="downstream",
    kinds={"parquet"},
    description="Precision, recall and F1 of entities, types, relations and facts beside the gold rows of the setting "
    "`gold.folder`, with intervals, by recipe, model, source and type.",
    checks={
        "extraction_is_good": "F1 of no kind of rows is below `gold.least_f1`, nor by its whole 95% interval below "
        "that of the recipe before, and some gold passage is still a chunk."
    },
)
def extraction_evaluation(
    _context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]
) -> dg.MaterializeResult:
    """Compare the accepted rows with the gold, and add the scores to those of earlier snapshots."""
    situation, stored = Situation.looking(lightrag.settings), lightrag.tables()
    snapshot, settings = situation.require_published(), lightrag.settings
    gold = read_gold(settings.gold.folder)
    before = stored.read(TABLE, ALL_SOURCES) if stored.current(TABLE, ALL_SOURCES) else None
    with stopwatch() as watch:
        found = find_passages(situation, gold)
        judged = judge(gold, found.located, found.tables.values(), situation.decided.curation, settings.merging.types)
        scores = score(judged)
    rows = as_table(scores, snapshot.sequence, snapshot.snapshot_id)
    history = with_history(before, rows)
    inputs = gold_inputs(snapshot.snapshot_id, gold)
    stored.write(TABLE, ALL_SOURCES, history, inputs=inputs, recipe=lightrag.recipes.extraction_evaluation)
    low = [f"F1 of {one.kind} rows is {one.f1.mean:.3f}" for one in below(scores, settings.gold.least_f1)]
    overall = [one for one in scores if one.grouping == "all"]
    means = {(name, one.kind): getattr(one, name).mean for one in overall for name in MEASURES}
    numbers = {"/".join(of): mean for of, mean in means.items() if mean == mean}  # Dagster's pages take no NaN
    cells = [[one.kind, str(one.passages), *(f"{getattr(one, name).mean:.3f}" for name in MEASURES)] for one in overall]
    about = {"passages": found.located.num_rows, "gone": found.gone, "not_done": len(gold.open)}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(table_version(rows)),
        metadata=table_metadata(rows, seconds=watch.seconds, **about)
        | numbers  # Dagster draws them over time
        | {"scores": dg.MetadataValue.md(markdown_table(["rows", "passages", *MEASURES], cells))},
        check_results=[warned([*found.unmeasured(), *low, *worse_than_before(history, snapshot.snapshot_id)], {})],
    )
