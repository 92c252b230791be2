"""Pairs of names that are one or not, as people say, beside what the merge joins and `curate review` proposes."""

from collections.abc import Sequence
from typing import NamedTuple

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.desk import duplicate_candidates
from lightrag_dagster.evaluation.gold.rows import GoldRow
from lightrag_dagster.pipeline.situation import Situation


class NamesScore(NamedTuple):
    """The labelled pairs that a rule takes for one, by whether they are, and the pairs that it misses."""

    rule: str
    right: int
    wrong: list[GoldRow]
    missed: list[GoldRow]


def score_names(situation: Situation, pairs: Sequence[GoldRow]) -> list[NamesScore]:
    """Return the scores of what is joined, by spelling or decisions, and of candidates of the published snapshot too.

    Raises:
        NoSnapshotError: nothing is published yet.
        StoreError: the home is damaged, or the disk refuses.
    """
    joined = situation.decided.curation.joined
    rows = duplicate_candidates(situation).rows.select(["entity_id", "other_id", "verdict"]).to_pylist()
    shown = {(one["entity_id"], one["other_id"]) for one in rows if one["verdict"] != "unlikely"}
    likely = {(one["entity_id"], one["other_id"]) for one in rows if one["verdict"] == "likely"}

    def scored(rule: str, taken: set[tuple[str, str]]) -> NamesScore:
        said = []
        for one in pairs:
            first, second = sorted(joined.get(each, each) for each in map(entity_id, (one.name, one.other)))
            said.append((one, first == second or (first, second) in taken))
        return NamesScore(
            rule,
            sum(one.right and same for one, same in said),
            [one for one, same in said if same and not one.right],
            [one for one, same in said if one.right and not same],
        )

    return [
        scored("joined, by spelling or decisions", set()),
        scored("likely candidates too, which `curate review --accept` joins", likely),
        scored("all candidates, which `curate review` shows", shown),
    ]
