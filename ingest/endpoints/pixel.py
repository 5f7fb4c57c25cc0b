"""GET /px.jpg: one item in the query string; the response is a transparent GIF.

For pages that cannot run scripts or send POST requests. A field is `name=value`; free-form fields
are JSON, or member by member like `properties[plan]=pro`.
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
from schemas.http.limits import Headers
from schemas.items import object_fields
from schemas.kinds import KINDS
from schemas.tables.vitals import METRICS

GIF = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
"""One transparent pixel."""

NO_CACHE_HEADERS: Headers = [
    (b"content-type", b"image/gif"),
    (b"content-length", b"%d" % len(GIF)),
    (b"cache-control", b"no-store, no-cache, must-revalidate, private"),
    (b"pragma", b"no-cache"),
    (b"expires", b"0"),
]

OBJECT_FIELDS = {"payload"}.union(*(object_fields(kind.item) for kind in KINDS))
"""Fields that are objects."""
MAX_FIELDS = 500

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_NESTED = re.compile(r"(\w+)\[(.*)\]")

_raw_decoder = msgspec.json.Decoder(Raw)
_fields_decoder = msgspec.json.Decoder(RawFields)


def parse_query_fields(query: bytes) -> RawFields:
    """The fields in a query string; Malformed if they are too many or nested too deeply."""
    try:
        pairs = parse_qsl(
            query.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Malformed(f"The query string may have at most {MAX_FIELDS} parameters") from None
    fields: RawFields = {}
    objects: dict[str, dict[str, Any]] = {}
    for name, value in pairs:
        nested = _NESTED.fullmatch(name)
        if nested and nested[1] in OBJECT_FIELDS:
            _set_nested(
                objects.setdefault(nested[1], {}), nested[2].split("]["), _json_value(name, value)
            )
        else:
            fields.setdefault(name, _json_value(name, value))
    return fields | {
        name: _merge_object(fields.get(name), nested_fields)
        for name, nested_fields in objects.items()
    }


async def send_pixel(send: Send, receipt: str) -> None:
    """Send the image, with the receipt in a header."""
    headers = [*NO_CACHE_HEADERS, (RECEIPT_HEADER, receipt.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": GIF})


def _merge_object(object_value: Raw | None, nested_fields: dict[str, Any]) -> Raw:
    """Merge members sent one by one into an object that was sent as JSON."""
    try:
        return Raw(
            msgspec.json.encode({**_fields_decoder.decode(object_value or b"{}"), **nested_fields})
        )
    except (msgspec.MsgspecError, RecursionError):
        raise Malformed(
            "An object in the query string must be JSON, or member by member as name[key]=value"
        ) from None


def _set_nested(target: dict[str, Any], keys: list[str], value: Raw) -> None:
    """Set a value in nested objects by its path of keys."""
    *parents, last = keys
    if len(parents) >= MAX_DEPTH:
        raise Malformed(f"Fields may be nested at most {MAX_DEPTH} deep")
    for key in parents:
        child = target.get(key)
        if not isinstance(child, dict):
            child = target[key] = {}
        target = child
    target[last] = value


def _json_value(name: str, value: str) -> Raw:
    """A value as JSON: an object or number if the field has such a type, else a string."""
    if name in OBJECT_FIELDS and value[:1] == "{":
        try:
            return Raw(bytes(_raw_decoder.decode(value)))
        except (msgspec.MsgspecError, RecursionError):
            return json_string(value)
    item_field = name.removeprefix("payload[").removesuffix("]")
    is_literal = (item_field in NUMBER_FIELDS and _NUMBER.fullmatch(value)) or (
        item_field in BOOLEAN_FIELDS and value in ("true", "false")
    )
    return Raw(value.encode()) if is_literal else json_string(value)


def _number_fields() -> frozenset[str]:
    """The fields that may be numbers, with their aliases."""
    names = {metric.lower() for metric in METRICS} | _fields_of(inspect.IntType, inspect.FloatType)
    return frozenset(names | {alias_of(name) for name in names})


def _fields_of(*types: type[inspect.Type]) -> frozenset[str]:
    """The fields that may be of one of these types."""
    names: set[str] = set()
    for kind in KINDS:
        info = inspect.type_info(kind.item)
        assert isinstance(info, inspect.StructType)  # noqa: S101 - for the type checker
        for field in info.fields:
            members = field.type.types if isinstance(field.type, inspect.UnionType) else ()
            if isinstance(field.type, types) or any(isinstance(m, types) for m in members):
                names.add(field.encode_name)
    return frozenset(names)


NUMBER_FIELDS = _number_fields()
BOOLEAN_FIELDS = _fields_of(inspect.BoolType)
