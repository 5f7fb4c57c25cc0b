"""JSON in pieces: a long list is encoded a few elements at a time, each piece counted.

A single call of the encoder holds the interpreter for as long as the whole answer takes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from query.response.response_budget import ResponseBudget
from schemas.http.error_bodies import encode_json

CHUNK_ELEMENTS = 500
"""Elements of a list that are encoded together."""


class EncodedJson(Struct, frozen=True):
    """A value as JSON, in pieces."""

    pieces: tuple[bytes, ...]


def encode_within(value: Any, budget: ResponseBudget) -> EncodedJson:
    """The value as JSON, taken from the budget; nothing is taken when it does not fit."""
    return EncodedJson(reserve_pieces(json_pieces(value), budget))


def reserve_pieces(pieces: Iterable[bytes], budget: ResponseBudget) -> tuple[bytes, ...]:
    """The pieces, taken from the budget one by one; all or none."""
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
    """The JSON of a value: of objects member by member, of what is encoded already as it is."""
    if isinstance(value, EncodedJson):
        yield from value.pieces
    elif isinstance(value, Mapping):
        mark = b"{"
        for name, member in value.items():
            yield mark + encode_json(name) + b":"
            yield from json_pieces(member)
            mark = b","
        yield b"}" if value else b"{}"
    elif isinstance(value, list) and value and isinstance(value[0], EncodedJson):
        yield b"["
        for i, element in enumerate(value):
            yield b"," if i else b""
            yield from json_pieces(element)
        yield b"]"
    elif isinstance(value, list | tuple) and len(value) > CHUNK_ELEMENTS:
        for start in range(0, len(value), CHUNK_ELEMENTS):
            mark = b"," if start else b"["
            yield mark + encode_json(value[start : start + CHUNK_ELEMENTS])[1:-1]
        yield b"]"
    else:
        yield encode_json(value)
