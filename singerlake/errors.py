"""Every error that Singerlake raises on purpose, grouped by what the caller can do.

    SingerlakeError
    ├── ConfigError             change the settings, then run again
    │   ├── BadLocation             the URL cannot be opened: unknown scheme, missing package
    │   ├── NotALake                nothing at this address looks like a lake
    │   ├── UnknownTap              the lake has no such tap
    │   ├── UnknownStream           the tap has no such stream
    │   ├── BadQuery                DuckDB cannot run the SQL, or it would change something
    │   ├── BadCursor               the cursor is no page's, or of another query: begin again
    │   ├── StaleBookmark           the bookmark is of another log, or past its end
    │   ├── PermissionDenied        the store refuses these credentials
    │   └── UnsupportedFormat       written by a newer Singerlake: upgrade
    ├── InputError              the data that was sent is wrong: mend the tap
    │   ├── BadMessage              a line is not a Singer message
    │   ├── RecordBeforeSchema      a record of a stream whose SCHEMA message has not come
    │   ├── MissingKey              a record without one of its stream's key properties
    │   ├── InvalidRecord           a record that breaks its schema, where records are validated
    │   ├── TooManyMisfits          more values than are allowed do not fit their columns' types
    │   ├── BadUpload               the metadata of an uploaded file are missing or wrong
    │   ├── BadNotification         a message of a queue or webhook says nothing that we understand
    │   ├── BadFile                 a file to be stored is missing, changed, or not where it may be
    │   ├── BadName                 a name of a tap, stream or pin that no path can hold
    │   ├── BadEvent                a key, value, id or time that no engine can hold
    │   └── SchemaCollision         two schemas of one stream have the same hash
    ├── DamageError             the lake needs repair: `singerlake check`, `singerlake rebuild`
    │   ├── CorruptDocument         a manifest, catalogue, lake document or lock cannot be read
    │   ├── CorruptFile             a Singer file is truncated or is not what its name says
    │   ├── MissingFile             a file that the manifest names is not there
    │   ├── MissingManifest         there are files, but the manifest that orders them is gone
    │   └── MissingCommits          a tap, a stream or the end of a log is gone that was known
    ├── BusyError               somebody else is at work: try again later
    │   ├── LockTimeout             another writer held the lock for too long
    │   ├── CommitConflict          other writers kept winning the manifest
    │   ├── Pinned                  a pin reads what would be deleted: wait, or unpin it
    │   ├── ReadOnly                the lake may not be changed for now: wait, or set it writable
    │   ├── BacklogFull             too many events wait in one key: add them later
    │   ├── Fenced                  another processor has the key: stop, nothing of this one counts
    │   ├── Later                   raised by a job: try this event again later, without a count
    │   └── StaleSnapshot           what a read needs was removed meanwhile: run it again
    ├── StoreError              the object store's answer
    │   ├── NotFound                no object under that key
    │   ├── AlreadyExists           create found an object there
    │   ├── Changed                 the object is not the version that the caller read
    │   ├── Unsupported             the store does not know what was asked for, such as a condition
    │   └── Unavailable             no usable answer (network, throttling, time-out): retry
    │       └── OutcomeUnknown      a write may or may not have been applied
    └── ServiceError            the answer of another service: a webhook, a queue
        └── NoAnswer                none came in time, or more than was allowed: retry

A message says what was expected, what was found, where, and what to do next.
"""

from __future__ import annotations


class SingerlakeError(Exception):
    """The root: catch this to catch everything that Singerlake raises on purpose."""


class ConfigError(SingerlakeError):
    """Change the settings, then run again."""


class BadLocation(ConfigError):
    """The URL cannot be opened."""


class NotALake(ConfigError):
    """Nothing at this address looks like a lake."""


class UnknownTap(ConfigError):
    """The lake has no such tap."""


class UnknownStream(ConfigError):
    """The tap has no such stream."""


class BadQuery(ConfigError):
    """The SQL cannot be run: DuckDB does not understand it, or it would change something."""


class BadCursor(ConfigError):
    """The cursor is not one that a page of this query gave."""


class StaleBookmark(ConfigError):
    """The bookmark tells nothing in this log: it is another's, or past its end."""


class PermissionDenied(ConfigError):
    """The store refuses these credentials."""


class UnsupportedFormat(ConfigError):
    """The document was written by a newer Singerlake."""


class InputError(SingerlakeError):
    """The data that was sent is wrong."""


class BadMessage(InputError):
    """A line is not a Singer message that the lake can keep."""


class RecordBeforeSchema(InputError):
    """A record of a stream whose SCHEMA message has not come yet."""


class MissingKey(InputError):
    """A record without one of its stream's key properties."""


class InvalidRecord(InputError):
    """A record that breaks its schema, where records are validated."""


class TooManyMisfits(InputError):
    """More values than are allowed do not fit the types of their columns."""


class BadUpload(InputError):
    """The metadata of an uploaded file are missing or wrong."""


class BadNotification(InputError):
    """A message of a queue or a webhook says nothing that we understand."""


class BadFile(InputError):
    """A file to be stored is missing, changed while it was read, or lies where it may not."""


class BadName(InputError):
    """A name of a tap, stream or pin that no path can hold."""


class BadEvent(InputError):
    """A key, a value, an id or a time that no engine can hold."""


class SchemaCollision(InputError):
    """Two different schemas of one stream have the same hash."""


class DamageError(SingerlakeError):
    """The lake needs repair."""


class CorruptDocument(DamageError):
    """A metadata document cannot be read."""


class CorruptFile(DamageError):
    """A Singer file is truncated, or not what its name says."""


class MissingFile(DamageError):
    """A file that the manifest names is not in the store."""


class MissingManifest(DamageError):
    """There are files of the stream, but no manifest that orders them."""


class MissingCommits(DamageError):
    """A tap, a stream, or the end of a stream's log is not there, and the lake knows of it."""


class BusyError(SingerlakeError):
    """Somebody else is at work: try again later."""


class LockTimeout(BusyError):
    """Another writer held the lock for longer than we may wait."""


class CommitConflict(BusyError):
    """Other writers kept winning the race for the manifest."""


class Pinned(BusyError):
    """A pin reads what would be deleted: wait until it is over, or remove the pin."""


class ReadOnly(BusyError):
    """Somebody has set the lake read-only: wait until that is over, or end it."""


class BacklogFull(BusyError):
    """Too many events wait in one key: add them later."""


class Fenced(BusyError):
    """Another processor has the key: stop, nothing of this one counts."""


class Later(BusyError):
    """Raised by a job: put the event back, and try it again after so many seconds. That counts as
    no attempt."""

    LONGEST = 366 * 24 * 3600.0

    def __init__(self, seconds: float = 60.0, reason: str = "") -> None:
        if not 0 <= seconds <= self.LONGEST:
            raise ConfigError(f"expected 0 to {self.LONGEST:.0f} seconds, a year, found {seconds}")
        super().__init__(reason or f"again in {seconds:g} s")
        self.seconds = seconds


class StaleSnapshot(BusyError):
    """What a read needs was merged, purged or given up since it began: run it again."""


class StoreError(SingerlakeError):
    """The object store's answer to one request."""


class NotFound(StoreError):
    """No object under that key."""


class AlreadyExists(StoreError):
    """There is an object under that key already."""


class Changed(StoreError):
    """The object is gone, or is not the version that the caller read."""


class Unsupported(StoreError):
    """The store does not know what was asked for, such as a condition."""


class Unavailable(StoreError):
    """The store gave no usable answer; the request may be sent again."""


class OutcomeUnknown(Unavailable):
    """The store gave no usable answer to a write, which may or may not have been applied."""


class ServiceError(SingerlakeError):
    """The answer of another service, such as a webhook or a queue."""


class NoAnswer(ServiceError):
    """No answer came in time, or more than was allowed; the request may be sent again."""
