CREATE TABLE erasures (
    session_number INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL);

CREATE TABLE pulse (beats INTEGER NOT NULL) STRICT;

CREATE TABLE session_configs (
    session_number INTEGER PRIMARY KEY,
    config BLOB NOT NULL,
    metadata BLOB NOT NULL
) STRICT;

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
