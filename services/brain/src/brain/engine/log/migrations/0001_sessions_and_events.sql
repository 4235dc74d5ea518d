-- Sessions, and one row for each durable event.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    harness TEXT NOT NULL,
    config BLOB NOT NULL,
    metadata BLOB NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    usage BLOB NOT NULL,
    epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_tenant ON sessions (tenant_id, id DESC);
CREATE INDEX sessions_with_work ON sessions (id) WHERE open;

CREATE TABLE events (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT;
