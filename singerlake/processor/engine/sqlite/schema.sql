-- The state of an engine. Times are microseconds since the epoch, on this machine's clock.
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- A key is idle, waiting (line) or leased (token), never two of them. `line` is '*' for any
-- processor, a client, '!' while it backs off, '|' while it is paused. `timer` is when a back-off, a
-- session or stickiness ends, whichever the key is in.
CREATE TABLE IF NOT EXISTS keys (
    key TEXT PRIMARY KEY,
    token INTEGER NOT NULL DEFAULT 0, slot TEXT NOT NULL DEFAULT '', since INTEGER NOT NULL DEFAULT 0,
    lease INTEGER NOT NULL DEFAULT 0,
    line TEXT NOT NULL DEFAULT '', turn INTEGER NOT NULL DEFAULT 0, timer INTEGER NOT NULL DEFAULT 0,
    paused TEXT NOT NULL DEFAULT '', acknowledged INTEGER NOT NULL DEFAULT 0,
    last INTEGER NOT NULL DEFAULT 0, opener INTEGER NOT NULL DEFAULT 0,
    session TEXT NOT NULL DEFAULT '', deliveries INTEGER NOT NULL DEFAULT 0,
    handed INTEGER NOT NULL DEFAULT 0, singly INTEGER NOT NULL DEFAULT 0,
    client TEXT NOT NULL DEFAULT '', sticky INTEGER NOT NULL DEFAULT 0,
    last_token INTEGER NOT NULL DEFAULT 0, state BLOB NOT NULL DEFAULT x'',
    progress BLOB NOT NULL DEFAULT x'', error TEXT NOT NULL DEFAULT '',
    accepted TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_line ON keys (line, turn) WHERE line != '';
CREATE INDEX IF NOT EXISTS keys_lease ON keys (lease) WHERE token != 0;
CREATE INDEX IF NOT EXISTS keys_timer ON keys (timer) WHERE timer != 0;

CREATE TABLE IF NOT EXISTS events (
    key TEXT NOT NULL, position INTEGER NOT NULL, expires INTEGER NOT NULL, start INTEGER NOT NULL,
    id TEXT NOT NULL, source TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, position)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS scheduled (
    id TEXT PRIMARY KEY, key TEXT NOT NULL, due INTEGER NOT NULL, ttl INTEGER NOT NULL,
    start INTEGER NOT NULL, value BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS scheduled_due ON scheduled (due);

CREATE TABLE IF NOT EXISTS dead (
    key TEXT NOT NULL, position INTEGER NOT NULL, expires INTEGER NOT NULL, start INTEGER NOT NULL,
    id TEXT NOT NULL, source TEXT NOT NULL, value BLOB NOT NULL,
    reason TEXT NOT NULL, deliveries INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (key, position)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS ids (id TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ids_until ON ids (until);
CREATE TABLE IF NOT EXISTS clients (client TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turns (name TEXT PRIMARY KEY, turn INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
    name TEXT NOT NULL, key TEXT NOT NULL, place TEXT NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
