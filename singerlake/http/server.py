"""A server: listens, says so, serves until a signal, and stops within its time."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from singerlake.errors import ConfigError
from singerlake.http.protocol import LimitedConfig, Protocol
from singerlake.http.service import Service
from singerlake.http.settings import Listen
from singerlake.runtime import REAL, Runtime

STARTS_WITHIN_SECONDS = 60.0


def serve(service: Service, listen: Listen, ready: Callable[[str], object]) -> None:
    """Serve until SIGTERM or Ctrl-C. `ready` is called with the address once it answers.

    Requests that are under way have `Limits.stop_seconds` to end. Raises `ConfigError` where the
    address or the certificate is not to be had.
    """
    _Server(service, listen, ready).run()


@contextmanager
def serving(service: Service, listen: Listen, runtime: Runtime = REAL) -> Iterator[str]:
    """Serve in a thread, and yield the address. Raises `ConfigError` as `serve` does."""
    urls: list[str] = []
    settled = threading.Event()

    def ready(url: str) -> None:
        urls.append(url)
        settled.set()

    server = _Server(service, listen, ready)

    def run() -> None:
        try:
            server.run()
        finally:
            settled.set()

    thread = runtime.start(run, "singerlake-http")
    runtime.wait(settled, STARTS_WITHIN_SECONDS)
    if not urls:
        raise ConfigError(f"the service at {listen.host}:{listen.port} did not start: see the log")
    try:
        yield urls[0]
    finally:
        server.should_exit = True
        thread.join()


class _Server(uvicorn.Server):
    def __init__(self, service: Service, listen: Listen, ready: Callable[[str], object]) -> None:
        limits = service.limits
        config = LimitedConfig(
            service,
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type]
            timeout_graceful_shutdown=limits.stop_seconds,  # type: ignore[arg-type]
        )
        config.limits = limits
        # It warns of every request that is no HTTP: strangers could fill a disk.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        super().__init__(config)
        self._service, self._listen, self._ready = service, listen, ready
        self._ssl = _certificate(listen.certificate, listen.key)
        self._socket = _bound(listen)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            raise ConfigError("the service did not start: see the log")
        loop = asyncio.get_running_loop()

        def connection() -> Protocol:
            return Protocol(self.config, self.server_state, self.lifespan.state, loop)

        listener = await loop.create_server(
            connection,
            sock=self._socket,
            ssl=self._ssl,
            backlog=self.config.backlog,
            ssl_handshake_timeout=self._service.limits.head_seconds if self._ssl else None,
        )
        self.servers = [listener]
        self.started = True
        self._ready(self._listen.url(self._socket.getsockname()[1]))

    async def on_tick(self, counter: int) -> bool:
        if counter % 5 == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Protocol):
                    connection.look(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.stopping = True
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn, which raises the signal once more at the end: a stop that was asked for is
        no failure here."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = (signal.SIGINT, signal.SIGTERM)
        former = {number: signal.signal(number, self.handle_exit) for number in wanted}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


def _bound(listen: Listen) -> socket.socket:
    try:
        found = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        raise ConfigError(f"cannot listen at {listen.host}:{listen.port}: {error}") from error
    bound.setblocking(False)
    return bound


def _certificate(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        if key is not None:
            raise ConfigError("a key for TLS needs its certificate")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, _no_password)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{certificate}: expected a certificate in PEM, and its key in "
            f"{key or 'the same file'}: {error}"
        ) from error
    return context


def _no_password() -> str:
    raise ValueError("the key has a password; expected a key without one")
