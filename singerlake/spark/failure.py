"""From Spark's many lines about a failure to one that tells what to do."""

from __future__ import annotations

import os
import re
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from singerlake import errors

_RAISED = re.compile(r"^(?:.*\s)?singerlake\.errors\.(\w+): (.*)$", re.MULTILINE)
_THROWN = re.compile(r"^(?:Caused by: |.*Exception in thread \S+ |: )?([\w.$]+): (.+)$")
_FAILURE = re.compile(r"\w(Error|Exception)$")
_NO_ANSWER = re.compile(
    r"stopped SparkContext|ConnectException|UnknownHost|KubernetesClientException|[Tt]imeout"
)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Raise a task's own error, not Spark's many lines about it.

    What is not an error of ours becomes `Unavailable`, with the heart of the matter.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _from(what, str(error)) from error
    except ConnectionError as error:
        raise errors.Unavailable(
            f"{what}: Spark's Java process on this machine does not answer any more ({error}). "
            "Something ended it, perhaps for lack of memory; see the system's log, and run it again"
        ) from error


def _from(what: str, text: str) -> errors.SingerlakeError:
    for name, message in reversed(_RAISED.findall(text)):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.SingerlakeError):
            return kind(message)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return errors.Unavailable(f"{what}: the Spark job failed: {_heart(lines)}")


def _heart(lines: list[str]) -> str:
    """The line that says most: the exception at the end of a Python traceback, or the first."""
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b: ", line)]
    return (raised[-1] if raised else lines[0] if lines else "it gave no reason")[:2000]


@contextmanager
def starting(master: str | None, quiet: bool = True) -> Iterator[None]:
    """Around the making of a session: one line in the place of Java's stack traces.

    Raises `Unavailable` where the master does not answer, and `ConfigError` for anything else. If
    `quiet`, what Java says on its way up is kept back.
    """
    said: list[str] = []
    try:
        with _kept_back(said) if quiet else _nothing():
            yield
    except (PySparkException, Py4JError, OSError) as error:
        raise _not_started(master or "this machine", [*str(error).splitlines(), *said]) from error


def _not_started(master: str, text: Iterable[str]) -> errors.SingerlakeError:
    lines = [line.strip() for line in text]
    thrown = [found for line in lines if (found := _THROWN.match(line))]
    failures = [found for found in thrown if _FAILURE.search(found[1])]
    if any(_NO_ANSWER.search(found[0]) for found in failures):
        return errors.Unavailable(
            f"Spark's master {master} does not answer; see that it runs and can be reached from "
            "here, or give another --master"
        )
    reason = failures[-1][2] if failures else " ".join(lines[-3:])
    return errors.ConfigError(
        f"Spark does not start on {master}: {reason[:500].rstrip('.')}. See to --master and "
        "--conf; `singerlake -v` shows all that Spark says"
    )


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _kept_back(said: list[str]) -> Iterator[None]:
    """Keep what is written to stderr inside the block, by child processes too.

    What a child writes to it after the block comes out as ever.
    """
    ours, (reading, writing) = os.dup(2), os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    # Told through the pipe itself: what was written before the end may be read long after it.
    end = f"{uuid.uuid4().hex}\n"

    def pump() -> None:
        with os.fdopen(reading, errors="replace") as lines, os.fdopen(ours, "w") as out:
            for line in lines:
                if line.endswith(end):
                    break
                said.append(line)  # one by one: who gives up waiting reads what is there
            for line in lines:
                print(line, end="", file=out, flush=True)

    # It lasts as long as Java, which has the other end of the pipe.
    pumping = threading.Thread(target=pump, name="singerlake-stderr", daemon=True)
    pumping.start()
    try:
        yield
    except BaseException:
        os.dup2(ours, 2)
        # Java may have ended, and its last words be under way.
        pumping.join(timeout=1)
        raise
    os.write(2, end.encode())
    os.dup2(ours, 2)
