"""Custom events, page views and outbound clicks."""

from typing import Annotated, Literal

from msgspec import Meta, Raw, field

from schemas.items import (
    EMPTY_RAW,
    INT53,
    CampaignText,
    Item,
    Label,
    Milliseconds,
    Name,
    Percentage,
    ProfileId,
    Seconds,
    Title,
    UrlText,
)
from schemas.tables.column import (
    BOT_COLUMNS,
    DAY_COLUMN,
    EPOCH_COLUMN,
    LOCATION_COLUMNS,
    PAGE_COLUMNS,
    TIME_ORDER,
    TRUSTED_COLUMN,
    USER_AGENT_COLUMNS,
    WEBSITE_ROW_COLUMNS,
    Column,
    ColumnType,
    Table,
)
from schemas.tables.item_kind import Kind


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
    interactive: bool | None = None
    """False for an event that is no interaction, as an impression: it does not end a bounce."""


class ImportedEvent(CustomEvent, kw_only=True):
    """A historical event from an import, with facts that cannot be derived any more."""

    line: Annotated[int, Meta(ge=0, le=INT53)] | None = None
    """Line number in the import file; events of stored lines are skipped when sent again."""
    user_agent: Annotated[str, Meta(max_length=2048)] | None = field(
        name="user_agent", default=None
    )
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


EVENTS = Table(
    name="events",
    columns=(
        *WEBSITE_ROW_COLUMNS,
        Column(
            "session_made",
            ColumnType.BOOLEAN,
            "whether session_id was derived from pauses of 30 minutes",
        ),
        Column(
            "name", ColumnType.STRING, "name of the event; screen_view and pageview are page views"
        ),
        Column("namespace", ColumnType.STRING, "grouping label of the event"),
        Column("source", ColumnType.STRING, "tracker or application, as sent"),
        Column("profile_id", ColumnType.STRING, "profile id in the sender's system"),
        Column(
            "properties",
            ColumnType.STRING,
            "free-form properties, as JSON text with one spelling for each value",
        ),
        *PAGE_COLUMNS,
        Column("title", ColumnType.STRING, "title of the page"),
        Column("referrer", ColumnType.STRING, "referring URL without query, or Direct"),
        Column("referrer_name", ColumnType.STRING, "name of the referrer, e.g. Google, or Direct"),
        Column(
            "referrer_type", ColumnType.STRING, "type of the referrer, e.g. search, direct, other"
        ),
        Column(
            "channel",
            ColumnType.STRING,
            "traffic channel, e.g. Organic Search; rules in stream/REFERENCE.md",
        ),
        Column("utm_source", ColumnType.STRING, "campaign parameter"),
        Column("utm_medium", ColumnType.STRING, "campaign parameter"),
        Column("utm_campaign", ColumnType.STRING, "campaign parameter"),
        Column("utm_term", ColumnType.STRING, "campaign parameter"),
        Column("utm_content", ColumnType.STRING, "campaign parameter"),
        Column("click_id", ColumnType.STRING, "name of the click id on the URL, e.g. gclid"),
        *USER_AGENT_COLUMNS,
        *LOCATION_COLUMNS,
        Column("language", ColumnType.STRING, "language tag of the browser"),
        Column("timezone", ColumnType.STRING, "time zone of the browser"),
        Column("screen_resolution", ColumnType.STRING, "WxH"),
        Column("viewport_size", ColumnType.STRING, "WxH"),
        Column(
            "time_on_page", ColumnType.DECIMAL, "visible seconds, when the tracker reports them"
        ),
        Column("scroll_depth", ColumnType.DECIMAL, "percent of the page seen, when reported"),
        Column(
            "interaction_count", ColumnType.INTEGER, "clicks and keys on the page, when reported"
        ),
        Column("page_count", ColumnType.INTEGER, "pages of the session so far, when reported"),
        Column("load_time", ColumnType.INTEGER, "milliseconds until the page was loaded"),
        Column("dom_ready_time", ColumnType.INTEGER, "milliseconds until its document was ready"),
        Column("dom_interactive", ColumnType.INTEGER, "milliseconds until it could be used"),
        Column("ttfb", ColumnType.INTEGER, "milliseconds until the first byte"),
        Column("request_time", ColumnType.INTEGER, "milliseconds of the request"),
        Column("render_time", ColumnType.INTEGER, "milliseconds of rendering"),
        Column("connection_type", ColumnType.STRING, "network type, e.g. 4g, when reported"),
        Column("href", ColumnType.STRING, "target of an outbound click"),
        Column("link_text", ColumnType.STRING, "text of the clicked link"),
        Column(
            "outbound_domain",
            ColumnType.STRING,
            "host of the target, or mailto: and the like; outbound clicks only",
        ),
        Column(
            "interactive",
            ColumnType.BOOLEAN,
            "false: no interaction, does not end a bounce; NULL is true",
        ),
        *BOT_COLUMNS,
        Column("import_id", ColumnType.STRING, "import that brought it, if one did"),
        TRUSTED_COLUMN,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)

CUSTOM_EVENT = Kind(
    name="custom_event",
    description="custom events, page views, outbound clicks",
    path="/track",
    item=CustomEvent,
    topic="events",
    table=EVENTS,
    examples={
        "one event": {
            "name": "signup",
            "properties": {"plan": "pro"},
            "anonymousId": "a1",
            "sessionId": "s1",
        },
        "a page view and an outbound click": [
            {"name": "screen_view", "path": "https://shop.example/", "sessionId": "s1"},
            {"name": "outbound_click", "href": "https://x.example/", "text": "more"},
        ],
    },
)

IMPORTED_EVENT = Kind(
    name="import",
    description="historical events",
    path="/import",
    item=ImportedEvent,
    topic="backfill",
    table=EVENTS,
)
"""Historical events; they have a topic and a worker of their own, to delay no live items."""
