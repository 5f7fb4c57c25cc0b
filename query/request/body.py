"""Decodes JSON bodies into structs; errors name the field and the rule."""

import json
import re
from collections import Counter
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request

from query.request.allowed_values import advice
from query.request.member_names import rename_members
from schemas.errors import Malformed
from schemas.http.asgi import read_body
from schemas.http.validation_messages import rule_message

MAX_BODY_BYTES = 1_048_576
BODY_SECONDS = 15.0

LONE_SURROGATE = re.compile(rb"(?<!\\)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
UNKNOWN_MEMBER = "Object contains unknown field"

T = TypeVar("T")


async def read_json(request: Request, shape: type[T]) -> T:
    """The JSON body as `shape`; Malformed names the member and the rule."""
    return decode_json(await read_bytes(request), shape)


async def read_bytes(request: Request) -> bytes:
    """The body as it was sent; Malformed when it is compressed."""
    coding = ", ".join(request.headers.getlist("content-encoding")).strip().lower()
    if coding not in ("", "identity"):
        raise Malformed(f"'Content-Encoding' is {coding[:40]}; send the body uncompressed")
    return await read_body(request.scope, request.receive, MAX_BODY_BYTES, BODY_SECONDS)


def decode_json(body: bytes, shape: type[T], at: str = "") -> T:
    """The JSON text as `shape`; `at` names the query parameter that holds it, if any."""
    try:
        value = msgspec.json.decode(body, type=shape)
        check_members(body, at)
        return value
    except msgspec.ValidationError as error:
        if not str(error).startswith(UNKNOWN_MEMBER):
            raise Malformed(_sentence(str(error), shape, at)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(_not_json(body, error, at)) from None
    return _convert_renamed(decode_json(body, Any, at), shape, at)


def check_members(text: bytes, at: str = "") -> None:
    """Malformed when an object of this valid JSON text has a member twice.

    `at` names the query parameter that holds the text, if any.
    """

    def check(members: list[tuple[str, Any]]) -> None:
        if len(members) > 1 and len(dict(members)) < len(members):
            name, _ = Counter(name for name, _ in members).most_common(1)[0]
            where = f"'{at}'" if at else "The body"
            raise Malformed(f"{where} has the member '{name[:60]}' twice in one object; keep one")

    # Numbers stay text: only the names of members are looked at.
    json.loads(text.decode(), object_pairs_hook=check, parse_int=str, parse_float=str)


def convert(value: object, shape: type[T], at: str, outer: type[Struct] | None = None) -> T:
    """A part of a body as `shape`; `at` is its path in the body, `outer` the shape of the body."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        if not str(error).startswith(UNKNOWN_MEMBER):
            raise Malformed(_sentence(str(error), shape, at)) from None
    return _convert_renamed(value, shape, at, outer)


def _convert_renamed(
    value: object, shape: type[T], at: str, outer: type[Struct] | None = None
) -> T:
    """The value as `shape`, when some of its members are spelled differently or unknown."""
    try:
        return msgspec.convert(rename_members(value, shape, at, outer), shape)
    except msgspec.ValidationError as error:
        raise Malformed(_sentence(str(error), shape, at)) from None
    except RecursionError:
        raise Malformed(f"{_subject(at)} is nested too deep") from None


def _not_json(body: bytes, error: Exception, at: str) -> str:
    """`The body is not valid JSON: … at line 3, column 8`."""
    problem = f"{_subject(at)} is not valid JSON"
    if isinstance(error, RecursionError):
        return f"{problem}: it is nested too deep"
    if isinstance(error, UnicodeDecodeError):
        return f"{problem}: it is not UTF-8"
    if not body.strip():
        return f"{problem}: it is empty"
    match = re.search(r"JSON is malformed: (.+) \(byte (\d+)\)", str(error))
    if match is None:
        if "truncated" not in str(error):
            return problem
        # Of an escaped half of a character, msgspec says the same as of an early end.
        half = LONE_SURROGATE.search(body)
        what = f"{half[0].decode()} is half a character" if half else "it ends too early"
        return f"{problem}: {what}"
    before = body[: int(match[2])].decode(errors="replace")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f"{problem}: {match[1]} at line {line}, column {column}"


def _subject(at: str) -> str:
    return f"'{at}'" if at else "The body"


def _sentence(error: str, shape: Any, at: str = "") -> str:
    """`Expected `int`, got `str` - at `$.limit` as `'limit' must be an integer, not a string`."""
    message, _, inner_path = error.partition(" - at `$")
    inner_path = inner_path.rstrip("`")
    json_path = at + inner_path
    member = json_path.lstrip(".") or "body"
    missing = re.fullmatch(r"Object missing required field `(\w+)`", message)
    if missing:
        at = f"{member}." if json_path else ""
        return f"'{at}{missing[1]}' is missing"
    allowed = ""
    if match := re.fullmatch(r"Invalid enum value '(.*)'", message):
        allowed = advice(shape, inner_path, match[1])
    return f"'{member}' {rule_message(message)}{allowed}"
