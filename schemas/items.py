"""Item: the fields of every kind of item, and the bounds that kinds share.

Wire names are camelCase (`anonymousId`) or as trackers of public clients send them; unknown fields
are ignored, and `null` means absent.
"""

from functools import cache
from typing import Annotated, get_args

from msgspec import Meta, Raw, Struct, structs

INT32 = 2**31 - 1
INT53 = 2**53 - 1
"""Largest integer that every JSON decoder reads exactly."""

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Id = Annotated[str, Meta(max_length=256)]
Label = Annotated[str, Meta(max_length=64)]
UrlText = Annotated[str, Meta(max_length=65_536)]
"""As long as an item may be, as campaign parameters may stand behind much else; of the parts that
are stored, 2,048 characters are."""
Title = Annotated[str, Meta(max_length=512)]
CampaignText = Annotated[str, Meta(max_length=256)]
ProfileId = Annotated[str, Meta(max_length=128)]
Count = Annotated[int, Meta(ge=0, le=65_535)]
DAY_SECONDS = 86_400
Seconds = Annotated[float, Meta(ge=0, le=DAY_SECONDS)]
"""Time on a page; the collector cuts longer times, as of a tab that was open for days."""
Percentage = Annotated[float, Meta(ge=0, le=100)]
Milliseconds = Annotated[int, Meta(ge=0, le=60_000)]
NonNegativeInt32 = Annotated[int, Meta(ge=0, le=INT32)]
Timestamp = int | float | str | None
"""Unix milliseconds (fractions are cut) or ISO 8601; absent: the time of receipt."""

MIN_EVENT_TIME_MS = 946_684_800_000
"""2000-01-01: the earliest time of a historical event."""

EMPTY_RAW = Raw(b"")


class Item(Struct, rename="camel", gc=False, kw_only=True):
    """Fields of every kind of item."""

    timestamp: Timestamp = None
    sent_at: Timestamp = None
    """The sender's clock when the request was sent; shows how far it is ahead or behind."""
    event_id: Annotated[str, Meta(max_length=512)] | None = None
    anonymous_id: Id | None = None
    session_id: Id | None = None
    website_id: Annotated[str, Meta(max_length=255)] | None = None
    consent: bool | None = None
    """Whether the visitor agreed to ids; read where the website requires consent, not stored."""


@cache
def duration_fields(item: type[Item]) -> tuple[str, ...]:
    """The names, as sent, of the fields with a time on a page: those of type Seconds."""
    return tuple(f.encode_name for f in structs.fields(item) if Seconds in get_args(f.type))


@cache
def object_fields(item: type[Item]) -> tuple[str, ...]:
    """The fields that hold any JSON object: those of type Raw."""
    return tuple(field.name for field in structs.fields(item) if field.type is Raw)
