"""Decisions: their rules, those in force, and what people added; used below the stages."""
