-- What changes with every append, kept small. Ids are compared byte by byte, so that they sort by the
-- time they were made; no column that every append changes is in an index, so that the indexes are
-- left alone then. The owner is an engine, or was: one that isn't in `engines` owns nothing.
CREATE TABLE brain.sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    tenant_id text COLLATE "C" NOT NULL,
    harness text NOT NULL,
    status text NOT NULL,
    open boolean NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    updated_at text COLLATE "C" NOT NULL,
    last_seq bigint NOT NULL,
    usage bytea NOT NULL,
    epoch bigint NOT NULL,
    owner text
) WITH (fillfactor = 70);

CREATE INDEX sessions_by_tenant ON brain.sessions (tenant_id, id);
CREATE INDEX sessions_with_work ON brain.sessions (id) WHERE open;

-- What never changes, and may be large.
CREATE TABLE brain.session_configs (
    session_number bigint PRIMARY KEY,
    config bytea NOT NULL,
    metadata bytea NOT NULL
);

-- One row for each event.
CREATE TABLE brain.events (
    session_number bigint NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (session_number, seq)
);

-- Sessions that were deleted and whose events up to `last_seq` are still to be erased.
CREATE TABLE brain.erasures (
    session_number bigint PRIMARY KEY,
    last_seq bigint NOT NULL
);

-- What a tenant's model calls have used, by day and model: sums, so that they outlive the sessions.
-- What is not known is null.
CREATE TABLE brain.usage (
    tenant_id text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    input_tokens bigint,
    output_tokens bigint,
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    reasoning_tokens bigint,
    cost_usd double precision,
    PRIMARY KEY (tenant_id, day, model)
);

-- The engines that are at work, each with its lease, by this server's clock. A row that was removed
-- never comes back: whoever has lost its lease goes on under another id.
CREATE TABLE brain.engines (
    id text PRIMARY KEY,
    address text NOT NULL,
    expires_at timestamptz NOT NULL
);
