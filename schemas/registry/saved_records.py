"""Saved records of a website: goals, segments, annotations, money properties, shares, funnels,
aliases, explorations, channels, alerts, boards, reports, statuses of errors, path groups, shields.

Queries use them by id or name. A field is declared here once: the columns of the database, the
bodies of the HTTP interface and the options of the command line are made from these structs.
"""

from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

from schemas.registry.records import OwnedRecord


def _text(description: str, max_length: int = 255, min_length: int = 1) -> Meta:
    return Meta(min_length=min_length, max_length=max_length, description=description)


def _one_of(*texts: str) -> str:
    """The pattern of one of the texts; in Python `$` alone matches before a line break as well."""
    return rf"^({'|'.join(texts)})$(?!\n)"


RecordName = Annotated[str, _text("unique among those of the website")]
EventName = Annotated[str, _text("name of the event")]
FilterList = Annotated[tuple[dict[str, Any], ...], Meta(description="filters as in queries")]


DAY_SECONDS = 86_400


class SavedRecord(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """What all saved records have: their website, and when they were changed."""

    plural: ClassVar[str]
    """The name of the database table, the route and the command."""
    id_prefix: ClassVar[str]
    hidden: ClassVar[tuple[str, ...]] = ()
    """Fields that callers neither set nor see."""
    read_only: ClassVar[tuple[str, ...]] = ()
    """Fields that callers see and do not set."""
    sealed: ClassVar[tuple[str, ...]] = ()
    """Fields that callers set and never see; they are stored sealed."""
    unique_with: ClassVar[str] = "website_id"
    """The field within whose value a name is unique."""

    website_id: str
    created_at: int
    updated_at: int

    @classmethod
    def unseen(cls) -> tuple[str, ...]:
        """Fields that nobody is shown."""
        return (*cls.hidden, *cls.sealed)


class Goal(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """An event or a page that visitors should reach."""

    plural: ClassVar[str] = "goals"
    id_prefix: ClassVar[str] = "goal"

    name: RecordName
    event: EventName | None = None
    path: Annotated[str, _text("path of a page view; * stands for any characters", 2048)] | None = (
        None
    )
    filters: FilterList = ()
    value_property: (
        Annotated[str, _text("property that holds the value, such as properties.total")] | None
    ) = None


class Segment(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """Filters with a name."""

    plural: ClassVar[str] = "segments"
    id_prefix: ClassVar[str] = "seg"

    name: RecordName
    description: Annotated[str, _text("whom it selects", 1000, 0)] | None = None
    filters: FilterList


MAX_PATHS = 20


class PathGroup(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """Pages under one name, by their paths: a value of the dimension `path_group`."""

    plural: ClassVar[str] = "path_groups"
    id_prefix: ClassVar[str] = "pgrp"

    name: RecordName
    paths: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=2048)], ...],
        Meta(
            min_length=1,
            max_length=MAX_PATHS,
            description="paths of its pages; * stands for any characters",
        ),
    ]


class Annotation(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """A note on an instant, a day or a range of them; time series show it."""

    plural: ClassVar[str] = "annotations"
    id_prefix: ClassVar[str] = "note"

    start: Annotated[str, _text("a date (YYYY-MM-DD) or an ISO 8601 instant", 40)]
    end: Annotated[str, _text("inclusive; a date if the start is a date", 40)] | None = None
    text: Annotated[str, _text("what happened", 1000)]
    link: Annotated[str, _text("http or https URL of more about it", 2048, 0)] | None = None


class MoneyProperty(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """A property of an event that holds an amount of money, and its currency."""

    plural: ClassVar[str] = "money"
    id_prefix: ClassVar[str] = "money"

    name: RecordName
    event: EventName
    property: Annotated[str, _text("property that holds the amount, such as properties.total")]
    currency: Annotated[str, _text("code of ISO 4217, such as EUR", 3, 3)] | None = None
    currency_property: (
        Annotated[str, _text("property that holds the currency, such as properties.currency")]
        | None
    ) = None


class Share(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """A link that shows the dashboard of a website to whoever has it, read-only."""

    plural: ClassVar[str] = "shares"
    id_prefix: ClassVar[str] = "shr"
    hidden: ClassVar[tuple[str, ...]] = ("secret_hash",)

    name: RecordName
    filters: FilterList = ()
    """Always apply, whatever is asked."""
    expires: Annotated[str, _text("when the link ends; ISO 8601", 40)] | None = None
    password: Annotated[str, _text("asked before the dashboard is shown", 255, 8)] | None = None
    """The hash of it, once it is stored."""
    frame_origins: Annotated[
        tuple[str, ...], Meta(description="origins of pages that may show it in a frame")
    ] = ()
    secret_hash: Annotated[str, Meta(max_length=64)] = ""
    """Hash of the secret in the link."""


class Funnel(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """Steps that visitors complete in order, with a name: options of the query type `funnel`."""

    plural: ClassVar[str] = "funnels"
    id_prefix: ClassVar[str] = "fun"

    name: RecordName
    steps: Annotated[tuple[dict[str, Any], ...], Meta(description="steps as in queries, 2 to 10")]
    window: Annotated[
        int, Meta(ge=1, le=400 * DAY_SECONDS, description="seconds from the first step to the last")
    ] = 7 * DAY_SECONDS
    by: Annotated[
        str,
        Meta(
            pattern=_one_of("visitor", "session"),
            max_length=7,
            description="who completes the steps",
        ),
    ] = "visitor"
    breakdown: Annotated[str, _text("field by whose values it is split", 2048)] | None = None
    order: Annotated[
        str,
        Meta(
            pattern=_one_of("sequence", "strict"),
            max_length=8,
            description="whether other rows may lie between steps: not if strict",
        ),
    ] = "sequence"
    exclusions: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="steps that may not lie between the others, at most 5"),
    ] = ()


PRODUCTS = (
    "amplitude",
    "cloudevents",
    "ga4",
    "jitsu",
    "matomo",
    "mixpanel",
    "openpanel",
    "otlp",
    "plausible",
    "posthog",
    "rudderstack",
    "segment",
    "snowplow",
    "swetrix",
    "umami",
    "vercel",
)
"""Products whose trackers the collector understands; see `ingest/protocols/`."""


class Alias(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """An id by which trackers of another product name the website; public, like a website id."""

    plural: ClassVar[str] = "aliases"
    id_prefix: ClassVar[str] = "alias"
    unique_with: ClassVar[str] = "product"

    product: Annotated[
        str,
        Meta(
            pattern=_one_of(*PRODUCTS),
            max_length=16,
            description=f"product of the trackers: {', '.join(PRODUCTS)}",
        ),
    ]
    name: Annotated[
        str,
        _text("what its trackers send: a domain, write key, token, measurement or app id"),
    ]
    tee_url: (
        Annotated[
            str,
            _text("address of the product's own server, which gets a copy of each request", 2048),
        ]
        | None
    ) = None


class Exploration(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """A metrics query or a custom query with a name, and how its result is drawn."""

    plural: ClassVar[str] = "explorations"
    id_prefix: ClassVar[str] = "exp"
    read_only: ClassVar[tuple[str, ...]] = ("created_by",)

    name: RecordName
    description: Annotated[str, _text("what it answers", 1000, 0)] | None = None
    metrics_query: (
        Annotated[dict[str, Any], Meta(description="body of POST /v1/query/metrics")] | None
    ) = None
    custom_query: (
        Annotated[dict[str, Any], Meta(description="body of POST /v1/query/custom")] | None
    ) = None
    shape: (
        Annotated[
            str,
            Meta(
                pattern=_one_of("table", "line", "bar", "number"),
                max_length=6,
                description="how it is drawn: table, line, bar or number; without it, as it fits",
            ),
        ]
        | None
    ) = None
    created_by: (
        Annotated[str, _text("name of the API key that created it; null from the command line")]
        | None
    ) = None


CHANNEL_KINDS = ("webhook", "slack", "discord", "teams", "telegram", "ntfy")
"""Products that a channel sends to; see `query/notify/channels.py`."""
BOARD_CARDS = (
    "visitors",
    "pages",
    "sources",
    "countries",
    "devices",
    "events",
    "goals",
)
"""Cards of the overview that a tile of a board may show."""
MAX_TILES = 50
MAX_ALERT_RECIPIENTS, MAX_REPORT_RECIPIENTS, MAX_CHANNELS, MAX_TABLES = 20, 50, 10, 10
ChannelIds = Annotated[
    tuple[str, ...], Meta(max_length=MAX_CHANNELS, description="ids of channels that are told")
]


class Channel(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """An address of another product to which alerts and reports are sent."""

    plural: ClassVar[str] = "channels"
    id_prefix: ClassVar[str] = "chan"
    hidden: ClassVar[tuple[str, ...]] = ("signing_secret",)
    read_only: ClassVar[tuple[str, ...]] = ("host",)
    sealed: ClassVar[tuple[str, ...]] = ("address", "token")

    name: RecordName
    kind: Annotated[
        str,
        Meta(
            pattern=_one_of(*CHANNEL_KINDS),
            max_length=8,
            description=f"what it sends to: {', '.join(CHANNEL_KINDS)}",
        ),
    ]
    address: (
        Annotated[
            str,
            _text("URL that takes the messages, as the product gives it; never shown again", 4096),
        ]
        | None
    ) = None
    token: (
        Annotated[
            str,
            _text("token of the Telegram bot or of ntfy; never shown again", 2048),
        ]
        | None
    ) = None
    chat: Annotated[str, _text("id of the Telegram chat", 255)] | None = None
    host: Annotated[str, Meta(max_length=255, description="host of the address")] = ""
    signing_secret: Annotated[str, Meta(max_length=1024)] = ""
    """Sealed; signs the requests of a webhook."""


class Alert(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """A rule: a query and a condition on its number, checked once for every bucket of time."""

    plural: ClassVar[str] = "alerts"
    id_prefix: ClassVar[str] = "alert"
    read_only: ClassVar[tuple[str, ...]] = ("created_by",)

    name: RecordName
    metrics_query: (
        Annotated[
            dict[str, Any], Meta(description="body of POST /v1/query/metrics; dates have no effect")
        ]
        | None
    ) = None
    custom_query: (
        Annotated[
            dict[str, Any], Meta(description="body of POST /v1/query/custom; dates have no effect")
        ]
        | None
    ) = None
    standard_query: (
        Annotated[
            dict[str, Any],
            Meta(description="body of POST /v1/query with one query type; dates have no effect"),
        ]
        | None
    ) = None
    signal: (
        Annotated[
            str,
            Meta(
                pattern=_one_of("freshness", "rate_limit"),
                max_length=10,
                description="instead of a query: freshness (seconds by which stored data is late) "
                "or rate_limit (percent of the website's requests per minute that are used)",
            ),
        ]
        | None
    ) = None
    column: (
        Annotated[
            str, _text("column of the result that is watched; without it, the first number", 255)
        ]
        | None
    ) = None
    condition: Annotated[
        str,
        Meta(
            pattern=_one_of("above", "below", "rises", "falls", "spike", "drop", "nothing", "new"),
            max_length=7,
            description="above or below the threshold; rises or falls by percent; spike or drop "
            "beyond the usual range of that hour; nothing arrived; new rows",
        ),
    ]
    threshold: (
        Annotated[
            float,
            Meta(
                description="number of above and below; percent of rises and falls (default 50); "
                "usual deviations of spike and drop (default 3)"
            ),
        ]
        | None
    ) = None
    against: Annotated[
        str,
        Meta(
            pattern=_one_of("previous", "week"),
            max_length=8,
            description="what rises and falls compare with: the bucket before (previous), or the "
            "same one a week earlier (week)",
        ),
    ] = "previous"
    every: Annotated[
        str,
        Meta(
            pattern=_one_of("quarter_hour", "hour", "day", "week"),
            max_length=12,
            description="the bucket of time: quarter_hour, hour, day or week",
        ),
    ] = "hour"
    quiet_hours: (
        Annotated[
            str,
            _text(
                "as 22:00-07:00, in the time zone of the website: what fires then is told at the "
                "end",
                11,
            ),
        ]
        | None
    ) = None
    muted_until: (
        Annotated[str, _text("ISO 8601 instant: until then nobody is told; history has it all", 40)]
        | None
    ) = None
    recovery: Annotated[bool, Meta(description="whether to tell when it is over")] = True
    recipients: Annotated[
        tuple[str, ...],
        Meta(max_length=MAX_ALERT_RECIPIENTS, description="e-mail addresses that are told"),
    ] = ()
    channels: ChannelIds = ()
    created_by: Annotated[str, _text("who created it; null from the command line")] | None = None


class BoardTile(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One tile of a board: an exploration, a card of the dashboard, or a text."""

    exploration: Annotated[str, _text("id of a saved exploration", 64)] | None = None
    card: (
        Annotated[
            str,
            Meta(
                pattern=_one_of(*BOARD_CARDS),
                max_length=16,
                description=f"card of the overview: {', '.join(BOARD_CARDS)}",
            ),
        ]
        | None
    ) = None
    text: Annotated[str, _text("plain text, with line breaks", 2_000)] | None = None
    title: Annotated[str, _text("in place of the name of what it shows")] | None = None
    width: Annotated[int, Meta(ge=1, le=3, description="of three columns")] = 1


class Board(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """Explorations, cards and texts on one page, in an order of one's own."""

    plural: ClassVar[str] = "boards"
    id_prefix: ClassVar[str] = "board"
    read_only: ClassVar[tuple[str, ...]] = ("created_by",)

    name: RecordName
    tiles: Annotated[
        tuple[dict[str, Any], ...],
        Meta(max_length=MAX_TILES, description="in their order on the page"),
    ] = ()
    created_by: Annotated[str, _text("who created it; null from the command line")] | None = None


class Report(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """Numbers of a period, sent after its end."""

    plural: ClassVar[str] = "reports"
    id_prefix: ClassVar[str] = "rep"
    read_only: ClassVar[tuple[str, ...]] = ("created_by",)

    name: RecordName
    schedule: Annotated[
        str,
        Meta(
            pattern=_one_of("daily", "weekly", "monthly"),
            max_length=7,
            description="the period, in the time zone of the website: daily, weekly (from Monday) "
            "or monthly",
        ),
    ] = "weekly"
    hour: Annotated[
        int, Meta(ge=0, le=23, description="hour of the day after the period at which it is sent")
    ] = 7
    explorations: Annotated[
        tuple[str, ...],
        Meta(max_length=MAX_TABLES, description="ids of explorations, as tables of the report"),
    ] = ()
    board: (
        Annotated[str, _text("id of a board, whose explorations are tables as well", 64)] | None
    ) = None
    filters: FilterList = ()
    attach: Annotated[
        str,
        Meta(
            pattern=_one_of("none", "csv", "pdf"),
            max_length=4,
            description="file that mails have besides: none, csv or pdf",
        ),
    ] = "none"
    compare: Annotated[bool, Meta(description="whether to compare with the period before")] = True
    paused: Annotated[bool, Meta(description="whether nothing is sent for now")] = False
    recipients: Annotated[
        tuple[str, ...],
        Meta(max_length=MAX_REPORT_RECIPIENTS, description="e-mail addresses that get it"),
    ] = ()
    channels: ChannelIds = ()
    created_by: Annotated[str, _text("who created it; null from the command line")] | None = None


class ErrorStatus(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """That errors of one message pattern and class were resolved, or are ignored.

    They were resolved when the record was changed last, or in the release that it names.
    """

    plural: ClassVar[str] = "error_statuses"
    id_prefix: ClassVar[str] = "errst"
    read_only: ClassVar[tuple[str, ...]] = ("created_by",)

    message: Annotated[str, _text("message of the errors, or their message pattern", 2048, 0)]
    error_type: (
        Annotated[str, _text("class of the errors; without it, those that named none", 128)] | None
    ) = None
    status: Annotated[
        str,
        Meta(
            pattern=_one_of("resolved", "ignored"),
            max_length=8,
            description="resolved or ignored; errors without a record are open",
        ),
    ]
    release: (
        Annotated[str, _text("release in which they were resolved; without it, at once", 64)] | None
    ) = None
    created_by: Annotated[str, _text("who created it; null from the command line")] | None = None


SHIELD_KINDS = ("address", "country", "host", "path", "agent", "referrer")
"""What a shield compares its value with; see `stream/writing/shielded_rows.py`."""


class Shield(SavedRecord, frozen=True, rename="camel", kw_only=True):
    """A rule for what a website does not count: items that match it are dropped."""

    plural: ClassVar[str] = "shields"
    id_prefix: ClassVar[str] = "shld"

    name: RecordName
    kind: Annotated[
        str,
        Meta(
            pattern=_one_of(*SHIELD_KINDS),
            max_length=8,
            description=f"what the value is compared with: {', '.join(SHIELD_KINDS)}",
        ),
    ]
    value: Annotated[
        str,
        _text(
            "a network of /24 (IPv6: /48) or wider, a country code, or a host, path, user agent or "
            "referring domain; * stands for any characters",
            2048,
        ),
    ]


SAVED_RECORDS: tuple[type[SavedRecord], ...] = (
    Goal,
    Segment,
    Annotation,
    MoneyProperty,
    Share,
    Funnel,
    Alias,
    Exploration,
    Channel,
    Alert,
    Board,
    Report,
    ErrorStatus,
    PathGroup,
    Shield,
)
