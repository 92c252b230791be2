"""Pairs of names that are one or not, as people say, beside what the merge joins and `curate review` proposes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.desk import duplicate_candidates
from lightrag_dagster.evaluation.gold.rows import GoldRow
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.storage.snapshots.generations import fetched


class NamesScore(NamedTuple):
    """The labelled pairs that a rule takes for one, by whether they are, and the pairs that it misses.

    `unknown` are pairs with a name that no published entity has, which count for nothing.
    """

    rule: str
    right: int
    wrong: list[GoldRow]
    missed: list[GoldRow]
    unknown: list[GoldRow]


def score_names(situation: Situation, pairs: Sequence[GoldRow]) -> list[NamesScore]:
    """Return the scores of what is joined, by spelling or decisions, and of candidates of the published snapshot too.

    A pair of one name that is not one, as of two people, is taken for one until a decision splits the name.

    Raises:
        NoSnapshotError: nothing is published yet.
        StoreError: the home is damaged, or the disk refuses.
    """
    curation = situation.decided.curation
    joined, split = curation.joined, {one.entity_id for one in curation.splits}
    rows = duplicate_candidates(situation).rows.select(["entity_id", "other_id", "verdict"]).to_pylist()
    shown = {(one["entity_id"], one["other_id"]) for one in rows if one["verdict"] != "unlikely"}
    accepted = _groups((one["entity_id"], one["other_id"]) for one in rows if one["verdict"] == "likely")
    generation = fetched(situation.home, situation.require_published().snapshot_id)
    published = set(generation.read_table("entities", ["entity_id"])["entity_id"].to_pylist())
    known, unknown = list[tuple[GoldRow, str, str]](), list[GoldRow]()
    for one in pairs:
        ids = [entity_id(one.name), entity_id(one.other)]
        if all(each in split or published & {each, joined.get(each, each)} for each in ids):
            is_split = ids[0] == ids[1] and ids[0] in split and not one.right
            first, second = sorted(joined.get(each, each) for each in ids)
            known.append((one, first, "" if is_split else second))
        else:
            unknown.append(one)

    def scored(rule: str, groups: dict[str, str], taken: set[tuple[str, str]]) -> NamesScore:
        said = [
            (one, groups.get(first, first) == groups.get(second, second) or (first, second) in taken)
            for one, first, second in known
        ]
        return NamesScore(
            rule,
            sum(one.right and same for one, same in said),
            [one for one, same in said if same and not one.right],
            [one for one, same in said if one.right and not same],
            unknown,
        )

    return [
        scored("joined, by spelling or decisions", {}, set()),
        scored("likely candidates too, which `curate review --accept` joins", accepted, set()),
        scored("all candidates, which `curate review` shows", accepted, shown),
    ]


def _groups(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the group of each entity of some pairs: what is one with a third is one."""
    members: dict[str, set[str]] = {}
    for one, other in pairs:
        both = members.get(one, {one}) | members.get(other, {other})
        members |= dict.fromkeys(both, both)
    return {one: min(group) for one, group in members.items()}
