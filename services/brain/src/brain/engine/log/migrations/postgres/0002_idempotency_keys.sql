-- What requests with an idempotency key were answered, written together with what they did.
CREATE TABLE brain.idempotency_keys (
    tenant_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    session_id text NOT NULL,
    answer bytea NOT NULL,
    kept_at text COLLATE "C" NOT NULL,
    kept_until text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, key)
);

CREATE INDEX idempotency_keys_by_age ON brain.idempotency_keys (kept_until);
