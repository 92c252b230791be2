"""The review of names that may be one: the pairs that a person is shown, and the decisions that come back."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.curation.desk.names import in_documents, known_names
from lightrag_dagster.curation.desk.opinions import Opinion, Pair
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules import Placed, check_decision, decisions_of, in_a_cell, read_files, resolved
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.prompts.requests import PairEnd
from lightrag_dagster.storage.snapshots.generations import Generation

COLUMNS = (
    *("action", "name", "with", "into", "reason", "score", "verdict", "model says", "because", "found by", "likeness"),
    *("cosine", "type of name", "type of with", "mentions of name", "mentions of with", "sources of name"),
    *("sources of with", "description of name", "description of with"),
)
"""Columns of a review: five of a file of decisions, to be filled in, and the evidence, which is passed over."""

_SAID = {True: "one", False: "two", None: "cannot tell"}
_BOTH = ("", "other_")


class Reviewed(NamedTuple):
    """A pair of names that may be one: its row of `sql/review.sql`, and a model's opinion if it was asked."""

    row: Mapping[str, Any]
    opinion: Opinion | None = None

    @property
    def pair(self) -> Pair:
        """The two entities, as a model is shown them."""
        row = self.row
        return (
            PairEnd(row["entity_id"], row["name"], row["type"], row["description"]),
            PairEnd(row["other_id"], row["other"], row["other_type"], row["other_description"]),
        )

    @property
    def place(self) -> str:
        """Both names, as the place of a decision about them."""
        return f"{self.row['name']} — {self.row['other']}"

    @property
    def is_accepted(self) -> bool:
        """True if a model says that both are one, or by all evidence they are likely to be, and no model objects."""
        if self.opinion and self.opinion.same is not None:
            return self.opinion.same
        return bool(self.row["verdict"] == "likely")

    @property
    def reason(self) -> str:
        """A sentence for the decision that joins the two."""
        if self.opinion and self.opinion.same is not None:
            return f"a language model: {self.opinion.reason or _SAID[self.opinion.same]}"
        return f"score {self.row['score']:.2f}, found by {', '.join(self.row['found_by'])}"

    @property
    def cells(self) -> list[object]:
        """The cells of its row in a review, without an action."""
        row, opinion = self.row, self.opinion
        cosine = "" if row["cosine"] is None else round(row["cosine"], 3)
        said = ("", "")
        if opinion:
            said = ("failed" if opinion.failed else _SAID[opinion.same], opinion.reason)
        evidence = [round(row["score"], 3), row["verdict"], *said, ", ".join(row["found_by"])]
        both = (row[f"{which}{name}"] for name in ("type", "mentions", "sources", "description") for which in _BOTH)
        told = ("; ".join(one) if isinstance(one, list) else one for one in both)
        return ["", row["name"], in_a_cell(row["other"]), "", "", *evidence, round(row["likeness"], 3), cosine, *told]


def pairs_of(situation: Situation, candidates: pa.Table) -> list[Reviewed]:
    """Return the candidates of the published snapshot to be shown, the most likely first, named as documents name them.

    Args:
        situation: The situation of the home.
        candidates: DUPLICATE_CANDIDATES.

    Raises:
        StoreError: a table is missing or damaged.
    """
    home, snapshot_id = situation.home, situation.require_published().snapshot_id
    with open_tables(Generation(home, snapshot_id), ["entities"]) as connection:
        connection.register("candidates", candidates)
        rows = connection.sql(read_sql(__package__, "sql/review")).to_arrow_table()
    with known_names(home, situation.decided.decisions) as known:
        if known is None:
            return []
        return [
            Reviewed(row | {end: known.as_extracted(row[end]) for end in ("name", "other")}) for row in rows.to_pylist()
        ]


class FiledDecisions(NamedTuple):
    """The decisions of a review that are new, and the number of those that are in force already."""

    new: list[Placed]
    before: int


def read_review(situation: Situation, file: Path, **values: object) -> FiledDecisions:
    """Read the decisions of a file that is to be taken; `values` stand where a row has none, such as the author.

    Raises:
        DecisionError: the file cannot be read, or is not of decisions.
        StoreError: the database refuses.
    """
    if not file.is_file():
        raise DecisionError(f"there is no file {file}; `lightrag-dagster curate review {file}` writes it")
    decisions = situation.decided.decisions
    in_force = {one.decision.content for one in decisions}
    with known_names(situation.home, decisions) as known:
        found = []
        for decision, place in read_files(file):
            missing = {name: value for name, value in values.items() if getattr(decision, name) is None}
            signed = decision.model_copy(update=missing)
            found.append(Placed(in_documents(known, signed) if known else signed, place))
    new = [one for one in found if one.decision.content not in in_force]
    return FiledDecisions(new, len(found) - len(new))


class JoinedPairs(NamedTuple):
    """Joins that were taken as decisions, at the `place` of their pairs, and how many contradict decisions in force."""

    taken: Sequence[Placed]
    contradicting: int


def accept(settings: Settings, pairs: Iterable[Reviewed], **values: object) -> JoinedPairs:
    """Take a decision to merge each pair that is accepted; those that contradict decisions in force are left out.

    Raises:
        DecisionError: a pair has no names that a decision takes, or another process took a contradicting decision
            meanwhile.
        StoreError: the database refuses.
    """
    wanted = [
        check_decision(
            one.place, action="merge", names=(one.row["name"], one.row["other"]), reason=one.reason, **values
        )
        for one in pairs
        if one.is_accepted
    ]
    if kept := _compatible(decisions_of(settings), wanted):
        take(settings, [one.decision for one in kept])
    return JoinedPairs(kept, len(wanted) - len(kept))


def _compatible(before: Sequence[Placed], wanted: Sequence[Placed]) -> Sequence[Placed]:
    """Return the decisions that hold together with others and with those before them in the list."""
    if not wanted:
        return []
    try:
        resolved([*before, *wanted])
    except DecisionError:
        if len(wanted) == 1:
            return []
        half = len(wanted) // 2
        first = _compatible(before, wanted[:half])
        return [*first, *_compatible([*before, *first], wanted[half:])]
    return wanted
