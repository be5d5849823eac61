"""tap-singerlake: a Singer tap on singer-sdk, thin over the lake's own reader."""

from __future__ import annotations

import os
import signal
import sys
from copy import deepcopy
from functools import partial
from io import StringIO
from types import FrameType
from typing import IO, Any, ClassVar

from simplejson import JSONDecodeError  # type: ignore[import-untyped]
from singer_sdk import Tap
from singer_sdk.configuration._dict_config import parse_environment_config
from singer_sdk.exceptions import (
    InvalidReplicationKeyException,
    MapExpressionError,
    StreamMapConfigError,
)
from singer_sdk.helpers._classproperty import classproperty
from singer_sdk.helpers.capabilities import (
    CapabilitiesEnum,
    PluginCapabilities,
    TapCapabilities,
)
from singer_sdk.mapper import PluginMapper

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.lake import Tap as LakeTap
from singerlake.plugin import output
from singerlake.plugin.about import as_text
from singerlake.plugin.config import (
    from_environment,
    from_files,
    names_in_environment,
    require_objects,
    warn_of_unknown,
)
from singerlake.plugin.log import make_plain
from singerlake.plugin.signals import heed_hangup
from tap_singerlake import inputs, lineage, plan, settings, state_input
from tap_singerlake.message_writer import WholeLines
from tap_singerlake.source import chosen, source_of
from tap_singerlake.stream import LakeStream

_OF_THE_SDK = (InvalidReplicationKeyException, MapExpressionError, StreamMapConfigError)
"""Errors in settings and catalogs that the SDK finds: `ConfigError` in the log, as in the docs."""

PATIENCE = 10
"""Seconds that a run may take to end after a signal: its reader may have stopped to read."""


class TapSingerlake(Tap):
    """Replays the streams of a raw data lake, whole or since the last run."""

    name = "tap-singerlake"
    package_name = "singerlake"
    config_jsonschema: ClassVar[dict[str, Any]] = settings.SETTINGS
    dynamic_catalog = True
    message_writer_class = WholeLines
    message_writer: WholeLines
    capabilities: ClassVar[list[CapabilitiesEnum]] = [
        TapCapabilities.CATALOG,
        TapCapabilities.STATE,
        TapCapabilities.DISCOVER,
        PluginCapabilities.ABOUT,
        PluginCapabilities.STREAM_MAPS,
        PluginCapabilities.FLATTENING,
        PluginCapabilities.STRUCTURED_LOGGING,
    ]

    def __init__(self, *, state: Any = None, catalog: Any = None, **kwargs: Any) -> None:
        self._stopping = False
        super().__init__(
            state=state_input.checked(state), catalog=inputs.checked_catalog(catalog), **kwargs
        )

    def discover_streams(self) -> list[LakeStream]:
        """The tap's streams, from its catalogue: one request."""
        window = settings.window(self.config)
        source = self._source()
        entries = chosen(source, self.config, window)
        return [
            LakeStream(self, self.message_writer, source.stream(name), entry, window)
            for name, entry in entries.items()
        ]

    def load_state(self, state: dict[str, Any]) -> None:
        """Take the bookmarks, and say what no stream of the lake answers to.

        Raises `ConfigError` for schema versions that no selected stream has.
        """
        super().load_state(state)
        self._require_versions()
        asked = {
            "The state has a bookmark of": self.state.get("bookmarks", {}).keys(),
            "The catalog selects": {
                name
                for name, entry in (self.input_catalog or {}).items()
                if entry.metadata.resolve_selection()[()]
            },
        }
        state_input.warn_of_strangers(asked, self.streams, self.logger)
        state_input.warn_of_foreign_bookmarks(self.state, self.streams, self.logger)

    def sync_all(self) -> None:  # type: ignore[misc]  # final, and nothing else is around a sync
        """Replay the selected streams, and report it where lineage is on."""
        streams = [one for one in self.streams.values() if isinstance(one, LakeStream)]
        chosen = [one for one in streams if one.selected]
        with lineage.traced(self, self._source, chosen):
            super().sync_all()

    def _require_versions(self) -> None:
        window = settings.window(self.config)
        if not isinstance(window.versions, str):
            streams = [one for one in self.streams.values() if isinstance(one, LakeStream)]
            snapshots = [one.snapshot() for one in streams if one.selected]
            plan.require_versions(snapshots, window)

    def setup_mapper(self) -> None:
        """With a copy of the maps: the SDK takes `__else__` out of those that it is given, and
        stumbles over a null, which is as if unset."""
        config = {name: value for name, value in self._config.items() if value is not None}
        self.mapper = PluginMapper(plugin_config=deepcopy(config), logger=self.logger)
        self.mapper.register_raw_streams_from_catalog(self.catalog)

    def _validate_config(self, **kwargs: Any) -> list[str]:
        """Checks first what holds secrets: where it is wrong, the SDK would quote it."""
        require_objects(self._config, "storage_options")
        if self._config.get("batch_config"):
            # The SDK would obey it though it is not declared, and leave out what is no record.
            raise ConfigError(
                "batch_config is no setting of this tap, which replays messages as they are "
                "stored: take it out"
            )
        self.append_builtin_config(self.config_jsonschema)
        warn_of_unknown(self._config, self.config_jsonschema["properties"], self.logger)
        return super()._validate_config(**kwargs)

    @classmethod
    def print_about(cls, output_format: str | None = None) -> None:
        if output_format is None:
            print(as_text(cls._get_about_info()))
        else:
            super().print_about(output_format)

    @classmethod
    def invoke(cls, *, state: IO[str] | None = None, **kwargs: Any) -> None:
        """Run the command; a file of --state may have a state on each line."""
        newest = None if state is None else StringIO(state_input.last_of(state.read()))
        super().invoke(state=newest, **kwargs)

    @classmethod
    def cb_config(cls, *arguments: Any) -> Any:
        """Read the files of `--config`. Raises `ConfigError`."""
        return from_files(super().cb_config, *arguments)

    @classproperty
    def _env_var_config(cls) -> dict[str, Any]:  # noqa: N805
        """The settings in the environment. Raises `ConfigError`."""
        cls.append_builtin_config(cls.config_jsonschema)
        properties, prefix = cls.config_jsonschema["properties"], cls._env_var_prefix
        found = from_environment(properties, prefix, parse_environment_config)
        warn_of_unknown(names_in_environment(prefix), properties, cls.logger)
        return found

    def _setup_signal_handlers(self) -> None:
        """SIGTERM and SIGINT as the SDK does, and SIGHUP."""
        super()._setup_signal_handlers()
        heed_hangup(self._handle_termination)

    def _handle_termination(self, signum: int, frame: FrameType | None) -> None:
        """On a signal end with the STATE, behind the line that is being written.

        At once on a second signal, which is an alarm where nobody takes that line.
        """
        if self._stopping:
            self.logger.warning("Signal %d while stopping: ending at once", signum)
            # Not by an exception: the write that hangs would go on.
            os._exit(128 + signum)
        self._stopping = True
        self.logger.info("Signal %d: stopping", signum)
        signal.signal(signal.SIGALRM, self._handle_termination)
        signal.alarm(PATIENCE)
        self.message_writer.between_lines(partial(self._stop, signum))

    def _stop(self, signum: int) -> None:
        # Before the state is loaded there is none to pass on: an empty one would replace it.
        if self.state:
            self.state_writer.write_state(self.state)
        sys.exit(128 + signum)

    def _source(self) -> LakeTap:
        return source_of(self.config)


def main() -> None:
    """The command: errors that are the user's to mend are one line in the log.

    Where the target is gone, click ends the command quietly.
    """
    output.wait_for_readers()
    make_plain()
    try:
        TapSingerlake.cli()
    except (SingerlakeError, *_OF_THE_SDK) as error:
        name = type(error).__name__ if isinstance(error, SingerlakeError) else ConfigError.__name__
        TapSingerlake.logger.error("%s: %s", name, error)
        sys.exit(1)
    except (JSONDecodeError, UnicodeDecodeError) as error:
        # The SDK reads these files, and does not tell which of them it was.
        TapSingerlake.logger.error("what --state or --catalog names is no JSON: %s", error)
        sys.exit(1)
    except OSError as error:
        TapSingerlake.logger.error("%s", error)
        output.mute()
        sys.exit(1)


if __name__ == "__main__":
    main()
