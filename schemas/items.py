"""Items: what trackers send, with every bound. Wire names are camelCase.

Wire names are camelCase (`anonymousId`) or as trackers of public clients send them; unknown fields
are ignored, and `null` means absent.
"""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Raw, Struct, field

INT32 = 2**31 - 1
INT53 = 2**53 - 1
"""Largest integer that every JSON decoder reads exactly."""

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Id = Annotated[str, Meta(max_length=256)]
Label = Annotated[str, Meta(max_length=64)]
UrlText = Annotated[str, Meta(max_length=2048)]
Title = Annotated[str, Meta(max_length=512)]
CampaignText = Annotated[str, Meta(max_length=256)]
ProfileId = Annotated[str, Meta(max_length=128)]
Count = Annotated[int, Meta(ge=0, le=65_535)]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Percentage = Annotated[float, Meta(ge=0, le=100)]
Milliseconds = Annotated[int, Meta(ge=0, le=60_000)]
NonNegativeInt32 = Annotated[int, Meta(ge=0, le=INT32)]
Metric = Literal["FCP", "LCP", "CLS", "INP", "TTFB", "FPS"]
METRICS: tuple[str, ...] = get_args(Metric)
Timestamp = int | float | str | None
"""Unix milliseconds (fractions are cut) or ISO 8601; absent: the time of receipt."""

MIN_EVENT_TIME_MS = 946_684_800_000
"""2000-01-01: the earliest time of a historical event."""

EMPTY_RAW = Raw(b"")


class Item(Struct, rename="camel", gc=False, kw_only=True):
    """Fields of every kind of item."""

    timestamp: Timestamp = None
    event_id: Annotated[str, Meta(max_length=512)] | None = None
    anonymous_id: Id | None = None
    session_id: Id | None = None
    website_id: Annotated[str, Meta(max_length=255)] | None = None


class CustomEvent(Item, kw_only=True):
    """A custom event, page view (`screen_view`, `pageview`) or outbound click."""

    name: Name
    properties: Raw = EMPTY_RAW
    namespace: Label | None = None
    source: Label | None = None
    profile_id: ProfileId | None = None
    path: UrlText | None = None
    title: Title | None = None
    referrer: UrlText | None = None
    href: UrlText | None = None
    text: UrlText | None = None
    utm_source: CampaignText | None = field(name="utm_source", default=None)
    utm_medium: CampaignText | None = field(name="utm_medium", default=None)
    utm_campaign: CampaignText | None = field(name="utm_campaign", default=None)
    utm_term: CampaignText | None = field(name="utm_term", default=None)
    utm_content: CampaignText | None = field(name="utm_content", default=None)
    language: Label | None = None
    timezone: Label | None = None
    screen_resolution: Label | None = field(name="screen_resolution", default=None)
    viewport_size: Label | None = field(name="viewport_size", default=None)
    time_on_page: Seconds | None = field(name="time_on_page", default=None)
    scroll_depth: Percentage | None = field(name="scroll_depth", default=None)
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
    click_id: Label | None = None
    """Name of the advertising click id, e.g. gclid, from trackers that remove it from the path."""


class ImportedEvent(CustomEvent, kw_only=True):
    """A historical event from an import, with facts that cannot be derived any more."""

    line: Annotated[int, Meta(ge=0, le=INT53)] | None = None
    """Line number in the import file; events of stored lines are skipped when sent again."""
    user_agent: UrlText | None = field(name="user_agent", default=None)
    browser_name: Label | None = field(name="browser_name", default=None)
    browser_version: Label | None = field(name="browser_version", default=None)
    os_name: Label | None = field(name="os_name", default=None)
    os_version: Label | None = field(name="os_version", default=None)
    device_type: Literal["desktop", "mobile", "tablet", "tv"] | None = field(
        name="device_type", default=None
    )
    country: Annotated[str, Meta(pattern="^[A-Z]{2}$")] | None = None
    region: Title | None = None
    city: Title | None = None
    is_bot: bool | None = field(name="is_bot", default=None)


class Vital(Item, kw_only=True):
    """One web vitals measurement."""

    path: UrlText
    timezone: Label | None = None
    metric_name: Metric
    metric_value: Annotated[float, Meta(ge=-1e12, le=1e12)]


class ErrorReport(Item, kw_only=True):
    """One client-side error."""

    message: Annotated[str, Meta(max_length=2048)]
    path: UrlText | None = None
    timezone: Label | None = None
    filename: UrlText | None = None
    lineno: NonNegativeInt32 | None = None
    colno: NonNegativeInt32 | None = None
    stack: Annotated[str, Meta(max_length=16_384)] | None = None
    error_type: Annotated[str, Meta(max_length=128)] | None = None
    level: Label | None = None


class Click(Item, kw_only=True):
    """One click on a short link; the collector creates it."""

    slug: Annotated[str, Meta(max_length=64)]
    referrer: UrlText | None = None


class Engagement(Item, kw_only=True):
    """What a visitor did on one page; sent when the visitor leaves it."""

    path: UrlText
    timezone: Label | None = None
    page_index: Count | None = None
    exit_type: Literal["navigation", "spa", "hidden", "unload"] | None = None
    time_on_page: Seconds | None = None
    active_time: Seconds | None = None
    time_to_first_interaction: Annotated[float, Meta(ge=0, le=86_400_000)] | None = None
    max_scroll_depth: Percentage | None = None
    scroll_count: Count | None = None
    click_count: Count | None = None
    key_count: Count | None = None
    interaction_count: Count | None = None
    copy_count: Count | None = None
    rage_click_count: Count | None = None
    dead_click_count: Count | None = None
    rage_click_target: Id | None = None
    dead_click_target: Id | None = None
    form_field_count: Count | None = None
    form_submit_count: Count | None = None
    last_form_field: Id | None = None
    error_count: Count | None = None


class Identity(Item, kw_only=True):
    """A visitor's profile id in the sender's system, with traits."""

    profile_id: Annotated[str, Meta(min_length=1, max_length=128)]
    traits: Raw = EMPTY_RAW
