"""GET /px.jpg: one item in the query string, for pages that may or can not send anything else.

A member stands as `name=value`; the free-form ones as JSON or as `properties[plan]=pro`.
"""

import re
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Raw, inspect
from starlette.types import Send

from ingest.decoding.field_aliases import RawFields, alias_of
from ingest.decoding.limits import MAX_DEPTH
from ingest.decoding.tracker_formats import json_string
from ingest.publishing.publish import RECEIPT_HEADER
from schemas.errors import Malformed
from schemas.http.rate_limit_headers import Headers
from schemas.items import METRICS
from schemas.kinds import KINDS

GIF = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
"""1x1, transparent."""

NO_CACHE_HEADERS: Headers = [
    (b"content-type", b"image/gif"),
    (b"content-length", b"%d" % len(GIF)),
    (b"cache-control", b"no-store, no-cache, must-revalidate, private"),
    (b"pragma", b"no-cache"),
    (b"expires", b"0"),
]

OBJECT_FIELDS = ("properties", "traits", "payload")
"""Members that are objects."""
MAX_FIELDS = 500

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_NESTED = re.compile(r"(\w+)\[(.*)\]")

_raw_decoder = msgspec.json.Decoder(Raw)
_fields_decoder = msgspec.json.Decoder(RawFields)


def parse_query_fields(query: bytes) -> RawFields:
    """The members that a query string holds; Malformed when they are too many or too deep."""
    try:
        pairs = parse_qsl(
            query.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Malformed(f"The query may have at most {MAX_FIELDS} members") from None
    found: RawFields = {}
    objects: dict[str, dict[str, Any]] = {}
    for name, value in pairs:
        nested = _NESTED.fullmatch(name)
        if nested and nested[1] in OBJECT_FIELDS:
            _set_nested(
                objects.setdefault(nested[1], {}), nested[2].split("]["), _json_value(name, value)
            )
        else:
            found.setdefault(name, _json_value(name, value))
    return found | {name: _merge_object(found.get(name), given) for name, given in objects.items()}


async def send_pixel(send: Send, receipt: str) -> None:
    """The picture."""
    headers = [*NO_CACHE_HEADERS, (RECEIPT_HEADER, receipt.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": GIF})


def _merge_object(whole: Raw | None, given: dict[str, Any]) -> Raw:
    """The members that came one by one, with those of the object where it came whole as well."""
    try:
        return Raw(msgspec.json.encode({**_fields_decoder.decode(whole or b"{}"), **given}))
    except (msgspec.MsgspecError, RecursionError):
        raise Malformed("An object must stand in the query whole or member by member") from None


def _set_nested(target: dict[str, Any], keys: list[str], value: Raw) -> None:
    """Put a value where its keys lead."""
    *way, last = keys
    if len(way) >= MAX_DEPTH:
        raise Malformed(f"Members may be nested at most {MAX_DEPTH} deep")
    for key in way:
        below = target.get(key)
        if not isinstance(below, dict):
            below = target[key] = {}
        target = below
    target[last] = value


def _json_value(name: str, value: str) -> Raw:
    """A value as JSON: an object or a number where one is meant, else a string."""
    if name in OBJECT_FIELDS and value[:1] == "{":
        try:
            return Raw(bytes(_raw_decoder.decode(value)))
        except (msgspec.MsgspecError, RecursionError):
            return json_string(value)
    of_item = name.removeprefix("payload[").removesuffix("]")
    return (
        Raw(value.encode())
        if of_item in NUMBER_FIELDS and _NUMBER.fullmatch(value)
        else json_string(value)
    )


def _number_fields() -> frozenset[str]:
    """The members that may be numbers, in both spellings."""
    names = {metric.lower() for metric in METRICS}
    for kind in KINDS:
        info = inspect.type_info(kind.item)
        assert isinstance(info, inspect.StructType)  # noqa: S101 - for the type checker
        names |= {field.encode_name for field in info.fields if _may_be_number(field.type)}
    return frozenset(names | {alias_of(name) for name in names})


def _may_be_number(type_: inspect.Type) -> bool:
    types = type_.types if isinstance(type_, inspect.UnionType) else (type_,)
    return any(isinstance(each, inspect.IntType | inspect.FloatType) for each in types)


NUMBER_FIELDS = _number_fields()
