"""Sources that users bring: loaded by their names. Whatever they raise is an answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module

import msgspec

from singerlake.errors import ConfigError, SingerlakeError, Unavailable
from singerlake.runtime import REAL, Runtime
from singerlake.wait.event import Awaited, OwnEvent
from singerlake.wait.source.base import Answer, Question, Source

logger = logging.getLogger(__name__)


class OwnSource:
    """Asks each user's source for its own events."""

    def __init__(self, runtime: Runtime = REAL) -> None:
        self._loaded: dict[str, Source] = {}
        self._runtime = runtime

    def anchored(self, event: OwnEvent) -> Awaited:
        try:
            return self._source(event.source).anchored(event)
        except Exception as error:
            # What is wrong is said by the look.
            logger.debug("%s has no place now: %r", event.source, error)
            if event.window or event.since:
                return event
            return msgspec.structs.replace(event, since=self._runtime.now())

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        answers: dict[int, Answer] = {}
        for name in dict.fromkeys(one.event.source for one in questions):
            mine = [at for at, one in enumerate(questions) if one.event.source == name]
            found = self._answers(name, [questions[at] for at in mine])
            answers.update(zip(mine, found, strict=True))
        return [answers[at] for at in range(len(questions))]

    def close(self) -> None:
        for source in self._loaded.values():
            source.close()

    def _answers(self, name: str, questions: Sequence[Question]) -> Sequence[Answer]:
        try:
            found = list(self._source(name).look(questions))
        except SingerlakeError as error:
            return [error] * len(questions)
        except Exception as error:
            logger.exception("%s failed", name)
            return [Unavailable(f"{name}: {type(error).__name__}: {error}")] * len(questions)
        if len(found) == len(questions):
            return found
        wrong = ConfigError(
            f"{name}: expected an answer to each of {len(questions)} questions, found {len(found)}"
        )
        return [wrong] * len(questions)

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
