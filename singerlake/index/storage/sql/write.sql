-- name: put_fact
-- Keep a fact about the index itself.
INSERT INTO facts (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: add_stream
-- A stream that has not been indexed yet.
INSERT INTO streams (key, tap, stream, uploads, log_id) VALUES (:key, :tap, :stream, :uploads, '')
ON CONFLICT (key) DO NOTHING

-- name: add_tap
-- A tap whose runs have not been indexed yet.
INSERT INTO taps (tap) VALUES (:tap) ON CONFLICT (tap) DO NOTHING

-- name: lock_stream
-- Where a stream stands. Other followers wait here, where a database has more than one writer.
SELECT tap, stream, bookmark, log_id FROM streams WHERE key = :key

-- name: lock_tap
-- Where a tap's runs stand. Others wait here too.
SELECT bookmark FROM taps WHERE tap = :tap

-- name: keep_stream
-- The bookmark of a stream, in the transaction of all that was read up to it, and which log gave
-- out which numbers.
UPDATE streams SET bookmark = :bookmark, log_id = :log_id WHERE key = :key

-- name: keep_tap
-- The bookmark of a tap's runs.
UPDATE taps SET bookmark = :bookmark WHERE tap = :tap

-- name: clear_entries
-- Forget a stream's entries.
DELETE FROM entries WHERE stream = :key

-- name: clear_holders
-- Forget which objects hold them.
DELETE FROM holders WHERE stream = :key

-- name: clear_gaps
-- Forget what was lost.
DELETE FROM gaps WHERE stream = :key

-- name: clear_versions
-- Forget its schema versions.
DELETE FROM versions WHERE stream = :key

-- name: clear_runs
-- Forget how a tap's runs ended; entries still name them.
UPDATE runs SET outcome = NULL, begun = NULL, ended = NULL, streams = NULL WHERE tap = :tap

-- name: add_entry
-- One entry.
INSERT INTO entries (id_key, stream, name, run, version, sequence, ordinal,
first_sequence, starts, ends, length, hash, size, records, created, suffix)
VALUES (:id_key, :stream, :name, :run, :version, :sequence, :ordinal,
:first_sequence, :starts, :ends, :length, :hash, :size, :records, :created, :suffix)

-- name: add_length
-- A length that entries have.
INSERT INTO lengths (length) VALUES (:length) ON CONFLICT (length) DO NOTHING

-- name: versions
-- The schema versions of a stream.
SELECT number, schema_hash, version FROM versions WHERE stream = :key

-- name: put_version
-- A schema version, with the number that the manifest gives it.
INSERT INTO versions (stream, number, schema_hash, version)
VALUES (:stream, :number, :schema_hash, :version)
ON CONFLICT (stream, number) DO UPDATE SET version = excluded.version

-- name: add_run
-- A run that commits, or ends.
INSERT INTO runs (tap, run_id, writer_id) VALUES (:tap, :run_id, :writer_id)
ON CONFLICT (tap, run_id, writer_id) DO NOTHING

-- name: run_number
-- The number of a run.
SELECT number FROM runs WHERE tap = :tap AND run_id = :run_id AND writer_id = :writer_id

-- name: end_run
-- How a run ended.
UPDATE runs SET outcome = :outcome, begun = :begun, ended = :ended, streams = :streams
WHERE tap = :tap AND run_id = :run_id AND writer_id = :writer_id

-- name: split_holders
-- Of an object that holds numbers behind a range too, keep those.
INSERT INTO holders (stream, first, last, path, merged)
SELECT stream, :last + 1, last, path, merged FROM holders
WHERE stream = :stream AND first <= :last AND last > :last

-- name: drop_holders
-- Forget the objects of a range.
DELETE FROM holders WHERE stream = :stream AND first BETWEEN :first AND :last

-- name: trim_holders
-- Of an object that holds numbers before a range too, keep those.
UPDATE holders SET last = :first - 1
WHERE stream = :stream AND first < :first AND last >= :first

-- name: add_holder
-- An object that holds numbers, and does not lie where the name of its file says.
INSERT INTO holders (stream, first, last, path, merged)
VALUES (:stream, :first, :last, :path, :merged)

-- name: lose_entries
-- Entries of a range whose files are gone.
DELETE FROM entries WHERE stream = :stream AND sequence BETWEEN :first AND :last

-- name: split_gaps
-- As for holders: the newest word about a number counts.
INSERT INTO gaps (stream, first, last, reason, recorded)
SELECT stream, :last + 1, last, reason, recorded FROM gaps
WHERE stream = :stream AND first <= :last AND last > :last

-- name: drop_gaps
-- Forget what was said about a range.
DELETE FROM gaps WHERE stream = :stream AND first BETWEEN :first AND :last

-- name: trim_gaps
-- Keep what was said about numbers before a range.
UPDATE gaps SET last = :first - 1
WHERE stream = :stream AND first < :first AND last >= :first

-- name: add_gap
-- Numbers that no file bears any more.
INSERT INTO gaps (stream, first, last, reason, recorded)
VALUES (:stream, :first, :last, :reason, :recorded)

-- name: drop_upload_entry
-- Make room for an upload that comes again.
DELETE FROM entries WHERE number IN (SELECT number FROM uploads WHERE id = :id)

-- name: put_upload
-- What an upload has that entries of a lake have not.
INSERT INTO uploads (id, number, url, metadata)
SELECT :id, number, :url, :metadata FROM entries
WHERE stream = :stream AND starts = :starts AND ends = :ends AND sequence = :sequence
ON CONFLICT (id) DO UPDATE
SET number = excluded.number, url = excluded.url, metadata = excluded.metadata

-- name: forget_entries
-- Forget the lake's entries.
DELETE FROM entries WHERE stream IN (SELECT key FROM streams WHERE uploads = 0)

-- name: forget_streams
-- Forget its streams.
DELETE FROM streams WHERE uploads = 0

-- name: drop_stream
-- Forget a stream that the lake does not have any more.
DELETE FROM streams WHERE key = :key

-- name: forget_holders
-- Forget which objects hold them.
DELETE FROM holders

-- name: forget_gaps
-- Forget what was lost.
DELETE FROM gaps

-- name: forget_versions
-- Forget all schema versions.
DELETE FROM versions

-- name: forget_taps
-- Forget where the index stands in the taps' runs.
DELETE FROM taps

-- name: forget_runs
-- Forget the runs, but for those of uploads.
DELETE FROM runs WHERE number NOT IN (SELECT run FROM entries WHERE run IS NOT NULL)

-- name: forget_id
-- Forget which lake it was.
DELETE FROM facts WHERE name = 'lake_id'
