-- The requests. A row is written when it is asked, and changed once, when it ends.
CREATE TABLE approvals (
    call_id          TEXT PRIMARY KEY,
    tenant_id        TEXT NOT NULL,
    session_id       TEXT NOT NULL,
    action           TEXT NOT NULL,
    details          TEXT NOT NULL,
    requested_at     TEXT NOT NULL,
    expires_at       TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('pending', 'yes', 'no', 'expired', 'withdrawn')),
    decided_at       TEXT,
    decided_by       TEXT,
    comment          TEXT,
    arguments_sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_by_status ON approvals (status, requested_at);

-- The audit log: how each request ended. `UNIQUE` is the last word on one decision for each call.
CREATE TABLE audit (
    entry            INTEGER PRIMARY KEY AUTOINCREMENT,
    at               TEXT NOT NULL,
    answer           TEXT NOT NULL CHECK (answer IN ('yes', 'no', 'expired', 'withdrawn')),
    operator         TEXT,
    comment          TEXT,
    tenant_id        TEXT NOT NULL,
    session_id       TEXT NOT NULL,
    call_id          TEXT NOT NULL UNIQUE,
    action           TEXT NOT NULL,
    arguments_sha256 TEXT NOT NULL,
    CHECK ((operator IS NULL) = (answer IN ('expired', 'withdrawn')))
) STRICT;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;

-- Who is signed in on the page. Only hashes: what is in a backup opens nothing.
CREATE TABLE sign_ins (
    token_sha256 BLOB PRIMARY KEY,
    operator     TEXT NOT NULL,
    key_sha256   BLOB NOT NULL,
    expires_at   TEXT NOT NULL
) STRICT;
