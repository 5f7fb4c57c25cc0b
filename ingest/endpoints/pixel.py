"""GET /px.jpg: one item in the query string, for pages that may or can not send anything else.

A member stands as `name=value`; the free-form ones as JSON or as `properties[plan]=pro`.
"""

import re
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Raw, inspect
from starlette.types import Send

from ingest.decoding.field_aliases import Fields, other
from ingest.decoding.limits import DEPTH
from ingest.decoding.tracker_formats import text
from ingest.publishing.publish import RECEIPT
from schemas.errors import Malformed
from schemas.http.rate_limit_headers import Headers
from schemas.items import METRICS
from schemas.kinds import KINDS

GIF = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
"""1x1, transparent."""

UNCACHED: Headers = [
    (b"content-type", b"image/gif"),
    (b"content-length", b"%d" % len(GIF)),
    (b"cache-control", b"no-store, no-cache, must-revalidate, private"),
    (b"pragma", b"no-cache"),
    (b"expires", b"0"),
]

OPEN = ("properties", "traits", "payload")
"""Members that are objects."""
MEMBERS = 500

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_NESTED = re.compile(r"(\w+)\[(.*)\]")

_one = msgspec.json.Decoder(Raw)
_members = msgspec.json.Decoder(Fields)


def fields_of(query: bytes) -> Fields:
    """The members that a query string holds; Malformed when they are too many or too deep."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MEMBERS)
    except ValueError:
        raise Malformed(f"The query may have at most {MEMBERS} members") from None
    found: Fields = {}
    objects: dict[str, dict[str, Any]] = {}
    for name, value in pairs:
        nested = _NESTED.fullmatch(name)
        if nested and nested[1] in OPEN:
            _put(objects.setdefault(nested[1], {}), nested[2].split("]["), _value(name, value))
        else:
            found.setdefault(name, _value(name, value))
    return found | {name: _object(found.get(name), given) for name, given in objects.items()}


async def answer_pixel(send: Send, receipt: str) -> None:
    """The picture."""
    headers = [*UNCACHED, (RECEIPT, receipt.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": GIF})


def _object(whole: Raw | None, given: dict[str, Any]) -> Raw:
    """The members that came one by one, with those of the object where it came whole as well."""
    try:
        return Raw(msgspec.json.encode({**_members.decode(whole or b"{}"), **given}))
    except (msgspec.MsgspecError, RecursionError):
        raise Malformed("An object must stand in the query whole or member by member") from None


def _put(target: dict[str, Any], keys: list[str], value: Raw) -> None:
    """Put a value where its keys lead."""
    *way, last = keys
    if len(way) >= DEPTH:
        raise Malformed(f"Members may be nested at most {DEPTH} deep")
    for key in way:
        below = target.get(key)
        if not isinstance(below, dict):
            below = target[key] = {}
        target = below
    target[last] = value


def _value(name: str, value: str) -> Raw:
    """A value as JSON: an object or a number where one is meant, else a string."""
    if name in OPEN and value[:1] == "{":
        try:
            return Raw(bytes(_one.decode(value)))
        except (msgspec.MsgspecError, RecursionError):
            return text(value)
    of_item = name.removeprefix("payload[").removesuffix("]")
    return Raw(value.encode()) if of_item in NUMBERS and _NUMBER.fullmatch(value) else text(value)


def _numbers() -> frozenset[str]:
    """The members that may be numbers, in both spellings."""
    names = {metric.lower() for metric in METRICS}
    for kind in KINDS:
        info = inspect.type_info(kind.item)
        assert isinstance(info, inspect.StructType)  # noqa: S101 - for the type checker
        names |= {field.encode_name for field in info.fields if _may_be_number(field.type)}
    return frozenset(names | {other(name) for name in names})


def _may_be_number(type_: inspect.Type) -> bool:
    types = type_.types if isinstance(type_, inspect.UnionType) else (type_,)
    return any(isinstance(each, inspect.IntType | inspect.FloatType) for each in types)


NUMBERS = _numbers()
