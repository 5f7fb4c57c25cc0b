"""JSON responses; long lists are encoded in pieces within the budget.

A single call of the encoder would hold the interpreter lock for the whole response.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import UNSET, Struct, structs
from starlette.responses import Response

from query.response.response_budget import ResponseBudget
from schemas.http.error_bodies import encode_json

ELEMENTS_PER_PIECE = 500
"""Elements of a list that are encoded together."""


def json_response(body: object, status: int = 200) -> Response:
    """A small value as a JSON response."""
    return Response(encode_json(body), status, media_type="application/json")


class EncodedJson(Struct, frozen=True):
    """An encoded value, in pieces."""

    pieces: tuple[bytes, ...]


def encode_within(value: Any, budget: ResponseBudget) -> EncodedJson:
    """Encode a value within the budget; nothing is reserved if it does not fit."""
    return EncodedJson(reserve_pieces(json_pieces(value), budget))


def reserve_pieces(pieces: Iterable[bytes], budget: ResponseBudget) -> tuple[bytes, ...]:
    """Reserve the budget for the pieces one by one; all or none."""
    taken: list[bytes] = []
    try:
        for piece in pieces:
            budget.reserve(len(piece))
            taken.append(piece)
    except BaseException:
        budget.release(sum(map(len, taken)))
        raise
    return tuple(taken)


def json_pieces(value: Any) -> Iterator[bytes]:
    """The JSON of a value: objects and structs by member, encoded parts unchanged."""
    if isinstance(value, EncodedJson):
        yield from value.pieces
    elif isinstance(value, Struct):
        yield from json_pieces(_members(value))
    elif isinstance(value, Mapping):
        separator = b"{"
        for name, member in value.items():
            yield separator + encode_json(name) + b":"
            yield from json_pieces(member)
            separator = b","
        yield b"}" if value else b"{}"
    elif isinstance(value, list) and value and isinstance(value[0], EncodedJson):
        yield b"["
        for i, element in enumerate(value):
            yield b"," if i else b""
            yield from json_pieces(element)
        yield b"]"
    elif isinstance(value, list | tuple) and len(value) > ELEMENTS_PER_PIECE:
        for start in range(0, len(value), ELEMENTS_PER_PIECE):
            separator = b"," if start else b"["
            yield separator + encode_json(value[start : start + ELEMENTS_PER_PIECE])[1:-1]
        yield b"]"
    else:
        yield encode_json(value)


def _members(value: Struct) -> Mapping[str, Any]:
    """The members of a struct under their JSON names, without those that are unset."""
    named = ((encoded, getattr(value, name)) for encoded, name in _names(type(value)))
    return {name: member for name, member in named if member is not UNSET}


@cache
def _names(kind: type[Struct]) -> Sequence[tuple[str, str]]:
    """The JSON names and names of the members; msgspec evaluates annotations to tell them."""
    return [(field.encode_name, field.name) for field in structs.fields(kind)]


def uncached(response: Response) -> Response:
    """The response, which nobody may store: it has a secret, or depends on who is signed in."""
    response.headers["cache-control"] = "no-store"
    return response
