-- What requests with an idempotency key were answered, written together with what they did.
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
