"""The table of awaited events as HTML. Names are whatever taps and senders chose: text, always."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

from singerlake.wait.status.store import Status

REFRESH_SECONDS = 10

_COLOURS = {"received": "#15803d", "waiting": "#a16207", "missed": "#b91c1c"}
_CELL = "padding:4px 12px 4px 0;text-align:left;vertical-align:top"
_SHORT = f"{_CELL};white-space:nowrap"
_LONG = f"{_CELL};overflow-wrap:anywhere"
_HEAD = ("event", "window", "state", "time, UTC", "deadline, UTC", "what")
_STYLE = """
:root { color-scheme: light dark }
body { font: 14px/1.5 system-ui, sans-serif; margin: 16px }
table { border-collapse: collapse }
th { border-bottom: 1px solid #8888 }
td { border-bottom: 1px solid #8884 }
"""


def page(rows: Sequence[Status], note: str = "") -> str:
    """A whole page, which loads itself again while something is awaited."""
    waits = any(row.state == "waiting" for row in rows) or bool(note)
    again = f'<meta http-equiv="refresh" content="{REFRESH_SECONDS}">' if waits else ""
    said = f"<p>{escape(note)}</p>" if note else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Awaited events</title>{again}<style>{_STYLE}</style></head>"
        f"<body>{said}{table(rows)}</body></html>"
    )


def table(rows: Sequence[Status]) -> str:
    """For a page, and for a mail, which takes no style sheet."""
    if not rows:
        return "<p>Nothing is awaited here.</p>"
    received = sum(row.state == "received" for row in rows)
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in _HEAD)
    body = "".join(_row(row) for row in rows)
    return (
        f"<p>{received} of {len(rows)} received</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _row(row: Status) -> str:
    state = f"{row.state}, late" if row.late else row.state
    short = (
        escape(row.window),
        f'<b style="color:{_COLOURS.get(row.state, "inherit")}">{escape(state)}</b>',
        _moment(row.last_receive_time),
        _moment(row.timeout),
    )
    cells = [
        f'<td style="{_LONG}">{escape(row.name)}</td>',
        *(f'<td style="{_SHORT}">{cell}</td>' for cell in short),
        f'<td style="{_LONG}">{escape(row.error or row.last_receive or row.msg)}</td>',
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"
