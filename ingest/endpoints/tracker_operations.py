"""Items and routes of trackers, as the document shows them."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ingest.decoding.limits import ITEMS, KEY, PROPERTIES
from ingest.decoding.tracker_formats import NAMED_EVENT, SHAPES, Shape
from ingest.endpoints.responses import REFUSED, Taken, TakenBatch
from schemas.http.openapi import Answer, Operation, Parameter
from schemas.items import CustomEvent, Item, Name, Url

PropertyName = Annotated[str, Meta(max_length=KEY)]
Properties = Annotated[
    dict[PropertyName, Any],
    Meta(max_length=PROPERTIES, description="free-form; values may be nested"),
]

OPEN = ("properties", "traits")
WEBSITE = (
    Parameter("website_id", "the website; enough to send from a page"),
    Parameter("client_id", "the same; also as header tidemark-client-id or databuddy-client-id"),
)
KEYS: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {"website": ()},
    {"client": ()},
    {"key": ()},
    {"bearer": ()},
)

NO_NAME = ("name", str | None, None)
OWN: Mapping[str, list[tuple[Any, ...]]] = {
    "outgoing_link": [("href", Url), NO_NAME],
    NAMED_EVENT.type: [("event_name", Name), NO_NAME],
}
"""What a shape has instead of its kind's members."""


def shown(item: type[Item]) -> Any:
    """The item as the document shows it: free-form members as objects rather than as bytes."""
    return _made(item, item.__name__, _open(item)) if _open(item) else item


def of_shape(shape: Shape, **tag: str) -> Any:
    """An item as this shape writes it."""
    name = "".join(word.capitalize() for word in shape.type.split("_"))
    item = shape.kind.item
    return _made(item, f"{name}Item", [*_open(item), *OWN.get(shape.type, [])], **tag)


def _made(item: type[Item], name: str, fields: list[tuple[Any, ...]], **tag: str) -> Any:
    return msgspec.defstruct(
        name,
        fields,
        bases=(item,),
        rename="camel",
        kw_only=True,
        namespace={"__doc__": item.__doc__},
        **tag,  # type: ignore[arg-type]  # `tag` and `tag_field` are text
    )


def _open(item: type[Item]) -> list[tuple[Any, ...]]:
    return [(each, Properties | None, None) for each in OPEN if each in item.__struct_fields__]


def one_of(shapes: Iterable[Shape]) -> Any:
    """Items that say of which shape they are."""
    return reduce(or_, [of_shape(shape, tag=shape.type, tag_field="type") for shape in shapes])


AnyItem: Any = one_of(SHAPES.values())
EventItem: Any = of_shape(NAMED_EVENT)
VIEW = {"type": "track", "name": "screen_view", "path": "https://shop.example/", "eventId": "e1"}
AWAY = {"type": "outgoing_link", "href": "https://x.example/", "text": "more", "eventId": "e2"}

ONE = Operation(
    method="POST",
    path="/",
    name="send",
    group="Trackers",
    meaning="Send one item of any type",
    more="An item without `type` is a page view. The first trackers' items, which hold all in "
    "`payload`, and several web vitals in one item (`lcp`, `cls`, …) are taken too.",
    parameters=WEBSITE,
    body=AnyItem,
    examples={"a page view": VIEW, "a click that leaves": AWAY},
    answers=(Answer(200, "taken", Taken),),
    failures=REFUSED,
    keys=KEYS,
)

BATCH = Operation(
    method="POST",
    path="/batch",
    name="batch",
    group="Trackers",
    meaning="Send items of mixed types",
    more=f"At most {ITEMS} in one request. `results` says what became of each. A 503 has "
    "`results` too: send the request again, items with an eventId that are kept count once.",
    parameters=WEBSITE,
    body=Annotated[list[AnyItem], Meta(min_length=1, max_length=ITEMS)],
    examples={"a page view and a click that leaves": [VIEW, AWAY]},
    answers=(Answer(200, "taken, as far as `results` says", TakenBatch),),
    failures=REFUSED,
    keys=KEYS,
)

EVENTS = Operation(
    method="POST",
    path="/events",
    name="events",
    group="Trackers",
    meaning="Send events that call their name `eventName`",
    parameters=WEBSITE,
    body=Annotated[list[EventItem], Meta(min_length=1, max_length=ITEMS)],
    examples={"one event": [{"eventName": "signup", "properties": {"plan": "pro"}}]},
    answers=(Answer(200, "taken", Taken),),
    failures=REFUSED,
    keys=KEYS,
)

PIXEL = Operation(
    method="GET",
    path="/px.jpg",
    name="pixel",
    group="Trackers",
    meaning="Send one item in the query string, as an image that a page asks for",
    more="Any member of an item may stand in the query; `properties` as JSON, or a member of it "
    "as `properties[plan]`.",
    parameters=(
        *WEBSITE,
        Parameter("type", "a page view when it is left out", {"enum": list(SHAPES)}),
        *(
            Parameter(field.encode_name, "as in the item")
            for field in msgspec.structs.fields(CustomEvent)
        ),
    ),
    answers=(Answer(200, "a picture of one pixel", files=("image/gif",)),),
    failures=REFUSED,
    keys=KEYS,
)

TRACKERS = (ONE, BATCH, EVENTS, PIXEL)
