"""Lines over time as an SVG, by hand: it needs no library, and is small in the repository."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 420, 170
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 28, 24
COLOURS = ("#d55e00", "#0072b2")
STYLE = """
  svg { background: #fff; font: 11px system-ui, sans-serif; }
  text { fill: #333; } .title { font-weight: 600; font-size: 12px; }
  .grid { stroke: #ddd; } polyline { fill: none; stroke-width: 1.5; stroke-linejoin: round; }
"""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Series:
    name: str
    points: Points


@dataclass(frozen=True)
class Panel:
    """Series in one frame, over seconds; the frame begins at zero."""

    title: str
    series: Sequence[Series]


def draw(columns: Sequence[Sequence[Panel]]) -> str:
    """Panels below each other in columns."""
    width, height = WIDTH * len(columns), HEIGHT * max(map(len, columns))
    parts = [
        f'<g transform="translate({WIDTH * x} {HEIGHT * y})">{_panel(panel)}</g>'
        for x, column in enumerate(columns)
        for y, panel in enumerate(column)
    ]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _panel(panel: Panel) -> str:
    points = [point for series in panel.series for point in series.points]
    last = max((x for x, _ in points), default=1.0)
    step = _step(max((y for _, y in points), default=1.0))
    top = step * math.ceil(max((y for _, y in points), default=1.0) / step)

    def at(x: float, y: float) -> tuple[float, float]:
        across = LEFT + x / last * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text class="title" x="{LEFT}" y="16">{escape(panel.title)}</text>']
    for number in range(round(top / step) + 1):
        x, y = at(0, number * step)
        parts.append(f'<path class="grid" d="M{x} {y:.1f}H{WIDTH - RIGHT}"/>')
        label = f"{number * step:g}"
        parts.append(f'<text x="{x - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for share in (0, 0.5, 1):
        x, y = at(share * last, 0)
        anchor = {0: "start", 1: "end"}.get(share, "middle")
        seconds = f"{share * last:.0f} s"
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="{anchor}">{seconds}</text>')
    colours = COLOURS[-len(panel.series) :]
    for number, (series, colour) in enumerate(zip(panel.series, colours, strict=True)):
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in series.points))
        parts.append(f'<polyline points="{line}" stroke="{colour}"/>')
        x = WIDTH - RIGHT - 34 * (len(panel.series) - number - 1)
        name = escape(series.name)
        parts.append(f'<text x="{x}" y="16" text-anchor="end" style="fill:{colour}">{name}</text>')
    return "".join(parts)


def _step(largest: float) -> float:
    """Between two lines of the grid: 1, 2 or 5 times a power of ten, for three to seven of them."""
    largest = largest or 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(step for step in (power / 5, power / 2, power, power * 2) if largest / step <= 6)
