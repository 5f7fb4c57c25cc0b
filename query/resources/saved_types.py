"""SAVED_TYPES: bodies, examples and texts of goals, segments and the other saved records.

The bodies are made from the fields of the records, so that a field is declared once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType
from msgspec.structs import FieldInfo

from query.custom.request import CustomRequest
from query.metrics.request import MetricsRequest
from query.request.body import convert
from query.request.filters import Filter
from query.resources.alert_state import ShownState
from query.resources.report_state import ReportState
from query.resources.saved_validation import check_channel, validate_record
from query.response.bodies import response_types
from query.standard.request import StandardRequestBody
from query.standard.sql.steps import Step
from schemas.errors import Malformed
from schemas.registry import (
    Alert,
    Alias,
    Annotation,
    Board,
    Channel,
    ErrorStatus,
    Exploration,
    Funnel,
    Goal,
    KeyScope,
    MoneyProperty,
    PathGroup,
    Report,
    SavedRecord,
    Segment,
    Share,
    Shield,
    Website,
)
from schemas.registry.channel_secrets import seal_channel_fields, with_signing_secret
from schemas.registry.ids import random_id
from schemas.registry.passwords import hash_password
from schemas.registry.record_mapping import kind_name
from schemas.registry.saved_records import MAX_TILES, BoardTile
from schemas.registry.share_links import with_new_link
from schemas.runtime.clock import format_instant

WEBHOOK = "webhook"
INSTANTS = ("created_at", "updated_at")
WIRE_LISTS: Mapping[str, Any] = {
    "filters": list[Filter],
    "steps": list[Step],
    "exclusions": list[Step],
    "tiles": Annotated[list[BoardTile], Meta(max_length=MAX_TILES)],
}
"""Fields that are lists of structs on the wire, and builtins in the record."""
QUERIES: Mapping[str, Any] = {
    "metrics_query": MetricsRequest,
    "custom_query": CustomRequest,
    "standard_query": StandardRequestBody,
}
"""Fields that are a body of a query on the wire, and its members in the record."""
OF_ANALYSTS = (
    *(Goal, Segment, Annotation, Funnel, Exploration, Alert, Board, Report),
    *(ErrorStatus, PathGroup),
)
"""Records that change how data is read, or who is told: `write:records` is enough to write them."""
PATH_MEANING = Meta(description="path of the page, with its secret; only when it is created")
SECRET_MEANING = Meta(description="verifies requests of a webhook; only when it is created")
SHOWN_ONCE: Mapping[type[SavedRecord], tuple[str, Any]] = {
    Share: ("path", Annotated[str, PATH_MEANING] | UnsetType),
    Channel: ("secret", Annotated[str, SECRET_MEANING] | UnsetType),
}
"""What only the response that creates a record shows."""
SHOWN_BESIDE: Mapping[type[SavedRecord], tuple[str, Any]] = {
    Alert: ("state", ShownState | UnsetType),
    Report: ("state", ReportState | UnsetType),
}
"""What lists and the response of one record show besides."""


class SavedType(Struct, frozen=True):
    """One class of saved records, as the HTTP interface shows it."""

    record: type[SavedRecord]
    description: str
    example: Mapping[str, object]
    """A body that creates one."""
    changes: Mapping[str, object]
    """A body that updates one."""
    opens_data: bool = False
    """Whether a record lets others read data, so that writing one needs the right to read it."""
    names_people: bool = False
    """Whether a record has addresses, which those read who may write alerts."""

    @property
    def scopes(self) -> Sequence[KeyScope]:
        """Of which a key needs one to write records."""
        is_of_analysts = self.record in OF_ANALYSTS
        return (*((KeyScope.WRITE_RECORDS,) if is_of_analysts else ()), KeyScope.MANAGE_WEBSITES)

    @property
    def also(self) -> Sequence[KeyScope]:
        """What it needs besides."""
        return (KeyScope.READ_DATA,) if self.opens_data else ()

    @property
    def path(self) -> str:
        """The path of the list."""
        return f"/v1/{self.record.plural}"

    @property
    def word(self) -> str:
        """The name of one in messages."""
        return kind_name(self.record)

    @property
    def words(self) -> str:
        """The name of several."""
        is_money = self.record is MoneyProperty
        return "money properties" if is_money else self.record.plural.replace("_", " ")

    @property
    def a_word(self) -> str:
        """`a goal`, `an annotation`."""
        return f"{'an' if self.word[0] in 'aeiou' else 'a'} {self.word}"

    @property
    def named(self) -> bool:
        """Whether its records have names."""
        return "name" in self.record.__struct_fields__

    @property
    def fields(self) -> Sequence[FieldInfo]:
        """The fields that callers set."""
        fields = msgspec.structs.fields(self.record)
        record = self.record
        inner = (*SavedRecord.__struct_fields__, *record.hidden, *record.read_only)
        return [field for field in fields if field.name not in inner]

    @property
    def bodies(self) -> "SavedBodies":
        """The types of its requests and responses."""
        return BODIES[self.record]


class SavedBodies(Struct, frozen=True):
    """Types of the bodies of one class of saved records."""

    new: Any
    changes: Any
    response: Any
    page: Any


SAVED_TYPES = (
    SavedType(
        Goal,
        "An event, or a page view of a path in which `*` stands for any characters, with filters "
        "like those of queries.",
        {
            "name": "Big purchase",
            "event": "purchase",
            "filters": [{"field": "properties.total", "operator": "gte", "value": 100}],
            "valueProperty": "properties.total",
        },
        {"event": None, "path": "/order/*/done", "filters": []},
    ),
    SavedType(
        Segment,
        "Filters with a name, of columns of one table.",
        {
            "name": "Phones in Germany",
            "filters": [
                {"field": "device_type", "operator": "eq", "value": "mobile"},
                {"field": "country", "operator": "eq", "value": "DE"},
            ],
        },
        {"description": "all phones", "filters": [{"field": "device_type", "op": "is_not_null"}]},
    ),
    SavedType(
        Annotation,
        "A note on an instant, a day, or a range of days or instants with both ends inclusive. "
        "A day is one of the time zone of the query that shows it.",
        {"start": "2026-11-20", "end": "2026-11-27", "text": "Autumn campaign"},
        {"link": "https://shop.example/autumn"},
    ),
    SavedType(
        MoneyProperty,
        "The property of an event that holds an amount of money, and its currency: a code of "
        "ISO 4217, or the property that holds one.",
        {
            "name": "Revenue",
            "event": "purchase",
            "property": "properties.total",
            "currency": "EUR",
        },
        {"currency": None, "currencyProperty": "properties.currency"},
    ),
    SavedType(
        Share,
        "A read-only link to the dashboard of the website. The response that creates it has the "
        "`path` of its page, with a secret that is not shown again.",
        {
            "name": "For the agency",
            "filters": [{"field": "visit.utm_source", "operator": "eq", "value": "agency"}],
            "expires": "2027-01-01T00:00:00Z",
            "frameOrigins": ["https://agency.example"],
        },
        {"password": "correct horse battery", "expires": None},
        opens_data=True,
    ),
    SavedType(
        Funnel,
        "Steps that visitors complete in order, with the options of the query type `funnel`. The "
        "dashboard lists it by its name; its steps are those of a query.",
        {
            "name": "Sign-up",
            "steps": [{"path": "/pricing"}, {"event": "signup"}],
            "window": 86_400,
            "by": "session",
            "order": "strict",
            "exclusions": [{"event": "logout"}],
        },
        {"steps": [{"path": "/"}, {"path": "/pricing"}, {"event": "signup"}]},
    ),
    SavedType(
        Alias,
        "The id by which trackers of another product name the website. Requests of these trackers "
        "with it are stored for the website, as with its website id. An alias belongs to one "
        "website of the deployment.",
        {"product": "plausible", "name": "shop.example"},
        {"name": "www.shop.example"},
    ),
    SavedType(
        Exploration,
        "A body of `POST /v1/query/metrics` or `POST /v1/query/custom` with a name. Each is "
        "validated as its endpoint does; goals, segments and money properties that it names are "
        "looked up when it is asked. The dashboard draws it as `shape` says.",
        {
            "name": "Bounce rate by entry page",
            "metricsQuery": {
                "metrics": ["visits", "bounce_rate"],
                "dimensions": ["visit.entry_page"],
                "limit": 20,
            },
            "shape": "table",
        },
        {"description": "which landing pages fail", "shape": "bar"},
    ),
    SavedType(
        Channel,
        "An address to which alerts and reports are sent: a webhook of your own, or one of Slack, "
        "Discord, Teams, Telegram or ntfy. Address and token are stored encrypted and are never "
        "shown again. Requests to a webhook are signed (Standard Webhooks); the response that "
        "creates it has the `secret`.",
        {
            "name": "Team chat",
            "kind": "slack",
            "address": "https://hooks.slack.com/services/T0/B0/secret",
        },
        {"name": "Chat of the shop team"},
        opens_data=True,
        names_people=True,
    ),
    SavedType(
        Alert,
        "A query and a condition on its number, which is checked once for every bucket of time, "
        "as soon as all events until its end are stored. When the condition begins to hold, "
        "recipients and channels are told, once; when it holds no more, again. `nothing` without "
        "a query watches all events of the website.",
        {
            "name": "Many errors",
            "metricsQuery": {"metrics": ["errors"]},
            "condition": "above",
            "threshold": 10,
            "every": "hour",
            "recipients": ["ops@shop.example"],
        },
        {"threshold": 20, "mutedUntil": "2026-12-24T00:00:00.000Z"},
        opens_data=True,
        names_people=True,
    ),
    SavedType(
        Board,
        "A page of tiles in an order of one's own: saved explorations, cards of the overview and "
        "texts. The dashboard draws it; a report may name it.",
        {
            "name": "Checkout",
            "tiles": [
                {"text": "What the checkout team looks at on Mondays", "width": 3},
                {"card": "visitors", "width": 2},
                {"card": "goals"},
            ],
        },
        {"tiles": [{"card": "sources", "title": "Where they come from", "width": 3}]},
    ),
    SavedType(
        Report,
        "Numbers of a day, a week or a month, sent to recipients and channels after its end: an "
        "overview, and explorations as tables. Each mail has a link by which its recipient "
        "unsubscribes.",
        {
            "name": "Weekly numbers",
            "schedule": "weekly",
            "hour": 8,
            "attach": "pdf",
            "recipients": ["team@shop.example"],
        },
        {"paused": True},
        opens_data=True,
        names_people=True,
    ),
    SavedType(
        ErrorStatus,
        "That errors of a message pattern and class were resolved or are ignored; of several "
        "records the newest holds. The query type `error_changes` has the status of each group. A "
        "resolved group with an error after `updatedAt` came back; where `release` is named, with "
        "one in that release or in one that was first seen later.",
        {
            "message": "Cannot load order #",
            "errorType": "TypeError",
            "status": "resolved",
            "release": "2.4.1",
        },
        {"status": "ignored", "release": None},
    ),
    SavedType(
        PathGroup,
        "Pages under one name, by paths in which `*` stands for any characters. The dimension and "
        "filter field `path_group` has, for each row, the name of the first group with its path: "
        "the oldest group comes first.",
        {"name": "Blog", "paths": ["/blog", "/blog/*"]},
        {"paths": ["/blog", "/blog/*", "/news/*"]},
    ),
    SavedType(
        Shield,
        "A rule for what the website does not count. Items received after it was saved that match "
        "it are answered as any, dropped and counted in the ledger, under the drop reason `shield` "
        "and its id. Imports, and what is stored already, stay.",
        {"name": "Office", "kind": "address", "value": "203.0.113.0/24"},
        {"name": "Staging", "kind": "host", "value": "*.staging.shop.example"},
    ),
)  # fmt: skip


def new_record(
    record_type: type[SavedRecord],
    website: Website,
    body: Struct,
    now_ms: int,
    secret: bytes,
    creator: str = "",
) -> SavedRecord:
    """A new record of the website from a body that creates one; Malformed.

    `secret` seals what is never shown again; `creator` is the name of the API key.
    """
    signed = {"created_by": creator or None} if "created_by" in record_type.read_only else {}
    record = record_type(
        id=f"{record_type.id_prefix}_{random_id(12)}",
        organization_id=website.organization_id,
        website_id=website.id,
        created_at=now_ms,
        updated_at=now_ms,
        **signed,
        **given_fields(body, secret),
    )
    record = validate_record(record)
    check_channel(record, secret)
    return record


def changed_record(before: SavedRecord, record: SavedRecord, secret: bytes) -> SavedRecord:
    """The updated record, validated; Malformed."""
    if isinstance(record, Channel) and isinstance(before, Channel):
        if record.kind != before.kind:
            raise Malformed(f"'kind' is '{before.kind}' and cannot change; create another channel")
        is_moved = record.address != before.address  # what is given is sealed differently
        if is_moved and record.token is not None and record.token == before.token:
            raise Malformed(
                "'token' is missing: a new 'address' needs the token of the channel anew, or null"
            )
    record = validate_record(record)
    check_channel(record, secret)
    return record


def with_secret(record: SavedRecord, secret: bytes) -> tuple[SavedRecord, Mapping[str, str]]:
    """The record as it is stored, and what only the response that creates it shows."""
    if isinstance(record, Share):
        share, path = with_new_link(record)
        return share, {"path": path}
    if isinstance(record, Channel) and record.kind == WEBHOOK:
        channel, signing_secret = with_signing_secret(record, secret)
        return channel, {"secret": signing_secret}
    return record, {}


def convert_body(shape: Any, members: Mapping[str, object]) -> Struct:
    """Members by their wire names as a body; Malformed."""
    body: Struct = convert(members, shape, "")
    return body


def description_of(field: FieldInfo) -> str:
    """What a field means, as OpenAPI describes it."""
    described: Any = msgspec.inspect.type_info(field.type)
    options = getattr(described, "types", (described,))
    texts = (getattr(option, "extra_json_schema", None) or {} for option in options)
    return next((text["description"] for text in texts if "description" in text), "")


def given_fields(body: Struct, secret: bytes) -> dict[str, Any]:
    """The fields that a body gives, as the record has them; `secret` seals those of a channel."""
    given = {name: v for name, v in msgspec.structs.asdict(body).items() if v is not UNSET}
    for name in WIRE_LISTS:
        if name in given:
            given[name] = tuple(msgspec.to_builtins(given[name]))
    for name in QUERIES:
        if name in given:
            given[name] = msgspec.to_builtins(given[name])
    if given.get("password") is not None:
        given["password"] = hash_password(given["password"])
    if isinstance(body, CHANNEL_BODIES):
        return seal_channel_fields(given, secret)
    return given


def resource(record: SavedRecord) -> dict[str, Any]:
    """A record as responses show it: instants as ISO 8601, of a password whether there is one."""
    shown: dict[str, Any] = msgspec.to_builtins(record)
    for field in msgspec.structs.fields(record):
        if field.name in record.unseen():
            del shown[field.encode_name]
    if "password" in shown:
        shown["password"] = shown["password"] is not None
    for name in ("createdAt", "updatedAt"):
        shown[name] = format_instant(shown[name])
    return shown


def _bodies(saved: SavedType) -> SavedBodies:
    name, own = saved.record.__name__, saved.fields
    fields = msgspec.structs.fields(saved.record)
    shown = [_shown(field) for field in fields if field.name not in saved.record.unseen()]
    if saved.record in SHOWN_ONCE:
        shown.append((*SHOWN_ONCE[saved.record], UNSET))
    if saved.record in SHOWN_BESIDE:
        shown.append((*SHOWN_BESIDE[saved.record], UNSET))
    data = _define(f"{name}Resource", saved.record.__doc__, shown)
    one, page = response_types(name, saved.word, saved.words, data)
    updates = f"The body that updates {saved.a_word}: absent fields stay, null clears a field."
    return SavedBodies(
        new=_define(f"New{name}", f"The body that creates {saved.a_word}.", map(_new, own), True),
        changes=_define(f"{name}Changes", updates, map(_change, own), True),
        response=one,
        page=page,
    )


def _define(name: str, doc: str | None, fields: Iterable[Any], sent: bool = False) -> Any:
    """A type; one that callers send has no other members."""
    return msgspec.defstruct(
        name,
        list(fields),
        frozen=True,
        kw_only=True,
        rename="camel",
        forbid_unknown_fields=sent,
        namespace={"__doc__": doc},
    )


def _shown(field: FieldInfo) -> tuple[Any, ...]:
    if field.name == "password":
        return field.name, Annotated[bool, Meta(description="whether there is one")]
    return field.name, str if field.name in INSTANTS else _wire_type(field)


def _new(field: FieldInfo) -> tuple[Any, ...]:
    required = field.default is NODEFAULT and field.default_factory is NODEFAULT
    return (
        (field.name, _wire_type(field))
        if required
        else (
            field.name,
            _wire_type(field) | UnsetType,
            UNSET,
        )
    )


def _change(field: FieldInfo) -> tuple[Any, ...]:
    return field.name, _wire_type(field) | UnsetType, UNSET


def _wire_type(field: FieldInfo) -> Any:
    if field.name in QUERIES:
        return QUERIES[field.name] | None
    return WIRE_LISTS.get(field.name, field.type)


BODIES: Mapping[type[SavedRecord], SavedBodies] = {
    saved.record: _bodies(saved) for saved in SAVED_TYPES
}
CHANNEL_BODIES = (BODIES[Channel].new, BODIES[Channel].changes)
