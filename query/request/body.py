"""Decodes JSON bodies into structs; errors name the field and the rule."""

import re
from typing import TypeVar

import msgspec
from starlette.requests import Request

from schemas.errors import Malformed
from schemas.http.asgi import read_body
from schemas.http.validation_messages import rule_message

MAX_BODY_BYTES = 1_048_576
BODY_SECONDS = 15.0

T = TypeVar("T")


async def read_json(request: Request, shape: type[T]) -> T:
    """The JSON body as `shape`; Malformed names the member and the rule."""
    return decode_json(await read_bytes(request), shape)


async def read_bytes(request: Request) -> bytes:
    """The body as it was sent."""
    return await read_body(request.scope, request.receive, MAX_BODY_BYTES, BODY_SECONDS)


def decode_json(body: bytes, shape: type[T], at: str = "") -> T:
    """The JSON text as `shape`; `at` names the query parameter that holds it, if any."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise Malformed(_sentence(str(error), at)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        where = f"'{at}'" if at else "The body"
        raise Malformed(f"{where} is not valid JSON") from None


def convert(value: object, shape: type[T], at: str) -> T:
    """A part of a body as `shape`; `at` is its path in the body."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise Malformed(_sentence(str(error), at)) from None


def _sentence(error: str, at: str = "") -> str:
    """`Expected `int`, got `str` - at `$.limit` as `'limit' must be an integer, not a string`."""
    message, _, json_path = error.partition(" - at `$")
    json_path = at + json_path.rstrip("`")
    member = json_path.lstrip(".") or "body"
    missing = re.fullmatch(r"Object missing required field `(\w+)`", message)
    if missing:
        at = f"{member}." if json_path else ""
        return f"'{at}{missing[1]}' is missing"
    return f"'{member}' {rule_message(message)}"
