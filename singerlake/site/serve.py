"""Serving the site to a browser, built anew as the lake grows."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.site.pages import POLICY

log = logging.getLogger("singerlake.site")

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Fresh:
    """Builds again in the background when somebody looks, and the last build is old enough.

    Whoever looks is answered at once, from what there is.
    """

    def __init__(self, rebuild: Callable[[], object], every: float) -> None:
        self._rebuild, self._every = rebuild, every
        self._busy = threading.Lock()
        self._built = time.monotonic()

    def look(self) -> None:
        if time.monotonic() - self._built >= self._every and self._busy.acquire(blocking=False):
            threading.Thread(target=self._build, name="singerlake-site", daemon=True).start()

    def _build(self) -> None:
        try:
            self._rebuild()
        except SingerlakeError as error:
            log.warning("the site was not built anew, the former one is still served: %s", error)
        finally:
            self._built = time.monotonic()
            self._busy.release()


class _Handler(SimpleHTTPRequestHandler):
    """Files of the folder, and nothing else: no listings, no other host's pages."""

    server: Server

    def send_head(self) -> Any:
        if not self._is_for_us():
            self.send_error(421, "Ask for this site by the address that it is served at")
            return None
        if self.path.partition("?")[0].endswith(("/", ".html")):
            self.server.fresh.look()
        return super().send_head()

    def _is_for_us(self) -> bool:
        """Whether the browser meant this machine: another site's name may lead to 127.0.0.1 too."""
        if self.server.host not in LOOPBACK:
            return True
        try:
            return urlsplit(f"//{self.headers.get('Host', '')}").hostname in LOOPBACK
        except ValueError:
            return False

    def list_directory(self, path: Any) -> None:
        self.send_error(404)

    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        log.info(format, *args)


class Server(ThreadingHTTPServer):
    """Serves one folder. Raises `ConfigError` where the address is not to be had."""

    daemon_threads = True
    request_queue_size = 128  # a browser opens many connections at once

    def __init__(self, folder: Path, host: str, port: int, fresh: Fresh) -> None:
        self.host, self.fresh = host, fresh
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), partial(_Handler, directory=str(folder)))
        except (OSError, OverflowError) as error:
            raise ConfigError(f"cannot serve at {host}, port {port}: {error}") from error

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_port}/index.html"
