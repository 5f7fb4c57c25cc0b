"""What a command printed and how it ended."""

from collections.abc import Callable

from msgspec import Struct


class Done(Struct, frozen=True):
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]
