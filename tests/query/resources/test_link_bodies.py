"""Every optional field of a link can be created, read, updated and cleared."""

from typing import Any

import pytest

from query.resources.links import LinkChanges, LinkResource, NewLink
from schemas.registry.link_validation import WIRE_NAMES
from schemas.registry.records import LINK_FIELDS, LinkFieldKind
from tests.query.query_service import InProcessService

VALUES = {
    LinkFieldKind.ID: ("c-1", "c-2"),
    LinkFieldKind.INSTANT: ("2027-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z"),
    LinkFieldKind.TEXT: ("Leaves", "Snow"),
    LinkFieldKind.WEB_URL: ("https://t.example/a", "https://t.example/b"),
    LinkFieldKind.TARGET_URL: ("https://t.example/a", "https://t.example/b"),
}
REQUIRED = {"name": "Launch", "targetUrl": "https://t.example/"}


def test_every_field_is_created_updated_and_cleared(service: InProcessService) -> None:
    first = {WIRE_NAMES[name]: VALUES[field.kind][0] for name, field in LINK_FIELDS.items()}
    second = {WIRE_NAMES[name]: VALUES[field.kind][1] for name, field in LINK_FIELDS.items()}
    created = service.ask("POST", "/v1/links", {**REQUIRED, **first}).json["data"]
    path = f"/v1/links/{created['id']}"

    assert fields(created) == first
    assert fields(service.ask("PATCH", path, second).json["data"]) == second
    assert fields(service.ask("GET", path).json["data"]) == second
    cleared = service.ask("PATCH", path, dict.fromkeys(first)).json["data"]
    assert fields(cleared) == dict.fromkeys(first)


def fields(link: dict[str, Any]) -> dict[str, Any]:
    """The optional fields of a link in a response."""
    return {WIRE_NAMES[name]: link[WIRE_NAMES[name]] for name in LINK_FIELDS}


@pytest.mark.parametrize("body", [NewLink, LinkChanges, LinkResource])
def test_the_fields_stand_after_the_slug(body: type) -> None:
    names: tuple[str, ...] = body.__struct_fields__  # type: ignore[attr-defined]
    begin = names.index("slug") + 1

    assert names[begin : begin + len(LINK_FIELDS)] == tuple(LINK_FIELDS)


def test_the_limits_of_a_field_are_documented_and_hold(service: InProcessService) -> None:
    schemas = service.ask("GET", "/openapi.json", key=None).json["components"]["schemas"]
    reply = service.ask("POST", "/v1/links", {**REQUIRED, "externalId": "x" * 256})

    external_id = schemas["NewLink"]["properties"]["externalId"]["anyOf"][0]
    assert external_id["maxLength"] == LINK_FIELDS["external_id"].max_length == 255
    assert reply.status == 400
