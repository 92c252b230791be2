-- The ledger, and the receipts of entries that must not be made twice. The columns after the number are those of `Entry`.
CREATE TABLE IF NOT EXISTS ledger (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    purpose TEXT NOT NULL,
    source TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS receipts (receipt TEXT PRIMARY KEY);
