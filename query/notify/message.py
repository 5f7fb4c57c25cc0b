"""Message: what people are told, before it has the form of a channel or a mail."""

from typing import Any

from msgspec import Struct


class Fact(Struct, frozen=True):
    """One line `Label: value`."""

    label: str
    value: str


class Message(Struct, frozen=True):
    """What a channel or a mail tells: all texts are plain text of one line."""

    event: str
    """fired, recovered, test or report."""
    title: str
    """As `Errors above 10 on shop.example`."""
    sentence: str
    """As `14 errors from 09:00 to 10:00; the bound is 10.`"""
    facts: tuple[Fact, ...]
    link: str
    """Page with more."""
    website: str
    """Its domain."""
    data: dict[str, Any]
    """Members of a webhook's body (JSON), with `type` as `alert.fired`."""
    occurred_at: int
    """Unix milliseconds."""
