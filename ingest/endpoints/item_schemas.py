"""OpenAPI schemas of the items that trackers send, and what their routes have in common."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ingest.decoding.limits import MAX_KEY_LENGTH, MAX_PROPERTIES
from ingest.decoding.strict_types import NARROWER_FIELDS
from ingest.decoding.tracker_formats import NAMED_EVENT_FORMAT, TRACKER_FORMATS, TrackerFormat
from schemas.http.openapi import Parameter
from schemas.items import Item, Name, UrlText, object_fields

DocumentedPropertyName = Annotated[str, Meta(max_length=MAX_KEY_LENGTH)]
DocumentedProperties = Annotated[
    dict[DocumentedPropertyName, Any],
    Meta(max_length=MAX_PROPERTIES, description="free-form; values may be nested"),
]

WEBSITE_PARAMETERS = (
    Parameter("website_id", "website id; sufficient for browsers"),
    Parameter(
        "client_id",
        "the same as `website_id`; also as header tidemark-client-id or databuddy-client-id",
    ),
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
"""Fields of a tracker format that its kind does not have."""


def documented_item(item: type[Item]) -> Any:
    """The item type with free-form fields as objects rather than raw JSON."""
    fields = _documented_fields(item)
    return _define_struct(item, item.__name__, fields) if fields else item


def documented_format(tracker_format: TrackerFormat, **tag: str) -> Any:
    """The item type as this tracker format has it."""
    name = "".join(word.capitalize() for word in tracker_format.type.split("_"))
    item = tracker_format.kind.item
    return _define_struct(
        item,
        f"{name}Item",
        [*_documented_fields(item), *FORMAT_FIELDS.get(tracker_format.type, [])],
        **tag,
    )


def _define_struct(item: type[Item], name: str, fields: list[tuple[Any, ...]], **tag: str) -> Any:
    return msgspec.defstruct(
        name,
        fields,
        bases=(item,),
        rename="camel",
        kw_only=True,
        namespace={"__doc__": item.__doc__},
        **tag,  # type: ignore[arg-type]  # `tag` and `tag_field` are strings
    )


def _documented_fields(item: type[Item]) -> list[tuple[Any, ...]]:
    objects = [(name, DocumentedProperties | None, None) for name in object_fields(item)]
    return [*objects, *NARROWER_FIELDS.get(item, [])]


def union_of_formats(formats: Iterable[TrackerFormat]) -> Any:
    """The item types of all formats, with `type` as discriminator."""
    return reduce(
        or_,
        [
            documented_format(tracker_format, tag=tracker_format.type, tag_field="type")
            for tracker_format in formats
        ],
    )


AnyItem: Any = union_of_formats(TRACKER_FORMATS.values())
EventItem: Any = documented_format(NAMED_EVENT_FORMAT)
