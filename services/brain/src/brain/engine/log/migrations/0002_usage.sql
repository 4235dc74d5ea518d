-- What a tenant's model calls have used, by day and model: sums, so that they outlive the sessions.
-- What is not known is null.
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
