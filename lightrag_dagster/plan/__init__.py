"""The plan of a run or backfill: its work and cost, found without asking a model."""
