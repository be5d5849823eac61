"""target-singerlake: a Singer target on singer-sdk, thin over the lake's own writer."""

from __future__ import annotations

import sys
from collections import Counter
from copy import deepcopy
from types import FrameType
from typing import IO, Any, ClassVar

from singer_sdk import Target, metrics
from singer_sdk.configuration._dict_config import parse_environment_config
from singer_sdk.helpers._classproperty import classproperty
from singer_sdk.helpers.capabilities import (
    CapabilitiesEnum,
    PluginCapabilities,
    TargetCapabilities,
)
from singer_sdk.singerlib.encoding import GenericSingerReader

from singerlake.errors import SingerlakeError
from singerlake.plugin import output
from singerlake.plugin.about import as_text
from singerlake.plugin.config import (
    from_environment,
    from_files,
    names_in_environment,
    require_objects,
    warn_of_unknown,
)
from singerlake.plugin.declared import SECRET
from singerlake.plugin.log import make_plain
from singerlake.plugin.signals import heed_hangup
from target_singerlake import batch, settings
from target_singerlake.landing import Landing
from target_singerlake.mapped import Callbacks, KeptMaps, MappedIntake
from target_singerlake.raw import RawIntake
from target_singerlake.run import SWITCH_INTERVAL, Intake, Run
from target_singerlake.sdk_errors import BAD_INPUT, under_our_name
from target_singerlake.sink import LakeSink


class TargetSingerlake(Target):
    """Lands everything a Singer tap extracts in a raw data lake, byte for byte."""

    name = "target-singerlake"
    package_name = "singerlake"
    config_jsonschema: ClassVar[dict[str, Any]] = settings.SETTINGS
    default_sink_class = LakeSink
    capabilities: ClassVar[list[CapabilitiesEnum]] = [
        PluginCapabilities.ABOUT,
        PluginCapabilities.STREAM_MAPS,
        PluginCapabilities.FLATTENING,
        PluginCapabilities.BATCH,
        PluginCapabilities.ACTIVATE_VERSION,
        PluginCapabilities.STRUCTURED_LOGGING,
        TargetCapabilities.VALIDATE_RECORDS,
    ]

    def __init__(self, **kwargs: Any) -> None:
        # Ahead of all else: a signal may come before this instance is made.
        self._run = Run({}, self.logger, BAD_INPUT, under_our_name)
        super().__init__(**kwargs)
        given = {name: value for name, value in self._config.items() if value is not None}
        self._config = settings.defaults() | given
        self._run.config = self.config
        self.message_reader = _Reader(self)
        self.current_message: dict[str, Any] = {}

    @property
    def landing(self) -> Landing:
        """The run's landing: opens the lake when the first message comes."""
        return self._run.landing

    def land(self, source: IO[Any] | None, callbacks: Callbacks) -> Counter[str]:
        """Read the tap's output to its end, or until a signal comes; counts the messages."""
        return self._run.take(source, lambda: self._intake(callbacks))

    def _intake(self, callbacks: Callbacks) -> Intake:
        parameters = batch.parameters(self.config.get("batch_config"))
        pause = self._run.pause
        if settings.needs_sdk(self.config):
            return MappedIntake(self.landing, callbacks, parameters, pause, self.logger)
        counter = metrics.record_counter
        return RawIntake(self.landing, parameters, pause, self.logger, counter)

    def process_endofpipe(self) -> None:
        """Commit what is left, pass on the last STATE, and say how the run ended."""
        self._run.finish()
        super().process_endofpipe()
        self._run.end()

    def _setup_signal_handlers(self) -> None:
        """SIGTERM and SIGINT as the SDK does, and SIGHUP."""
        super()._setup_signal_handlers()
        heed_hangup(self._handle_termination)

    def _handle_termination(self, signum: int, frame: FrameType | None) -> None:
        self._run.stop(signum, frame)

    def _validate_config(self, **kwargs: Any) -> list[str]:
        """Checks first what holds secrets: where it is wrong, the SDK would quote it."""
        require_objects(self._config, "storage_options", "batch_config", "batch_config.storage")
        self.append_builtin_config(self.config_jsonschema)
        known = self.config_jsonschema["properties"]
        warn_of_unknown(self._config, known, self.logger, settings.OF_OTHER_TARGETS)
        return super()._validate_config(**kwargs)

    def setup_mapper(self) -> None:
        """Called by the SDK."""
        # A copy: the SDK takes `__else__` out of the maps that it is given. A null is as if unset.
        config = {name: value for name, value in self._config.items() if value is not None}
        self.mapper = KeptMaps(plugin_config=deepcopy(config), logger=self.logger)

    def _process_schema_message(self, message_dict: dict[str, Any]) -> None:
        """Not where no map is left of the stream: the SDK looks at the first."""
        if self.mapper.stream_maps.get(message_dict["stream"]) != []:
            super()._process_schema_message(message_dict)
        # Sinks of earlier schemas, which the SDK keeps to drain them: ours hold nothing back, and
        # a tap that takes turns between schemas would have them pile up.
        self._sinks_to_clear.clear()

    def _process_record_message(self, message_dict: dict[str, Any]) -> None:
        self.current_message = message_dict
        super()._process_record_message(message_dict)

    def _handle_max_record_age(self) -> None:
        """The landing commits by age itself."""

    @classmethod
    def print_about(cls, output_format: str | None = None) -> None:
        if output_format is None:
            print(as_text(cls._get_about_info()))
        else:
            super().print_about(output_format)

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
        named = names_in_environment(prefix)
        warn_of_unknown(named, properties, cls.logger, settings.OF_OTHER_TARGETS)
        return found

    @classmethod
    def append_builtin_config(cls, config_jsonschema: dict[str, Any]) -> None:
        """The SDK's own settings, without those that say nothing here: a lake only appends."""
        super().append_builtin_config(config_jsonschema)
        properties = config_jsonschema["properties"]
        for name in settings.OF_OTHER_TARGETS:
            properties.pop(name, None)
        # The keys of the BATCH files' store are in it.
        properties["batch_config"] = properties["batch_config"] | SECRET


class _Reader(GenericSingerReader[str]):
    """Reads blocks where the SDK would read lines."""

    default_input = sys.stdin

    def __init__(self, target: TargetSingerlake) -> None:
        super().__init__()
        self._target = target

    def process_lines(self, file_input: IO[str] | None, callbacks: Any) -> Counter[str]:
        return self._target.land(file_input, callbacks)

    def deserialize_json(self, line: str) -> dict[str, Any]:
        raise AssertionError("lines are decoded in blocks")


def main() -> None:
    """The command: errors that are the user's to mend are one line in the log."""
    output.wait_for_readers()
    make_plain()
    # The thread that compresses asks for Python's lock often, and for a moment only.
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        TargetSingerlake.cli()
    except (SingerlakeError, *BAD_INPUT) as error:
        name = type(under_our_name(error)).__name__
        TargetSingerlake.logger.error("%s: %s", name, error)
        sys.exit(1)


if __name__ == "__main__":
    main()
