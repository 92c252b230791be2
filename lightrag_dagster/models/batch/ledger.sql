CREATE TABLE IF NOT EXISTS batches (
    name TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    source TEXT NOT NULL,
    host TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    worst_usd REAL NOT NULL,
    prepared_at REAL NOT NULL,
    state TEXT NOT NULL,
    attempted INTEGER NOT NULL,
    file_id TEXT,
    batch_id TEXT,
    status TEXT,
    output_file_id TEXT,
    error_file_id TEXT,
    finished INTEGER NOT NULL,
    problem TEXT,
    room INTEGER,
    ended_at REAL,
    cost_usd REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS items (
    key TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    batch TEXT,
    attempts INTEGER NOT NULL,
    kind TEXT,
    reason TEXT
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS items_by_batch ON items (batch);

CREATE TABLE IF NOT EXISTS waiting (
    source TEXT NOT NULL,
    batch TEXT NOT NULL,
    run TEXT NOT NULL,
    PRIMARY KEY (source, batch)
) WITHOUT ROWID;
