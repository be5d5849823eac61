"""Sources that users bring: loaded by their names."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.wait.event import Awaited, OwnEvent
from singerlake.wait.source.base import Answer, Question, Source


class OwnSource:
    """Asks each user's source for its own events."""

    def __init__(self) -> None:
        self._loaded: dict[str, Source] = {}

    def anchored(self, event: OwnEvent) -> Awaited:
        try:
            return self._source(event.source).anchored(event)
        except ConfigError:
            return event  # the look says so

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        answers: dict[int, Answer] = {}
        for name in dict.fromkeys(one.event.source for one in questions):
            mine = [at for at, one in enumerate(questions) if one.event.source == name]
            try:
                found = self._source(name).look([questions[at] for at in mine])
            except SingerlakeError as error:
                found = [error] * len(mine)
            answers.update(zip(mine, found, strict=True))
        return [answers[at] for at in range(len(questions))]

    def close(self) -> None:
        for source in self._loaded.values():
            source.close()

    def _source(self, name: str) -> Source:
        if name not in self._loaded:
            self._loaded[name] = load(name)
        return self._loaded[name]


def load(name: str) -> Source:
    """Raises `ConfigError` where nothing of that name returns a source."""
    module, _, attribute = name.partition(":")
    try:
        made: Source = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ConfigError(
            f"expected a source as `package.module:name`, found {name!r} "
            f"({type(error).__name__}: {error})"
        ) from None
    return made
