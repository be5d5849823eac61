-- name: version_1
-- The first version. Numbers stand for names in the entries: a name costs its bytes once.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE streams (
    key BIGINT PRIMARY KEY, tap TEXT NOT NULL, stream TEXT NOT NULL, uploads BIGINT NOT NULL,
    log_id TEXT NOT NULL, bookmark TEXT
);
CREATE TABLE taps (tap TEXT PRIMARY KEY, bookmark TEXT);
CREATE TABLE runs (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tap TEXT NOT NULL, run_id TEXT NOT NULL, writer_id TEXT NOT NULL,
    outcome TEXT, begun BIGINT, ended BIGINT, streams TEXT, UNIQUE (tap, run_id, writer_id)
);
CREATE INDEX runs_by_id ON runs (run_id);
CREATE TABLE versions (
    stream BIGINT NOT NULL, number BIGINT NOT NULL, schema_hash TEXT NOT NULL, version BIGINT,
    PRIMARY KEY (stream, number)
);
CREATE TABLE lengths (length SMALLINT PRIMARY KEY);
CREATE TABLE entries (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id_key BIGINT NOT NULL, stream BIGINT NOT NULL,
    name BIGINT NOT NULL, run BIGINT, version BIGINT, sequence BIGINT NOT NULL,
    ordinal BIGINT NOT NULL, first_sequence BIGINT, starts BIGINT NOT NULL,
    ends BIGINT NOT NULL, length SMALLINT NOT NULL, hash BYTEA NOT NULL, size BIGINT NOT NULL,
    records BIGINT, created BIGINT NOT NULL, suffix BIGINT
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
    stream BIGINT NOT NULL, first BIGINT NOT NULL, last BIGINT NOT NULL, path TEXT NOT NULL,
    merged BIGINT NOT NULL, PRIMARY KEY (stream, first)
);
CREATE TABLE gaps (
    stream BIGINT NOT NULL, first BIGINT NOT NULL, last BIGINT NOT NULL, reason TEXT NOT NULL,
    recorded BIGINT, PRIMARY KEY (stream, first)
);
CREATE TABLE uploads (
    id TEXT PRIMARY KEY, number BIGINT NOT NULL UNIQUE, url TEXT NOT NULL, metadata TEXT NOT NULL
);

-- name: version_2
-- The newest of the files that records of a stream name, and whether there are any.
CREATE INDEX entries_named ON entries (stream, starts) WHERE ordinal > 0;

-- name: is_there
-- Whether there are tables already.
SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = 'facts'
