"""JSON in pieces: a long list is encoded a few elements at a time, each piece counted.

A single call of the encoder holds the interpreter for as long as the whole answer takes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from query.response.response_budget import AnswerBudget
from schemas.http.error_bodies import encode

PORTION = 500
"""Elements of a list that are encoded together."""


class Encoded(Struct, frozen=True):
    """A value as JSON, in pieces."""

    pieces: tuple[bytes, ...]


def encoded(value: Any, budget: AnswerBudget) -> Encoded:
    """The value as JSON, taken from the budget; nothing is taken when it does not fit."""
    return Encoded(counted(pieces_of(value), budget))


def counted(pieces: Iterable[bytes], budget: AnswerBudget) -> tuple[bytes, ...]:
    """The pieces, taken from the budget one by one; all or none."""
    taken: list[bytes] = []
    try:
        for piece in pieces:
            budget.take(len(piece))
            taken.append(piece)
    except BaseException:
        budget.give_back(sum(map(len, taken)))
        raise
    return tuple(taken)


def pieces_of(value: Any) -> Iterator[bytes]:
    """The JSON of a value: of objects member by member, of what is encoded already as it is."""
    if isinstance(value, Encoded):
        yield from value.pieces
    elif isinstance(value, Mapping):
        mark = b"{"
        for name, member in value.items():
            yield mark + encode(name) + b":"
            yield from pieces_of(member)
            mark = b","
        yield b"}" if value else b"{}"
    elif isinstance(value, list) and value and isinstance(value[0], Encoded):
        yield b"["
        for i, element in enumerate(value):
            yield b"," if i else b""
            yield from pieces_of(element)
        yield b"]"
    elif isinstance(value, list | tuple) and len(value) > PORTION:
        for start in range(0, len(value), PORTION):
            mark = b"," if start else b"["
            yield mark + encode(value[start : start + PORTION])[1:-1]
        yield b"]"
    else:
        yield encode(value)
