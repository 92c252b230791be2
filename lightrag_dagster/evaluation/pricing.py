"""The price of the filed questions that a run asks after its publication: an estimate, since contexts are unknown."""

from collections.abc import Mapping, Sequence
from typing import Any

from lightrag_dagster.core.roles import Role
from lightrag_dagster.evaluation.questions import read_question_file
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.estimates import NOTHING, Estimate, near, reasoned
from lightrag_dagster.plan.plan import Plan
from lightrag_dagster.plan.steps import priced, together
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables

# The share of questions that a new snapshot gives another context. Not measured.
_CHANGED = Estimate(0.5, 0, 1)


def plan_questions(plan: Plan, settings: Settings) -> None:
    """Add to a plan what its run asks for `questions`: their answers, and the evaluation of those with gold.

    Raises:
        SettingsError: the question file cannot be used.
        StoreError: the home is damaged.
    """
    now, filed = Situation.looking(settings), read_question_file(settings.questions)
    publishes = "embeddings" in plan.steps
    if not filed or settings.llm.provider == "offline" or not (publishes or now.published):
        return
    asked: set[tuple[str, ...]] = {(one.question.strip(), one.mode or settings.query.mode) for one in filed}
    answers = _left(now, "answers", now.recipes.answers, asked, publishes=publishes)
    gold: set[tuple[str, ...]] = {(one.question,) for one in filed if one.gold}
    judged = _left(now, "evaluated_questions", now.recipes.retrieval_evaluation, gold, publishes=publishes)
    bought, found = Ledger(now.home.ledger).costs(["purpose", "model"]), []
    for role, (calls, most, outputs) in _calls(settings, answers, judged).items():
        llm, inputs = settings.llm.of(role), Estimate(most, 0.1 * most, most)
        outputs = outputs.times(reasoned(llm))
        before = [one for one in bought if one["purpose"] == role and one["output_tokens"]]
        own = [one for one in before if one["model"] == chat_identity(llm)]
        inputs = _measured("input_tokens", own or before, inputs)  # contexts are as long for any model
        outputs = _measured("output_tokens", own, outputs)
        found.append(priced(price_of(llm), calls, calls.times(inputs), calls.times(outputs)))
        unpriced = {llm.model} if calls.high and not price_of(llm).known else set()
        plan.unknown_prices = sorted(unpriced.union(plan.unknown_prices))
    plan.steps["questions"] = together(found)


def _measured(of: str, bought: Sequence[Mapping[str, Any]], otherwise: Estimate) -> Estimate:
    """Return the mean of a call in what was bought, and another estimate if that is nothing."""
    return near(sum(one[of] for one in bought) / max(1, sum(one["calls"] for one in bought))) if bought else otherwise


def _left(now: Situation, table: str, recipe: str, asked: set[tuple[str, ...]], *, publishes: bool) -> Estimate:
    """Estimate how many questions are asked: those without a row of a `recipe`, and where the context changes."""
    tables = SourceTables(now.home)
    current = tables.current(table, ALL_SOURCES)
    if current is None or current.recipe != recipe:
        return Estimate.exactly(len(asked))
    rows = tables.read(table, ALL_SOURCES, columns=["question", "mode"] if table == "answers" else ["question"])
    known = {*zip(*rows.to_pydict().values(), strict=True)} & asked
    again = int(current.inputs.get("asked_again", 0))
    same = now.published and not publishes and current.inputs["knowledge_base"] == now.published.snapshot_id
    others = NOTHING if same else _CHANGED.times(max(0, len(known) - again))
    return others.plus(Estimate.exactly(len(asked - known) + again))


def _calls(settings: Settings, answers: Estimate, judged: Estimate) -> dict[Role, tuple[Estimate, float, Estimate]]:
    """Return by role the calls, the most tokens of a question, and those of its answer, which are not measured.

    Only new questions have keywords that are not stored. Most tokens of other steps are those of docs/querying.md.
    """
    query, whole = settings.query, settings.query.max_total_tokens
    hops = Estimate(query.hops, min(1, query.hops), query.hops)
    walks = answers.plus(judged.times(2)).times(hops.plus(Estimate.exactly(1)))  # of the modes fusion and ppr
    ranked = query.rerank and settings.rerank.provider == "chat"
    searches = answers.plus(judged.times(sum(mode.retrieves for mode in MODES.values())))
    return {
        "keywords": (Estimate(judged.low, judged.low, max(answers.low, judged.low)), 1000, Estimate(60, 20, 150)),
        "relevance": (walks if query.filter_relations else NOTHING, 1630, Estimate(30, 5, 100)),
        "hops": (hops.times(searches), 5020, Estimate(30, 10, 100)),
        "rerank": (answers.times(3 * ranked), 7480, Estimate(40, 20, 100)),
        "answer": (answers.plus(judged), whole, Estimate(400, 50, 1500)),
        "judge": (judged.times(Estimate(1, 1, 2)), whole, Estimate(60, 20, 200)),
    }
