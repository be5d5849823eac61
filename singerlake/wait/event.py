"""What can be awaited: runs and commits of a lake, posts, messages, and what users add."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from singerlake.errors import ConfigError
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.wait.window import AnyWindow, Sliding, Span

Late = Literal["ignore", "event"]

ALWAYS = Span(
    datetime.fromisoformat("0001-01-01T00:00+00:00"),
    datetime.fromisoformat("9999-12-31T23:59:59.999999+00:00"),
    "",
)
"""The span of an event without a window."""

_SECRET = re.compile(r"passw|secret|\.pem$|oauthbearer\.config$", re.IGNORECASE)
"""Settings of librdkafka."""


class Awaited(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """What every awaited event has.

    An event belongs to the `window` of its own time. The window is that of the wait's own time;
    with `moving` it is that of the clock, so that the day's end makes a daily event missing again.
    `late` says what becomes of an arrival whose window was given up as missed: nothing, or an event
    of its own. `name` is what tables show; it has to be unique in a wait.
    """

    name: str = ""
    window: AnyWindow | None = None
    moving: bool = False
    late: Late = "ignore"

    @property
    def title(self) -> str:
        """The name, or what is awaited."""
        return self.name or self.subject

    @property
    def subject(self) -> str:
        raise NotImplementedError

    @property
    def frequency(self) -> str:
        """`D`, `M` …, `sliding`, or "" without a window."""
        if self.window is None:
            return ""
        return "sliding" if isinstance(self.window, Sliding) else self.window.frequency

    @property
    def moves(self) -> bool:
        """Whether its window follows the clock, so that what arrived can be missing again."""
        return self.moving or isinstance(self.window, Sliding)

    def span(self, own_time: datetime, now: datetime) -> Span:
        """Where an event counts, for a wait of this time, when somebody looks now."""
        if self.window is None:
            return ALWAYS
        return self.window.at(now if self.moves else own_time)


class LakeRun(Awaited, frozen=True, kw_only=True, tag="lake-run"):
    """A run of the tap that ended `complete` and was sent these streams; any, without streams.

    A commit by size comes in the middle of a sync; a complete run is all of it. Its time is that at
    which it ended. `after` is a place in the tap's run log: the run has a later number. `since` is
    a time: the run ended then or later. With both, `since` counts where the log was made anew and
    its numbers say nothing.
    """

    tap: str
    streams: tuple[str, ...] = ()
    after: Bookmark | None = None
    since: datetime | None = None
    lake: str = ""

    @property
    def subject(self) -> str:
        streams = f"/{','.join(self.streams)}" if self.streams else ""
        return f"run of {self.tap}{streams}"


class LakeCommit(Awaited, frozen=True, kw_only=True, tag="lake-commit"):
    """A commit of a stream: any, or one after a bookmark, or up to a sequence number.

    Its time is that of the commit, by the writer's clock. `since` is as for `LakeRun`.

    Raises `ConfigError`.
    """

    tap: str
    stream: str
    after: Bookmark | None = None
    sequence: int | None = None
    since: datetime | None = None
    lake: str = ""

    def __post_init__(self) -> None:
        # Every log has passed 0: it would be there at once, and nobody would know why.
        if self.sequence is not None and self.sequence < 1:
            raise ConfigError(
                f"commit of {self.tap}/{self.stream}: expected a number from 1 on, as the first "
                f"commit has it, found {self.sequence}"
            )

    @property
    def subject(self) -> str:
        place = "" if self.sequence is None else f"@{self.sequence}"
        return f"commit of {self.tap}/{self.stream}{place}"


class HttpEvent(Awaited, frozen=True, kw_only=True, tag="http"):
    """A post to the receiver under this name, whose JSON has at least what `match` has.

    `after` is a number of the inbox: posts with later ones count. `since` is a time: posts count
    that were received then or later, by the receiver's clock.
    """

    post: str
    match: Mapping[str, Any] = {}
    since: datetime | None = None
    after: int | None = None

    @property
    def subject(self) -> str:
        return f"post to {self.post}"


class KafkaEvent(Awaited, frozen=True, kw_only=True, tag="kafka"):
    """A message of a topic, whose JSON has at least what `match` has. Its time is the message's.

    `config` is the client's; `bootstrap.servers` at least. It is kept in the table of waits, so
    secrets belong into a file that `config_file` names, which is read where the wait runs. `after`
    has an offset for each partition: messages count from there on.

    Raises `ConfigError`.
    """

    topic: str
    match: Mapping[str, Any] = {}
    config: Mapping[str, Any] = {}
    config_file: str = ""
    since: datetime | None = None
    after: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if secrets := [name for name in self.config if _SECRET.search(name)]:
            raise ConfigError(
                f"topic {self.topic!r}: expected no secret in `config`, which others can see in "
                f"the table of waits, found {', '.join(map(repr, secrets))}: put it into a JSON "
                "file that `config_file` names"
            )

    @property
    def subject(self) -> str:
        return f"message of {self.topic}"


class OwnEvent(Awaited, frozen=True, kw_only=True, tag="own"):
    """An event from a source of your own.

    `source` is `package.module:name`: what is called there, without arguments, returns a `Source`
    (`singerlake.wait.source.base`). `arguments` are for that source.
    """

    source: str
    arguments: Mapping[str, Any] = {}
    match: Mapping[str, Any] = {}
    since: datetime | None = None

    @property
    def subject(self) -> str:
        return f"event of {self.source}"


AnyEvent: TypeAlias = LakeRun | LakeCommit | HttpEvent | KafkaEvent | OwnEvent


def source_type(event: Awaited) -> str:
    """The tag under which the event's source is known."""
    return str(event.__struct_config__.tag)


def to_json(events: Sequence[Awaited]) -> list[dict[str, Any]]:
    """For triggers, files and tables."""
    return [dict(msgspec.to_builtins(event)) for event in events]


def parse(values: Any) -> tuple[AnyEvent, ...]:
    """Events from JSON. Raises `ConfigError`."""
    try:
        return msgspec.convert(values, tuple[AnyEvent, ...])
    except (msgspec.ValidationError, RecursionError) as error:
        raise ConfigError(
            "expected a list of awaited events such as "
            f'{{"type": "lake-run", "tap": "tap-x--variant"}}, found another value: {error}'
        ) from None


def require_names(events: Sequence[Awaited]) -> None:
    """Raises `ConfigError` where there are no events, or two have one name."""
    if not events:
        raise ConfigError("expected at least one event to wait for, found none")
    titles = [event.title for event in events]
    twice = sorted({title for title in titles if titles.count(title) > 1})
    if twice:
        raise ConfigError(
            f"expected each awaited event once, found {twice[0]!r} several times: leave one out, "
            "or give them names"
        )


def matches(value: Any, wanted: Any) -> bool:
    """Whether a JSON value has at least what is wanted: objects by their keys, the rest equal."""
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(
            key in value and matches(value[key], one) for key, one in wanted.items()
        )
    return type(value) is type(wanted) and bool(value == wanted)
