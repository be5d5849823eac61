"""What docs/spark.md says of types and values, in plain Python: an oracle for the readers.

It shares no code with them. Types are tuples, such as `("decimal", 13, 2)`, `("array", item)` and
`("struct", {name: type})`; values are JSON texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

Kind = tuple[Any, ...]
SCALARS = {"boolean", "long", "double", "decimal", "string", "timestamp", "date", "text"}
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
NUMBER_IN_STRING = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)
TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?",
    re.ASCII,
)


class DoesNotFit(Exception):
    pass


# Types


def of_schema(schema: Mapping[str, Any], numbers: str) -> Kind:
    """The type of a schema, of those that the test makes."""
    if "anyOf" in schema:
        return together([of_schema(each, numbers) for each in schema["anyOf"]])
    if "type" not in schema:
        return ("json",)
    declared = schema["type"]
    names = [declared] if isinstance(declared, str) else list(declared)
    if "number" in names and "integer" in names:
        names.remove("integer")
    return together([of_name(name, schema, numbers) for name in names if name != "null"])


def of_name(name: str, schema: Mapping[str, Any], numbers: str) -> Kind:
    if name == "integer":
        return ("decimal", 38, 0) if schema.get("maximum", 0) >= 2**63 else ("long",)
    if name == "number":
        return of_number(schema, numbers)
    if name == "string":
        if schema.get("format") == "singer.decimal":
            return ("decimal", schema["precision"], schema["scale"])
        return {"date-time": ("timestamp",), "date": ("date",)}.get(
            schema.get("format", ""), ("string",)
        )
    if name == "array":
        return ("array", of_schema(schema["items"], numbers)) if "items" in schema else ("json",)
    if name == "object":
        if "properties" in schema:
            fields = {n: of_schema(s, numbers) for n, s in schema["properties"].items()}
            return ("struct", fields)
        if "additionalProperties" in schema:
            return ("map", of_schema(schema["additionalProperties"], numbers))
        return ("json",)
    return ("boolean",)


def of_number(schema: Mapping[str, Any], numbers: str) -> Kind:
    free = {"double": ("double",), "decimal": ("decimal", 38, 18), "string": ("text",)}[numbers]
    if "multipleOf" not in schema:
        return free
    scale = max(0, -int(Decimal(repr(schema["multipleOf"])).normalize().as_tuple().exponent))
    if scale == 0:
        return ("long",)
    if "minimum" in schema and "maximum" in schema:
        whole = max(len(str(abs(int(schema[word])))) for word in ("minimum", "maximum"))
        return ("decimal", whole + scale, scale) if whole + scale <= 38 else free
    return ("decimal", 38, scale) if 38 - scale >= 18 else free


def together(kinds: Sequence[Kind]) -> Kind:
    """The type that holds the values of all of them."""
    result: Kind | None = None
    for kind in kinds:
        result = kind if result is None else both(result, kind)
    return ("null",) if result is None else result


def both(a: Kind, b: Kind) -> Kind:
    names = {a[0], b[0]}
    if a == b or names == {"null"}:
        return a
    if "null" in names:
        return b if a[0] == "null" else a
    if names == {"struct"}:
        fields = dict(a[1])
        for name, kind in b[1].items():
            fields[name] = both(fields[name], kind) if name in fields else kind
        return ("struct", fields)
    if names in ({"array"}, {"map"}):
        return (a[0], both(a[1], b[1]))
    if names <= {"long", "double", "decimal"}:
        if "double" in names:
            return ("double",)
        (_, p, s), (_, q, r) = (("decimal", 19, 0) if k == ("long",) else k for k in (a, b))
        digits = max(p - s, q - r) + max(s, r)
        return ("decimal", digits, max(s, r)) if digits <= 38 else ("text",)
    if names == {"date", "timestamp"}:
        return ("timestamp",)
    if names <= {"date", "timestamp", "string"}:
        return ("string",)
    return ("text",) if names <= SCALARS else ("json",)


# Values


@dataclass(frozen=True)
class Oracle:
    """The rules; a control changes one of them."""

    rounding: str = ROUND_HALF_EVEN
    by_double: bool = True
    strict_strings: bool = True

    def read(self, text: str, kind: Kind) -> tuple[Any, bool]:
        """The value that a column has for a text, and whether all of it fits."""
        if text == "null":
            return None, True
        try:
            return self._read(text, kind)
        except DoesNotFit:
            return None, False

    def _read(self, text: str, kind: Kind) -> tuple[Any, bool]:
        name = kind[0]
        if name == "array":
            found = [self.read(each, kind[1]) for each in elements(text)]
            return [value for value, _ in found], all(fits for _, fits in found)
        if name == "map":
            inner = {n: self.read(each, kind[1]) for n, each in members(text).items()}
        elif name == "struct":
            sent = members(text)
            inner = {n: self.read(sent.get(n, "null"), each) for n, each in kind[1].items()}
        else:
            return getattr(self, f"_{name}")(text, kind), True
        return {n: value for n, (value, _) in inner.items()}, all(f for _, f in inner.values())

    def _boolean(self, text: str, kind: Kind) -> bool:
        require(text in ("true", "false"))
        return text == "true"

    def _long(self, text: str, kind: Kind) -> int:
        require(bool(NUMBER.fullmatch(text)))
        number = exact(text)
        require(number.denominator == 1 and -(2**63) <= number < 2**63)
        return int(number)

    def _double(self, text: str, kind: Kind) -> float:
        digits = number_text(text)
        number = 0.0 if text == "-0" else float(digits)
        require(abs(number) != float("inf"))
        return number

    def _decimal(self, text: str, kind: Kind) -> Decimal:
        (_, precision, scale), digits = kind, number_text(text)
        number = exact(digits)
        scaled = number * 10**scale
        near = round(scaled)
        if self.rounding == ROUND_HALF_UP:
            near = int(abs(scaled) + Fraction(1, 2)) * (1 if scaled >= 0 else -1)
        require(abs(near) < 10**precision)
        if near != scaled:
            require(self.by_double and text[0] != '"')
            require(float(digits) == float(Fraction(near, 10**scale)))
        return Decimal((int(near < 0), tuple(map(int, str(abs(near)))), -scale))

    def _string(self, text: str, kind: Kind) -> str:
        if not self.strict_strings:
            return self._text(text, kind)
        require(text[0] == '"')
        return str(json.loads(text))

    def _text(self, text: str, kind: Kind) -> str:
        return str(json.loads(text)) if text[0] == '"' else text

    def _json(self, text: str, kind: Kind) -> str:
        return text

    _null = _json

    def _timestamp(self, text: str, kind: Kind) -> datetime:
        day, hour, minute, second, fraction, zone = self._parts(text)
        try:
            moment = datetime.fromisoformat(day) + timedelta(
                microseconds=int(
                    Decimal(f"0.{fraction or 0}").scaleb(6).to_integral_value(ROUND_HALF_UP)
                )
            )
            require(int(hour or 0) < 24 and int(minute or 0) < 60 and int(second or 0) < 60)
            moment += timedelta(
                hours=int(hour or 0), minutes=int(minute or 0), seconds=int(second or 0)
            )
            return (moment - offset(zone)).replace(tzinfo=timezone.utc)
        except (ValueError, OverflowError):
            raise DoesNotFit from None

    def _date(self, text: str, kind: Kind) -> date:
        day, *clock, _zone = self._parts(text)
        self._timestamp(text, kind)
        require(not any(int(part or 0) for part in clock))
        return date.fromisoformat(day)

    def _parts(self, text: str) -> tuple[str, ...]:
        require(text[0] == '"')
        found = TIME.fullmatch(json.loads(text))
        require(found is not None)
        assert found is not None
        return found.groups()


def require(fits: bool) -> None:
    if not fits:
        raise DoesNotFit


def exact(digits: str) -> Fraction:
    number = Decimal(digits)
    # Past these a double is infinite or 0, and no column has so many digits.
    if number and number.adjusted() > 400:
        raise DoesNotFit
    return Fraction(0) if number and number.adjusted() < -400 else Fraction(number)


def number_text(text: str) -> str:
    """The digits of a number, or of a string that holds one."""
    if text[0] == '"':
        digits = str(json.loads(text))
        require(bool(NUMBER_IN_STRING.fullmatch(digits)))
        return digits
    require(bool(NUMBER.fullmatch(text)))
    return text


def offset(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    hours, minutes = map(int, zone[1:].split(":"))
    require(hours < 24 and minutes < 60)
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


_scan = json.JSONDecoder().raw_decode


def elements(text: str) -> list[str]:
    require(text[0] == "[")
    return [part for _, part in _parts_of(text, named=False)]


def members(text: str) -> dict[str, str]:
    require(text[0] == "{")
    return dict(_parts_of(text, named=True))


def _parts_of(text: str, named: bool) -> list[tuple[str, str]]:
    """The parts of an array or an object, each as its text."""
    found, at = [], 1
    while text[at] not in "]}":
        name = ""
        if named:
            name, at = _scan(text, at)
            at = text.index(":", at) + 1
        at += len(text[at:]) - len(text[at:].lstrip())
        _, end = _scan(text, at)
        found.append((name, text[at:end]))
        at = end
        while text[at] in ", ":
            at += 1
    return found
