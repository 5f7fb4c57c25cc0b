"""Items and routes of trackers, as the document shows them."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ingest.decoding.limits import MAX_ITEMS, MAX_KEY_LENGTH, MAX_PROPERTIES
from ingest.decoding.tracker_formats import NAMED_EVENT_FORMAT, TRACKER_FORMATS, TrackerFormat
from ingest.endpoints.responses import COLLECT_ERRORS, CollectBatchResponse, CollectResponse
from schemas.http.openapi import Operation, Parameter, Response
from schemas.items import CustomEvent, Item, Name, UrlText

DocumentedPropertyName = Annotated[str, Meta(max_length=MAX_KEY_LENGTH)]
DocumentedProperties = Annotated[
    dict[DocumentedPropertyName, Any],
    Meta(max_length=MAX_PROPERTIES, description="free-form; values may be nested"),
]

OBJECT_FIELDS = ("properties", "traits")
WEBSITE_PARAMETERS = (
    Parameter("website_id", "the website; enough to send from a page"),
    Parameter("client_id", "the same; also as header tidemark-client-id or databuddy-client-id"),
)
SECURITY: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {"website": ()},
    {"client": ()},
    {"key": ()},
    {"bearer": ()},
)

OPTIONAL_NAME = ("name", str | None, None)
FORMAT_FIELDS: Mapping[str, list[tuple[Any, ...]]] = {
    "outgoing_link": [("href", UrlText), OPTIONAL_NAME],
    NAMED_EVENT_FORMAT.type: [("event_name", Name), OPTIONAL_NAME],
}
"""What a shape has instead of its kind's members."""


def documented_item(item: type[Item]) -> Any:
    """The item as the document shows it: free-form members as objects rather than as bytes."""
    return (
        _define_struct(item, item.__name__, _object_fields(item)) if _object_fields(item) else item
    )


def documented_format(shape: TrackerFormat, **tag: str) -> Any:
    """An item as this shape writes it."""
    name = "".join(word.capitalize() for word in shape.type.split("_"))
    item = shape.kind.item
    return _define_struct(
        item, f"{name}Item", [*_object_fields(item), *FORMAT_FIELDS.get(shape.type, [])], **tag
    )


def _define_struct(item: type[Item], name: str, fields: list[tuple[Any, ...]], **tag: str) -> Any:
    return msgspec.defstruct(
        name,
        fields,
        bases=(item,),
        rename="camel",
        kw_only=True,
        namespace={"__doc__": item.__doc__},
        **tag,  # type: ignore[arg-type]  # `tag` and `tag_field` are text
    )


def _object_fields(item: type[Item]) -> list[tuple[Any, ...]]:
    return [
        (each, DocumentedProperties | None, None)
        for each in OBJECT_FIELDS
        if each in item.__struct_fields__
    ]


def union_of_formats(shapes: Iterable[TrackerFormat]) -> Any:
    """Items that say of which shape they are."""
    return reduce(
        or_, [documented_format(shape, tag=shape.type, tag_field="type") for shape in shapes]
    )


AnyItem: Any = union_of_formats(TRACKER_FORMATS.values())
EventItem: Any = documented_format(NAMED_EVENT_FORMAT)
PAGE_VIEW_EXAMPLE = {
    "type": "track",
    "name": "screen_view",
    "path": "https://shop.example/",
    "eventId": "e1",
}
OUTBOUND_CLICK_EXAMPLE = {
    "type": "outgoing_link",
    "href": "https://x.example/",
    "text": "more",
    "eventId": "e2",
}

SEND_OPERATION = Operation(
    method="POST",
    path="/",
    operation_id="send",
    tag="Trackers",
    summary="Send one item of any type",
    description="An item without `type` is a page view. The first trackers' items, which hold "
    "all in "
    "`payload`, and several web vitals in one item (`lcp`, `cls`, …) are taken too.",
    parameters=WEBSITE_PARAMETERS,
    body=AnyItem,
    examples={"a page view": PAGE_VIEW_EXAMPLE, "a click that leaves": OUTBOUND_CLICK_EXAMPLE},
    responses=(Response(200, "taken", CollectResponse),),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

BATCH_OPERATION = Operation(
    method="POST",
    path="/batch",
    operation_id="batch",
    tag="Trackers",
    summary="Send items of mixed types",
    description=f"At most {MAX_ITEMS} in one request. `results` says what became of each. A 503 "
    f"has "
    "`results` too: send the request again, items with an eventId that are kept count once.",
    parameters=WEBSITE_PARAMETERS,
    body=Annotated[list[AnyItem], Meta(min_length=1, max_length=MAX_ITEMS)],
    examples={"a page view and a click that leaves": [PAGE_VIEW_EXAMPLE, OUTBOUND_CLICK_EXAMPLE]},
    responses=(Response(200, "taken, as far as `results` says", CollectBatchResponse),),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

EVENTS_OPERATION = Operation(
    method="POST",
    path="/events",
    operation_id="events",
    tag="Trackers",
    summary="Send events that call their name `eventName`",
    parameters=WEBSITE_PARAMETERS,
    body=Annotated[list[EventItem], Meta(min_length=1, max_length=MAX_ITEMS)],
    examples={"one event": [{"eventName": "signup", "properties": {"plan": "pro"}}]},
    responses=(Response(200, "taken", CollectResponse),),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

PIXEL_OPERATION = Operation(
    method="GET",
    path="/px.jpg",
    operation_id="pixel",
    tag="Trackers",
    summary="Send one item in the query string, as an image that a page asks for",
    description="Any member of an item may stand in the query; `properties` as JSON, or a member "
    "of it "
    "as `properties[plan]`.",
    parameters=(
        *WEBSITE_PARAMETERS,
        Parameter("type", "a page view when it is left out", {"enum": list(TRACKER_FORMATS)}),
        *(
            Parameter(field.encode_name, "as in the item")
            for field in msgspec.structs.fields(CustomEvent)
        ),
    ),
    responses=(Response(200, "a picture of one pixel", media_types=("image/gif",)),),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

TRACKER_OPERATIONS = (SEND_OPERATION, BATCH_OPERATION, EVENTS_OPERATION, PIXEL_OPERATION)
