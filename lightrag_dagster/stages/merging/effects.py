"""The effect that decisions, and the settings of types, have on a merge."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.text.names import normalise_type
from lightrag_dagster.curation.rules import Curation
from lightrag_dagster.settings.sections import TypeSettings
from lightrag_dagster.storage.files.atomic import read_parquet
from lightrag_dagster.storage.manifests import CurationRecord, WrittenRecord

if TYPE_CHECKING:
    from lightrag_dagster.stages.merging.merge import Decided, Merged


def effect_of(curation: Curation, decided: "Decided", merged: "Merged", types: TypeSettings) -> CurationRecord:
    """Return the effect of decisions and of the settings of types on a merge."""
    given = Counter[str]()
    for path in merged.entity_evidence if types != TypeSettings() else ():
        for one in read_parquet(path, ["type"])["type"].value_counts().to_pylist():
            given[normalise_type(one["values"])] += one["counts"]
    mapped, allowed = {one: types.map.get(one, one) for one in given}, ("other", *types.allowed)
    return CurationRecord(
        written=[WrittenRecord(**asdict(one)) for one in curation.written],
        unmatched=decided.unmatched,
        removed=decided.removed,
        idle=_idle(curation, decided, merged.relations),
        undecided=decided.undecided,
        mapped=sum(rows for one, rows in given.items() if mapped[one] != one),
        disallowed=sum(rows for one, rows in given.items() if types.allowed and mapped[one] not in allowed),
    )


def _idle(curation: Curation, decided: "Decided", merged: Sequence[Path]) -> list[str]:
    """Return the new names of splits that take nothing, and the relations in decisions that no document has."""
    texts = {one.id for one in curation.written}
    lost = [f"“{into}”" for into in decided.idle]
    relations = {one: ends for one, ends in curation.relations.items() if one in texts | curation.removed}
    known = _among(merged, relations) | decided.removed_relations
    lost += [f"“{src}” — “{tgt}”" for one, (src, tgt) in relations.items() if one not in known]
    return sorted(lost)


def _among(paths: Sequence[Path], wanted: Collection[str]) -> set[str]:
    """Return those of some ids of relations that are in Parquet files."""
    found = set[str]()
    for path in paths if wanted else ():
        ids = read_parquet(path, ["relation_id"])["relation_id"]
        found.update(ids.filter(pc.is_in(ids, pa.array(sorted(wanted), pa.string()))).to_pylist())
    return found
