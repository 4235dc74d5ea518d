-- What changes with every append, kept small: a row is rewritten whole.
-- Numbers are never used again, so that no session ever finds another one's events.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant_id TEXT NOT NULL,
    harness TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    usage BLOB NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_tenant ON sessions (tenant_id, id);
CREATE INDEX sessions_with_work ON sessions (tenant_id, id) WHERE open;

-- What never changes, and may be large.
CREATE TABLE session_configs (
    session_number INTEGER PRIMARY KEY,
    config BLOB NOT NULL,
    metadata BLOB NOT NULL
) STRICT;

-- One row for each event. Its place is its session's number in the upper 32 bits and its seq in
-- the lower ones: a session's events lie side by side, in order, in one tree with one integer key.
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- Sessions that were deleted and whose events up to `last_seq` are still to be erased.
CREATE TABLE erasures (
    session_number INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL
) STRICT;

-- One row, written to find out whether the disk takes writes.
CREATE TABLE pulse (beats INTEGER NOT NULL) STRICT;
INSERT INTO pulse VALUES (0);
