-- Who holds an advisory lock in this database, and whether it is the connection that asks.
SELECT l.pid = pg_backend_pid() AS ours, a.application_name AS name
FROM pg_locks AS l
JOIN pg_stat_activity AS a USING (pid)
WHERE l.locktype = 'advisory'
  AND l.granted
  AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (CAST(l.classid AS bigint) << 32 | CAST(l.objid AS bigint))
    = hashtextextended(current_schema() || '/' || :name, 0)
