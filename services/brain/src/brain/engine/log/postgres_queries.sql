-- Every statement of the Postgres log: a name, and a sentence on what it is for.
--
-- Each is a transaction of its own. Rows are locked in one order, so that no two statements can wait
-- for each other: engines, then sessions by id, then usage by tenant, day and model, then
-- idempotency keys, then erasures.

-- name: create_sessions
-- Adds sessions that belong to this engine, each with its first event, unless its id is taken.
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(
        $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::text[],
        $9::bigint[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bigint[], $14::text[],
        $15::bytea[]
    ) AS w (
        id, tenant_id, harness, status, open, created_at, updated_at,
        last_seq, usage, config, metadata, seq, type, body
    )
), made AS (
    INSERT INTO brain.sessions (
        id, tenant_id, harness, status, open, created_at, updated_at, last_seq, usage, epoch, owner
    )
    SELECT id, tenant_id, harness, status, open, created_at, updated_at, last_seq, usage, 1, $1
    FROM wanted ORDER BY id COLLATE "C"
    ON CONFLICT DO NOTHING
    RETURNING number, id
), configs AS (
    INSERT INTO brain.session_configs (session_number, config, metadata)
    SELECT number, config, metadata FROM made JOIN wanted ON wanted.id = made.id
), added AS (
    INSERT INTO brain.events (session_number, seq, type, body)
    SELECT number, seq, type, body FROM made JOIN wanted ON wanted.id = made.id
)
SELECT id FROM made;

-- name: create_sessions_with_answers
-- Does the same, and keeps the answers to the requests that have a key. One whose key has an answer
-- already, whose time isn't over, adds no session.
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(
        $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::text[],
        $9::bigint[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bigint[], $14::text[],
        $15::bytea[], $16::text[], $17::bytea[], $18::bytea[], $19::text[], $20::text[]
    ) AS w (
        id, tenant_id, harness, status, open, created_at, updated_at,
        last_seq, usage, config, metadata, seq, type, body,
        key, fingerprint, answer, kept_at, kept_until
    )
), kept AS (
    INSERT INTO brain.idempotency_keys AS known (
        tenant_id, key, fingerprint, session_id, answer, kept_at, kept_until
    )
    SELECT tenant_id, key, fingerprint, id, answer, kept_at, kept_until
    FROM wanted WHERE key IS NOT NULL ORDER BY tenant_id COLLATE "C", key COLLATE "C"
    ON CONFLICT (tenant_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, session_id = excluded.session_id,
        answer = excluded.answer, kept_at = excluded.kept_at, kept_until = excluded.kept_until
    WHERE known.kept_until <= excluded.kept_at
    RETURNING session_id
), made AS (
    INSERT INTO brain.sessions (
        id, tenant_id, harness, status, open, created_at, updated_at, last_seq, usage, epoch, owner
    )
    SELECT id, tenant_id, harness, status, open, created_at, updated_at, last_seq, usage, 1, $1
    FROM wanted
    WHERE key IS NULL OR EXISTS (SELECT FROM kept WHERE kept.session_id = wanted.id)
    ORDER BY id COLLATE "C"
    ON CONFLICT DO NOTHING
    RETURNING number, id
), configs AS (
    INSERT INTO brain.session_configs (session_number, config, metadata)
    SELECT number, config, metadata FROM made JOIN wanted ON wanted.id = made.id
), added AS (
    INSERT INTO brain.events (session_number, seq, type, body)
    SELECT number, seq, type, body FROM made JOIN wanted ON wanted.id = made.id
)
SELECT id FROM made;

-- name: created
-- Finds which sessions this engine has created already, though it was never told so.
SELECT id FROM brain.sessions WHERE id = ANY($2::text[]) AND owner = $1 AND epoch = 1;

-- name: append
-- Adds events to sessions, each if the caller owns it and has counted right; gives which it were.
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(
        $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[],
        $8::text[], $9::bytea[]
    ) WITH ORDINALITY AS w (id, epoch, before, last_seq, status, open, updated_at, usage, place)
), locked AS MATERIALIZED (
    SELECT s.number, w.place
    FROM brain.sessions AS s JOIN wanted AS w ON s.id = w.id COLLATE "C"
    WHERE s.epoch = w.epoch AND s.owner = $1 AND s.last_seq = w.before
    ORDER BY s.id
    FOR NO KEY UPDATE OF s
), moved AS (
    UPDATE brain.sessions AS s
    SET last_seq = w.last_seq, status = w.status, open = w.open,
        updated_at = w.updated_at, usage = w.usage
    FROM locked AS l JOIN wanted AS w ON w.place = l.place
    WHERE s.number = l.number
    RETURNING s.number, s.tenant_id, w.place
), added AS (
    INSERT INTO brain.events (session_number, seq, type, body)
    SELECT m.number, e.seq, e.type, e.body
    FROM unnest($10::bigint[], $11::bigint[], $12::text[], $13::bytea[])
        AS e (place, seq, type, body)
    JOIN moved AS m ON m.place = e.place
)
SELECT place FROM moved;

-- name: append_with_more
-- Does the same, adds to the tenants' sums (what isn't known adds nothing), and keeps answers.
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(
        $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[],
        $8::text[], $9::bytea[]
    ) WITH ORDINALITY AS w (id, epoch, before, last_seq, status, open, updated_at, usage, place)
), locked AS MATERIALIZED (
    SELECT s.number, w.place
    FROM brain.sessions AS s JOIN wanted AS w ON s.id = w.id COLLATE "C"
    WHERE s.epoch = w.epoch AND s.owner = $1 AND s.last_seq = w.before
    ORDER BY s.id
    FOR NO KEY UPDATE OF s
), moved AS (
    UPDATE brain.sessions AS s
    SET last_seq = w.last_seq, status = w.status, open = w.open,
        updated_at = w.updated_at, usage = w.usage
    FROM locked AS l JOIN wanted AS w ON w.place = l.place
    WHERE s.number = l.number
    RETURNING s.number, s.tenant_id, w.place
), added AS (
    INSERT INTO brain.events (session_number, seq, type, body)
    SELECT m.number, e.seq, e.type, e.body
    FROM unnest($10::bigint[], $11::bigint[], $12::text[], $13::bytea[])
        AS e (place, seq, type, body)
    JOIN moved AS m ON m.place = e.place
), summed AS (
    INSERT INTO brain.usage AS known (
        tenant_id, day, model, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd
    )
    SELECT m.tenant_id, u.day, u.model, sum(u.input_tokens), sum(u.output_tokens),
        sum(u.cache_read_tokens), sum(u.cache_write_tokens), sum(u.reasoning_tokens),
        sum(u.cost_usd)
    FROM unnest(
        $14::bigint[], $15::text[], $16::text[], $17::bigint[], $18::bigint[], $19::bigint[],
        $20::bigint[], $21::bigint[], $22::double precision[]
    ) AS u (
        place, day, model, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd
    )
    JOIN moved AS m ON m.place = u.place
    GROUP BY m.tenant_id, u.day, u.model
    ORDER BY m.tenant_id COLLATE "C", u.day COLLATE "C", u.model COLLATE "C"
    ON CONFLICT (tenant_id, day, model) DO UPDATE SET
        input_tokens = coalesce(
            known.input_tokens + excluded.input_tokens, known.input_tokens, excluded.input_tokens
        ),
        output_tokens = coalesce(
            known.output_tokens + excluded.output_tokens,
            known.output_tokens, excluded.output_tokens
        ),
        cache_read_tokens = coalesce(
            known.cache_read_tokens + excluded.cache_read_tokens,
            known.cache_read_tokens, excluded.cache_read_tokens
        ),
        cache_write_tokens = coalesce(
            known.cache_write_tokens + excluded.cache_write_tokens,
            known.cache_write_tokens, excluded.cache_write_tokens
        ),
        reasoning_tokens = coalesce(
            known.reasoning_tokens + excluded.reasoning_tokens,
            known.reasoning_tokens, excluded.reasoning_tokens
        ),
        cost_usd = coalesce(
            known.cost_usd + excluded.cost_usd, known.cost_usd, excluded.cost_usd
        )
), kept AS (
    INSERT INTO brain.idempotency_keys AS known (
        tenant_id, key, fingerprint, session_id, answer, kept_at, kept_until
    )
    SELECT a.tenant_id, a.key, a.fingerprint, a.session_id, a.answer, a.kept_at, a.kept_until
    FROM unnest(
        $23::bigint[], $24::text[], $25::text[], $26::bytea[], $27::text[], $28::bytea[],
        $29::text[], $30::text[]
    ) AS a (place, tenant_id, key, fingerprint, session_id, answer, kept_at, kept_until)
    JOIN moved AS m ON m.place = a.place
    ORDER BY a.tenant_id COLLATE "C", a.key COLLATE "C"
    ON CONFLICT (tenant_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, session_id = excluded.session_id,
        answer = excluded.answer, kept_at = excluded.kept_at, kept_until = excluded.kept_until
    WHERE known.kept_until <= excluded.kept_at
)
SELECT place FROM moved;

-- name: appended
-- Finds which appends are in the log already, though the caller was never told so: nobody else
-- writes under its epoch.
SELECT w.place
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS w (id, epoch, last_seq, place)
JOIN brain.sessions AS s ON s.id = w.id COLLATE "C"
WHERE s.epoch = w.epoch AND s.last_seq = w.last_seq;

-- name: keep_answer
-- Keeps what a request was answered, unless its key has an answer whose time isn't over.
INSERT INTO brain.idempotency_keys AS known (
    tenant_id, key, fingerprint, session_id, answer, kept_at, kept_until
) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, session_id = excluded.session_id,
    answer = excluded.answer, kept_at = excluded.kept_at, kept_until = excluded.kept_until
WHERE known.kept_until <= excluded.kept_at;

-- name: get_answer
-- Reads what is kept for a key.
SELECT tenant_id, key, fingerprint, session_id, answer, kept_at, kept_until
FROM brain.idempotency_keys
WHERE tenant_id = $1 AND key = $2;

-- name: drop_answers
-- Forgets answers whose time is over; those that somebody is writing at this moment stay.
DELETE FROM brain.idempotency_keys AS k USING (
    SELECT tenant_id, key FROM brain.idempotency_keys
    WHERE kept_until <= $1 ORDER BY kept_until LIMIT $2
    FOR UPDATE SKIP LOCKED
) AS old
WHERE k.tenant_id = old.tenant_id AND k.key = old.key
RETURNING true;

-- name: owner_of
-- Reads by which epoch a session is owned, and by which engine, if that is at work.
SELECT s.epoch, s.owner, e.address
FROM brain.sessions AS s LEFT JOIN brain.engines AS e ON e.id = s.owner
WHERE s.id = $1;

-- name: claim
-- Makes the caller the owner, and every earlier owner stale, if nobody else has done so meanwhile.
UPDATE brain.sessions SET epoch = epoch + 1, owner = $3 WHERE id = $1 AND epoch = $2 RETURNING epoch;

-- name: orphans
-- Finds sessions with work in them whose owner isn't at work, oldest first.
SELECT s.id, s.epoch
FROM brain.sessions AS s LEFT JOIN brain.engines AS e ON e.id = s.owner
WHERE s.open AND e.id IS NULL
ORDER BY s.id
LIMIT $1;

-- name: claim_orphans
-- Makes the caller their owner; those that another engine is claiming at this moment are its own.
UPDATE brain.sessions AS s
SET epoch = s.epoch + 1, owner = $3
FROM (
    SELECT f.number
    FROM brain.sessions AS f
    JOIN unnest($1::text[], $2::bigint[]) AS w (id, epoch) ON f.id = w.id COLLATE "C"
    WHERE f.epoch = w.epoch
    ORDER BY f.id
    FOR NO KEY UPDATE OF f SKIP LOCKED
) AS l
WHERE s.number = l.number
RETURNING s.id, s.epoch;

-- name: release
-- Makes a session nobody's, if the caller owns it.
UPDATE brain.sessions SET owner = NULL WHERE id = $1 AND epoch = $2 AND owner = $3;

-- name: lost
-- Finds which sessions the caller doesn't own any more.
SELECT w.id
FROM unnest($1::text[], $2::bigint[]) AS w (id, epoch)
WHERE NOT EXISTS (
    SELECT FROM brain.sessions AS s
    WHERE s.id = w.id COLLATE "C" AND s.epoch = w.epoch AND s.owner = $3
);

-- name: remove_session
-- Takes a session out of sight, if the caller owns it, and plans to erase its events.
WITH removed AS (
    DELETE FROM brain.sessions WHERE id = $1 AND epoch = $2 AND owner = $3
    RETURNING number, last_seq
), unconfigured AS (
    DELETE FROM brain.session_configs AS c USING removed WHERE c.session_number = removed.number
)
INSERT INTO brain.erasures (session_number, last_seq) SELECT number, last_seq FROM removed
RETURNING session_number;

-- name: erase_some
-- Erases some events of a session that is gone, and forgets it once all are; gives its number.
WITH chosen AS MATERIALIZED (
    SELECT session_number, last_seq FROM brain.erasures LIMIT 1 FOR UPDATE SKIP LOCKED
), erased AS (
    DELETE FROM brain.events AS e USING chosen AS c
    WHERE e.session_number = c.session_number AND e.seq > c.last_seq - $1
), advanced AS (
    UPDATE brain.erasures AS p SET last_seq = c.last_seq - $1
    FROM chosen AS c WHERE p.session_number = c.session_number AND c.last_seq > $1
), ended AS (
    DELETE FROM brain.erasures AS p USING chosen AS c
    WHERE p.session_number = c.session_number AND c.last_seq <= $1
)
SELECT session_number FROM chosen;

-- name: begin_lease
-- Puts an engine to work.
INSERT INTO brain.engines (id, address, expires_at)
VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3));

-- name: renew_lease
-- Prolongs an engine's lease, also one that has lapsed, so long as nobody has ended it.
UPDATE brain.engines SET expires_at = clock_timestamp() + make_interval(secs => $2)
WHERE id = $1
RETURNING true;

-- name: end_lease
-- Ends an engine's own lease: whatever it owned is nobody's.
DELETE FROM brain.engines WHERE id = $1;

-- name: end_lapsed_leases
-- Ends the leases of engines that have not renewed theirs in time.
DELETE FROM brain.engines AS e USING (
    SELECT id FROM brain.engines
    WHERE expires_at < clock_timestamp() AND id <> $1
    ORDER BY id
    FOR UPDATE SKIP LOCKED
) AS lapsed
WHERE e.id = lapsed.id
RETURNING e.id;

-- name: look
-- Reads next to nothing.
SELECT true;

-- name: get_session
-- Reads a session's record.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM brain.sessions JOIN brain.session_configs ON session_number = number
WHERE id = $1;

-- name: list_sessions
-- Reads a page of a tenant's sessions, newest first: ids sort by the time they were made.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM brain.sessions JOIN brain.session_configs ON session_number = number
WHERE tenant_id = $1 AND id < $2 AND ($3::text IS NULL OR status = $3)
ORDER BY id DESC
LIMIT $4;

-- name: list_running_sessions
-- Reads such a page of the running ones, which are few among the many: all of them are open.
SELECT id, tenant_id, harness, config, metadata, status, open,
       created_at, updated_at, last_seq, usage
FROM brain.sessions JOIN brain.session_configs ON session_number = number
WHERE open AND tenant_id = $1 AND id < $2 AND status = $3
ORDER BY id DESC
LIMIT $4;

-- name: read_events
-- Reads events after a point, in order, until they have grown to so many or so large: then comes one
-- more without its body. The first is always whole.
WITH found AS (
    SELECT e.seq, e.type, e.body
    FROM brain.sessions AS s JOIN brain.events AS e ON e.session_number = s.number
    WHERE s.id = $1 AND e.seq > $2
    ORDER BY e.seq
    LIMIT $3 + 1
), measured AS (
    SELECT seq, type, body, octet_length(body) AS size,
        sum(octet_length(body)) OVER (ORDER BY seq) AS total,
        row_number() OVER (ORDER BY seq) AS place
    FROM found
)
SELECT seq, type, CASE WHEN place = 1 OR (place <= $3 AND total <= $4) THEN body END AS body
FROM measured
WHERE place <= 2 OR total - size <= $4
ORDER BY seq;

-- name: closed_before
-- Finds closed sessions that have not changed since a moment, oldest first. It looks at every
-- session, once an hour.
SELECT id FROM brain.sessions WHERE status = 'closed' AND updated_at < $1 ORDER BY id LIMIT $2;

-- name: read_usage
-- Reads a tenant's sums of some days.
SELECT day, model, input_tokens, output_tokens,
       cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd
FROM brain.usage
WHERE tenant_id = $1 AND day BETWEEN $2 AND $3
ORDER BY day, model;
