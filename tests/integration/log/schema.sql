CREATE TABLE erasures (
    session_number INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE idempotency_keys (
    tenant_id TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    session_id TEXT NOT NULL,
    answer BLOB NOT NULL,
    kept_at TEXT NOT NULL,
    kept_until TEXT NOT NULL,
    PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (kept_until);

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

CREATE TABLE usage (
    tenant_id TEXT NOT NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_write_tokens INTEGER,
    reasoning_tokens INTEGER,
    cost_usd REAL,
    PRIMARY KEY (tenant_id, day, model)
) STRICT, WITHOUT ROWID;
