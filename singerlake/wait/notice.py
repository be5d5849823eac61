"""Notices by mail and by webhook."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from singerlake.errors import ConfigError, NoAnswer
from singerlake.http.address import checked
from singerlake.http.client import Client
from singerlake.wait.watch import Notice

MAIL = "mailto:"
SECONDS = 30.0

Encryption = Literal["none", "starttls", "tls"]
PORTS: dict[Encryption, int] = {"none": 25, "starttls": 587, "tls": 465}


@dataclass(frozen=True)
class MailServer:
    """Where mail goes out. `password` comes from the environment, never from a URL, and goes out
    over TLS alone."""

    host: str = "localhost"
    port: int = 25
    sender: str = "singerlake@localhost"
    user: str = ""
    password: str = ""
    encryption: Encryption = "none"

    @staticmethod
    def parse(url: str, sender: str, password: str = "") -> MailServer:
        """`smtp://[user@]host[:port]`, with STARTTLS where there is a user, or `smtps://…` for TLS
        from the first byte. Raises `ConfigError`."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            parts, host, port = urlsplit(""), "", None
        if parts.scheme not in ("smtp", "smtps") or not host or parts.password:
            raise ConfigError(
                "expected a mail server such as smtp://user@mail.example.com:587, without a "
                "password: $SINGERLAKE_SMTP_PASSWORD holds that"
            )
        plain: Encryption = "starttls" if parts.username else "none"
        encryption: Encryption = "tls" if parts.scheme == "smtps" else plain
        user = unquote(parts.username or "")
        return MailServer(host, port or PORTS[encryption], sender, user, password, encryption)


def require_address(address: str) -> None:
    """Raises `ConfigError`."""
    if not address.startswith(MAIL):
        checked(address)
    elif "@" not in address or any(character in address for character in "\r\n"):
        raise ConfigError(f"expected an address such as mailto:ops@example.com, found {address!r}")


def send(notice: Notice, address: str, server: MailServer, client: Client) -> None:
    """Raises `NoAnswer` where it did not go out."""
    if address.startswith(MAIL):
        _mail(notice, address.removeprefix(MAIL), server)
        return
    answer = client.post(
        address, msgspec.json.encode(as_json(notice)), {"Content-Type": "application/json"}
    )
    if not 200 <= answer.status < 300:
        raise NoAnswer(f"the webhook of {notice.expectation.name!r} answered {answer.status}")


def as_json(notice: Notice) -> Mapping[str, object]:
    return {
        "kind": notice.kind,
        "expectation": notice.expectation.name,
        "window": notice.span.name,
        "deadline": notice.deadline,
        "events": [one.event.title for one in notice.events],
        "text": notice.text,
    }


def _mail(notice: Notice, to: str, server: MailServer) -> None:
    message = EmailMessage()
    # A name is whatever a tap calls itself: no header may break.
    message["Subject"] = " ".join(f"Singerlake: {notice.text}".split())[:200]
    message["From"], message["To"] = server.sender, to
    lines = [notice.text, ""]
    for one in notice.events:
        error = f" ({type(one.error).__name__}: {one.error})" if one.error else ""
        lines.append(f"- {one.event.title}: {one.event.subject}{error}")
    message.set_content("\n".join(lines))
    try:
        with _session(server) as session:
            if server.user:
                session.login(server.user, server.password)
            session.send_message(message)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise NoAnswer(
            f"the mail server {server.host}:{server.port} did not take a notice "
            f"({type(error).__name__})"
        ) from None


def _session(server: MailServer) -> smtplib.SMTP:
    # Without a context, smtplib takes any certificate.
    context = ssl.create_default_context()
    if server.encryption == "tls":
        return smtplib.SMTP_SSL(server.host, server.port, timeout=SECONDS, context=context)
    session = smtplib.SMTP(server.host, server.port, timeout=SECONDS)
    if server.encryption == "starttls":
        try:
            session.starttls(context=context)
        except BaseException:
            session.close()
            raise
    return session
