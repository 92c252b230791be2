"""Room with a door: decisions, their rules, those in force, and what people added. Others use the names here alone."""

from lightrag_dagster.curation.rules.additions import CURATION, additions_of, store_additions
from lightrag_dagster.curation.rules.decisions import Decision, Placed, check_decision, check_names
from lightrag_dagster.curation.rules.files import in_a_cell, read_files
from lightrag_dagster.curation.rules.reading import (
    InForce,
    Taken,
    copy_decisions,
    decisions_of,
    in_force,
    lost_number,
    place_of,
    resolved,
    taken,
)
from lightrag_dagster.curation.rules.resolving import NO_DECISIONS, Curation, WrittenText, resolve
