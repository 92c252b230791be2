-- Run once by psql, when the volume is made: Dagster's records, and what was paid for, each with a user who can open
-- no other database.
\getenv dagster DAGSTER_PASSWORD
\getenv knowledge KNOWLEDGE_PASSWORD
CREATE ROLE dagster LOGIN PASSWORD :'dagster';
CREATE ROLE knowledge LOGIN PASSWORD :'knowledge';
CREATE DATABASE dagster OWNER dagster;
CREATE DATABASE knowledge OWNER knowledge;
REVOKE CONNECT ON DATABASE dagster, knowledge, postgres, template1 FROM PUBLIC;
