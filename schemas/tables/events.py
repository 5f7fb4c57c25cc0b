"""Custom events, page views and outbound clicks."""

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
        Column("properties", ColumnType.STRING, "free-form properties, as JSON text"),
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
        *BOT_COLUMNS,
        Column("import_id", ColumnType.STRING, "import that brought it, if one did"),
        TRUSTED_COLUMN,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)
