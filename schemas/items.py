"""What trackers send: the items of interface 2.5 to 2.7, and the click that a redirect records.

Wire names are the contract's (`anonymousId`); unknown fields are ignored. Fields beyond the
contract are what page views and outbound clicks need. `null` means absent.
"""

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct, field

INT32 = 2**31 - 1

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Id = Annotated[str, Meta(max_length=256)]
Label = Annotated[str, Meta(max_length=64)]
Url = Annotated[str, Meta(max_length=2048)]
Title = Annotated[str, Meta(max_length=512)]
Campaign = Annotated[str, Meta(max_length=256)]
Milliseconds = Annotated[int, Meta(ge=0, le=60_000)]
Position = Annotated[int, Meta(ge=0, le=INT32)]
When = int | float | str | None
"""Unix milliseconds (a fraction is cut) or ISO 8601; absent: the time of receipt."""

NO_PROPERTIES = Raw(b"")


class Item(Struct, rename="camel", gc=False, kw_only=True):
    """What every kind of item may carry."""

    timestamp: When = None
    event_id: Annotated[str, Meta(max_length=512)] | None = None
    anonymous_id: Id | None = None
    session_id: Id | None = None
    website_id: Annotated[str, Meta(max_length=255)] | None = None


class CustomEvent(Item, kw_only=True):
    """A custom event, page view (`screen_view`, `pageview`) or outbound click (interface 2.5)."""

    name: Name
    properties: Raw = NO_PROPERTIES
    namespace: Label | None = None
    source: Label | None = None
    profile_id: Annotated[str, Meta(max_length=128)] | None = None
    path: Url | None = None
    title: Title | None = None
    referrer: Url | None = None
    href: Url | None = None
    text: Url | None = None
    utm_source: Campaign | None = field(name="utm_source", default=None)
    utm_medium: Campaign | None = field(name="utm_medium", default=None)
    utm_campaign: Campaign | None = field(name="utm_campaign", default=None)
    utm_term: Campaign | None = field(name="utm_term", default=None)
    utm_content: Campaign | None = field(name="utm_content", default=None)
    language: Label | None = None
    timezone: Label | None = None
    screen_resolution: Label | None = field(name="screen_resolution", default=None)
    viewport_size: Label | None = field(name="viewport_size", default=None)
    time_on_page: Annotated[float, Meta(ge=0, le=86_400)] | None = field(
        name="time_on_page", default=None
    )
    scroll_depth: Annotated[float, Meta(ge=0, le=100)] | None = field(
        name="scroll_depth", default=None
    )
    interaction_count: Annotated[int, Meta(ge=0, le=10_000)] | None = field(
        name="interaction_count", default=None
    )
    page_count: Annotated[int, Meta(ge=0, le=1_000)] | None = field(name="page_count", default=None)
    load_time: Milliseconds | None = field(name="load_time", default=None)
    dom_ready_time: Milliseconds | None = field(name="dom_ready_time", default=None)
    dom_interactive: Milliseconds | None = field(name="dom_interactive", default=None)
    ttfb: Milliseconds | None = field(name="ttfb", default=None)
    request_time: Milliseconds | None = field(name="request_time", default=None)
    render_time: Milliseconds | None = field(name="render_time", default=None)
    connection_type: Label | None = field(name="connection_type", default=None)


class Vital(Item, kw_only=True):
    """One web vitals measurement (interface 2.6)."""

    path: Url
    metric_name: Literal["FCP", "LCP", "CLS", "INP", "TTFB", "FPS"]
    metric_value: Annotated[float, Meta(ge=-1e12, le=1e12)]


class ErrorReport(Item, kw_only=True):
    """One client-side error (interface 2.7)."""

    message: Annotated[str, Meta(max_length=2048)]
    path: Url | None = None
    filename: Url | None = None
    lineno: Position | None = None
    colno: Position | None = None
    stack: Annotated[str, Meta(max_length=16_384)] | None = None
    error_type: Annotated[str, Meta(max_length=128)] | None = None
    level: Label | None = None


class Click(Item, kw_only=True):
    """One click on a short link, made by the collector itself."""

    slug: Annotated[str, Meta(max_length=64)]
    referrer: Url | None = None
