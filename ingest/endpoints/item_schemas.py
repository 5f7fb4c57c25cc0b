"""Items and routes of trackers, as the document shows them."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ingest.decoding.limits import MAX_KEY_LENGTH, MAX_PROPERTIES
from ingest.decoding.tracker_formats import NAMED_EVENT_FORMAT, TRACKER_FORMATS, TrackerFormat
from schemas.http.openapi import Parameter
from schemas.items import Item, Name, UrlText

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
