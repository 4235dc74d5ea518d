-- Every statement of the SQLite log: a name, and a sentence on what it is for.

-- name: create_session
-- Adds a session that belongs to this engine, unless its id is taken.
INSERT INTO sessions (
    id, tenant_id, harness, status, open, created_at, updated_at, last_seq, usage, epoch
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT DO NOTHING
RETURNING number;

-- name: add_config
-- Adds what never changes in a session.
INSERT INTO session_configs (session_number, config, metadata) VALUES (?, ?, ?);

-- name: advance_session
-- Moves a session to what it is after an append, if the caller owns it and has counted right.
UPDATE sessions
SET last_seq = ?, status = ?, open = ?, updated_at = ?, usage = ?
WHERE id = ? AND epoch = ? AND last_seq = ?
RETURNING number, tenant_id;

-- name: add_event
-- Adds one event.
INSERT INTO events (place, type, body) VALUES (?, ?, ?);

-- name: add_usage
-- Adds to a tenant's sums; what isn't known adds nothing, and alone it stays unknown.
INSERT INTO usage (
    tenant_id, day, model, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    input_tokens = coalesce(
        input_tokens + excluded.input_tokens, input_tokens, excluded.input_tokens
    ),
    output_tokens = coalesce(
        output_tokens + excluded.output_tokens, output_tokens, excluded.output_tokens
    ),
    cache_read_tokens = coalesce(
        cache_read_tokens + excluded.cache_read_tokens,
        cache_read_tokens, excluded.cache_read_tokens
    ),
    cache_write_tokens = coalesce(
        cache_write_tokens + excluded.cache_write_tokens,
        cache_write_tokens, excluded.cache_write_tokens
    ),
    reasoning_tokens = coalesce(
        reasoning_tokens + excluded.reasoning_tokens,
        reasoning_tokens, excluded.reasoning_tokens
    ),
    cost_usd = coalesce(cost_usd + excluded.cost_usd, cost_usd, excluded.cost_usd);

-- name: keep_answer
-- Keeps what a request was answered, unless its key has an answer whose time isn't over.
INSERT INTO idempotency_keys (
    tenant_id, key, fingerprint, session_id, answer, kept_at, kept_until
) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    fingerprint = excluded.fingerprint, session_id = excluded.session_id,
    answer = excluded.answer, kept_at = excluded.kept_at, kept_until = excluded.kept_until
WHERE kept_until <= excluded.kept_at
RETURNING true;

-- name: drop_answers
-- Forgets answers whose time is over.
DELETE FROM idempotency_keys WHERE (tenant_id, key) IN (
    SELECT tenant_id, key FROM idempotency_keys WHERE kept_until <= ? ORDER BY kept_until LIMIT ?
);

-- name: get_answer
-- Reads what is kept for a key.
SELECT tenant_id, key, fingerprint, session_id, answer, kept_at, kept_until
FROM idempotency_keys
WHERE tenant_id = ? AND key = ?;

-- name: claim_session
-- Makes the caller the owner and every earlier owner stale.
UPDATE sessions SET epoch = epoch + 1 WHERE id = ? RETURNING epoch;

-- name: remove_session
-- Takes a session out of sight, if the caller owns it.
DELETE FROM sessions WHERE id = ? AND epoch = ? RETURNING number, last_seq;

-- name: remove_config
-- Erases what never changed in a session.
DELETE FROM session_configs WHERE session_number = ?;

-- name: plan_erasure
-- Remembers that the events of a session that is gone are still to be erased.
INSERT INTO erasures (session_number, last_seq) VALUES (?, ?);

-- name: next_erasure
-- Finds events to erase.
SELECT session_number, last_seq FROM erasures LIMIT 1;

-- name: erase_events
-- Erases the events in a range of places, both ends included.
DELETE FROM events WHERE place BETWEEN ? AND ?;

-- name: advance_erasure
-- Remembers how far the events of a session have been erased.
UPDATE erasures SET last_seq = ? WHERE session_number = ?;

-- name: end_erasure
-- Forgets a session whose events have all been erased.
DELETE FROM erasures WHERE session_number = ?;

-- name: beat
-- Writes next to nothing.
UPDATE pulse SET beats = beats + 1;

-- name: get_session
-- Reads a session's record.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM sessions CROSS JOIN session_configs ON session_number = number
WHERE id = ?;

-- name: list_sessions
-- Reads a page of a tenant's sessions, newest first: ids sort by the time they were made.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM sessions CROSS JOIN session_configs ON session_number = number
WHERE tenant_id = :tenant_id AND id < :before AND (:status IS NULL OR status = :status)
ORDER BY id DESC
LIMIT :limit;

-- name: list_running_sessions
-- Reads such a page of the running ones, which are few among the many: all of them are open.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM sessions CROSS JOIN session_configs ON session_number = number
WHERE open AND tenant_id = :tenant_id AND id < :before AND status = 'running'
ORDER BY id DESC
LIMIT :limit;

-- name: read_usage
-- Reads a tenant's sums of some days.
SELECT day, model, input_tokens, output_tokens,
       cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd
FROM usage
WHERE tenant_id = ? AND day BETWEEN ? AND ?
ORDER BY day, model;

-- name: read_events
-- Reads events after a point, in order.
SELECT place & 0xffffffff, type, body
FROM sessions CROSS JOIN events
    ON place > (number << 32) + :after AND place < (number + 1) << 32
WHERE id = :session_id
ORDER BY place
LIMIT :limit;

-- name: open_sessions
-- Finds the sessions with work in them, oldest first.
SELECT id FROM sessions WHERE open ORDER BY id;

-- name: closed_before
-- Finds closed sessions that have not changed since a moment, oldest first. It looks at every
-- session, once an hour, on a connection that nobody waits for.
SELECT id FROM sessions WHERE status = 'closed' AND updated_at < ? ORDER BY id LIMIT ?;

-- name: look
-- Reads next to nothing.
SELECT beats FROM pulse;
