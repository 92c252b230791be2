-- Run once, when the volume is made: Dagster's records are in the database of POSTGRES_DB, what was paid for in this one.
CREATE DATABASE lightrag;
