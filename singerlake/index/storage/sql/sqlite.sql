-- name: version_1
-- The first version. Numbers stand for names in the entries: a name costs its bytes once.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE streams (
    key INTEGER PRIMARY KEY, tap TEXT NOT NULL, stream TEXT NOT NULL, uploads INTEGER NOT NULL,
    log_id TEXT NOT NULL, bookmark TEXT
);
CREATE TABLE taps (tap TEXT PRIMARY KEY, bookmark TEXT) WITHOUT ROWID;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, tap TEXT NOT NULL, run_id TEXT NOT NULL, writer_id TEXT NOT NULL,
    outcome TEXT, begun INTEGER, ended INTEGER, streams TEXT, UNIQUE (tap, run_id, writer_id)
);
CREATE INDEX runs_by_id ON runs (run_id);
CREATE TABLE versions (
    stream INTEGER NOT NULL, number INTEGER NOT NULL, schema_hash TEXT NOT NULL, version INTEGER,
    PRIMARY KEY (stream, number)
) WITHOUT ROWID;
CREATE TABLE lengths (length INTEGER PRIMARY KEY);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, id_key INTEGER NOT NULL, stream INTEGER NOT NULL,
    name INTEGER NOT NULL, run INTEGER, version INTEGER, sequence INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, first_sequence INTEGER, starts INTEGER NOT NULL,
    ends INTEGER NOT NULL, length INTEGER NOT NULL, hash BLOB NOT NULL, size INTEGER NOT NULL,
    records INTEGER, created INTEGER NOT NULL, suffix INTEGER
);
CREATE INDEX entries_by_stream ON entries (stream, starts, ends, sequence, ordinal);
CREATE INDEX entries_by_name ON entries (name, starts, ends, sequence, ordinal, stream);
CREATE INDEX entries_by_run ON entries (run, starts, ends, sequence, ordinal, stream)
WHERE run IS NOT NULL;
CREATE INDEX entries_by_id ON entries (id_key);
CREATE INDEX long_by_stream ON entries (stream, length, starts, ends, sequence, ordinal)
WHERE length > 0;
CREATE INDEX long_by_name ON entries (name, length, starts, ends, sequence, ordinal, stream)
WHERE length > 0;
CREATE TABLE holders (
    stream INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, path TEXT NOT NULL,
    merged INTEGER NOT NULL, PRIMARY KEY (stream, first)
) WITHOUT ROWID;
CREATE TABLE gaps (
    stream INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, reason TEXT NOT NULL,
    recorded INTEGER, PRIMARY KEY (stream, first)
) WITHOUT ROWID;
CREATE TABLE uploads (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, url TEXT NOT NULL, metadata TEXT NOT NULL
);

-- name: version_2
-- The newest of the files that records of a stream name, and whether there are any.
CREATE INDEX entries_named ON entries (stream, starts) WHERE ordinal > 0;

-- name: is_there
-- Whether there are tables already.
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'facts'
