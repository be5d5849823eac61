-- name: columns
-- What an entry is made from. An object that holds it today has a row in `holders`, unless it lies
-- where its own name says.
e.stream, s.tap, s.stream, s.uploads, s.log_id, e.sequence, e.ordinal, e.first_sequence,
r.run_id, r.writer_id, v.schema_hash, v.version, e.starts, e.ends, e.hash, e.size, e.records,
e.created, e.suffix, e.number,
(SELECT CASE WHEN h.last >= e.sequence THEN h.merged || ' ' || h.path END FROM holders h
 WHERE h.stream = e.stream AND h.first <= e.sequence ORDER BY h.first DESC LIMIT 1)

-- name: joined
-- An entry with the names that its numbers stand for. The order of the joins is meant as it is:
-- an index finds the entries, and each finds its names. SQLite has to be told the index of long
-- entries: it takes the one of all for as good.
entries e {index} CROSS JOIN streams s
LEFT JOIN runs r ON r.number = e.run
LEFT JOIN versions v ON v.stream = e.stream AND v.number = e.version
WHERE s.key = e.stream

-- name: begins
-- Entries that begin in an interval: one range of one index, however long the answer is.
e.{scope} = :scope AND e.starts >= :low AND e.starts <= :high

-- name: reaches
-- Entries that begin before an interval, reach into it, and are of one length: such as are longer
-- than an hour are in an index of their own.
e.{scope} = :scope AND {length} AND e.starts >= :low AND e.starts < :start
AND e.starts <= :high AND e.ends >= :start

-- name: of_run
-- Entries of a run; a run is short, and needs no index for its times.
e.run = :scope AND e.starts >= :low AND e.starts <= :high AND e.ends >= :start

-- name: behind
-- What comes after the last entry of a page.
(e.starts, e.ends, e.sequence, e.ordinal, e.stream)
> (:after_starts, :after_ends, :after_sequence, :after_ordinal, :after_stream)

-- name: ordered
-- By time, then in the order of the log, then in the order of the streams' keys.
ORDER BY e.starts, e.ends, e.sequence, e.ordinal, e.stream LIMIT :limit

-- name: in_log
-- All of a stream in the order of its log.
e.stream = :scope ORDER BY e.sequence, e.ordinal

-- name: latest
-- The newest start of a stream, and of the entries that have it the one that was made last.
e.stream = :scope
AND e.starts = (SELECT max(starts) FROM entries WHERE stream = :scope AND starts >= :low)
ORDER BY e.created DESC, e.sequence DESC, e.ordinal DESC LIMIT 1

-- name: latest_named
-- The same, of the files that its records name.
e.stream = :scope AND e.ordinal > 0
AND e.starts = (SELECT max(starts) FROM entries {index}
WHERE stream = :scope AND ordinal > 0 AND starts >= :low)
ORDER BY e.created DESC, e.sequence DESC, e.ordinal DESC LIMIT 1

-- name: names_files
-- Whether records of a stream name files.
SELECT 1 FROM entries {index} WHERE stream = :scope AND ordinal > 0 LIMIT 1

-- name: by_id
-- The few entries whose ids have the same first digits.
e.id_key = :scope

-- name: streams
-- Every stream that has been indexed; uploads of the same names are a stream of their own.
SELECT key, tap, stream, uploads, log_id, bookmark FROM streams

-- name: taps
-- Where the index stands in each tap's runs.
SELECT tap, bookmark FROM taps

-- name: runs_of
-- The numbers of a run, which is one for each tap and writer that used its id.
SELECT number, tap FROM runs WHERE run_id = :run_id

-- name: ended_runs
-- Runs whose end is known.
SELECT tap, run_id, writer_id, outcome, begun, ended, streams FROM runs WHERE outcome IS NOT NULL

-- name: lengths
-- The lengths of entries that there are.
SELECT length FROM lengths

-- name: lacks
-- Lost numbers of a stream.
SELECT first, last, reason, recorded FROM gaps WHERE stream = :stream ORDER BY first

-- name: uploads_of
-- What uploads have that entries of a lake have not.
SELECT number, id, url, metadata FROM uploads WHERE number = :number

-- name: all_uploads
-- Every upload.
SELECT id FROM uploads

-- name: fact
-- One fact about the index itself.
SELECT value FROM facts WHERE name = :name
