-- Every statement of the SQLite log: a name, and one sentence on what it is for.

-- name: create_session
-- Adds a session that has one event and belongs to this engine.
INSERT INTO sessions (
    id, tenant_id, harness, config, metadata, status, open,
    created_at, updated_at, last_seq, usage, epoch
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1);

-- name: advance_session
-- Moves a session to what it is after an append, if the caller owns it and has counted right.
UPDATE sessions
SET last_seq = ?, status = ?, open = ?, updated_at = ?, usage = ?
WHERE id = ? AND epoch = ? AND last_seq = ?;

-- name: add_event
-- Adds one event.
INSERT INTO events (session_id, seq, type, body) VALUES (?, ?, ?, ?);

-- name: claim_session
-- Makes the caller the owner and every earlier owner stale.
UPDATE sessions SET epoch = epoch + 1 WHERE id = ? RETURNING epoch;

-- name: delete_session
-- Erases a session, and by its foreign key its events, if the caller owns it.
DELETE FROM sessions WHERE id = ? AND epoch = ?;

-- name: get_session
-- Reads a session's record.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM sessions WHERE id = ?;

-- name: list_sessions
-- Reads a page of a tenant's sessions, newest first: ids sort by the time they were made.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM sessions
WHERE tenant_id = :tenant_id
  AND (:cursor IS NULL OR id < :cursor)
  AND (:status IS NULL OR status = :status)
ORDER BY id DESC
LIMIT :limit;

-- name: read_events
-- Reads events after a point, in order.
SELECT seq, type, body FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: open_sessions
-- Finds the sessions with work in them.
SELECT id FROM sessions WHERE open ORDER BY id;

-- name: ping
-- Reads next to nothing.
SELECT 1;
