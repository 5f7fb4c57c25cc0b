"""Links, imports, receipts and identities through the client."""

import pytest

from query.client import Sent, TransferError
from tests.query.client.scripted_service import Playing, Said, answering


def record(**fields: object) -> Said:
    response = answering()
    return Said(200, response.body.replace(b"[]", b'{"id": "r1"}'))


def test_a_link_is_created_read_changed_and_deleted(playing: Playing) -> None:
    client, script = playing(record(), record(), record(), answering())

    assert client.create_link("Spring", "https://t.example/", slug="s") == {"id": "r1"}
    assert client.link("r1") == client.update_link("r1", slug=None) == {"id": "r1"}
    client.delete_link("r1")

    assert [(target, body) for target, _, body in script.requests] == [
        ("/v1/links", {"name": "Spring", "targetUrl": "https://t.example/", "slug": "s"}),
        ("/v1/links/r1", None),
        ("/v1/links/r1", {"slug": None}),
        ("/v1/links/r1", None),
    ]


def test_lists_are_read_page_by_page(playing: Playing) -> None:
    pages = [answering({"id": n}, meta={"total": 1001}) for n in (1, 2)]
    client, script = playing(*pages)

    assert [each["id"] for each in client.imports("w")] == [1, 2]
    assert [target for target, _, _ in script.requests] == [
        "/v1/imports?websiteId=w&limit=1000&page=1",
        "/v1/imports?websiteId=w&limit=1000&page=2",
    ]


def test_imports_and_receipts_are_read(playing: Playing) -> None:
    client, script = playing(record(), record(), record(), record())

    client.create_import("w", "history")
    client.import_("r1")
    client.delete_import("r1")
    client.receipt("r9")

    assert [target for target, _, _ in script.requests] == [
        "/v1/imports",
        "/v1/imports/r1",
        "/v1/imports/r1",
        "/v1/receipts/r9",
    ]


def test_a_record_is_not_created_twice_when_the_connection_breaks(playing: Playing) -> None:
    client, script = playing(Said(200, b"{", missing=9), record())

    with pytest.raises(TransferError):
        client.create_link("Spring", "https://t.example/")

    assert len(script.requests) == 1


def test_a_visitor_is_identified(playing: Playing) -> None:
    client, script = playing(Said(200, b'{"count": 1, "receipt": "r1"}'))

    assert client.identify("u1", {"plan": "pro"}, "w", anonymousId="a") == Sent(1, [], ["r1"])

    target, _, [item] = script.requests[0]
    assert target == "/identify?website_id=w"
    assert {name: item[name] for name in ("profileId", "traits", "anonymousId")} == {
        "profileId": "u1",
        "traits": {"plan": "pro"},
        "anonymousId": "a",
    }


def test_saved_records_are_created_listed_changed_and_deleted(playing: Playing) -> None:
    page = answering({"id": 1}, meta={"total": 1})
    client, script = playing(record(), page, record(), answering())

    client.create_saved("segments", "w", name="Germans", filters="country = DE")
    assert list(client.saved("segments", "w")) == [{"id": 1}]
    client.update_saved("segments", "r1", description=None)
    client.delete_saved("segments", "r1")

    condition = {"field": "country", "operator": "eq", "value": "DE"}
    assert [(target, body) for target, _, body in script.requests] == [
        ("/v1/segments?website_id=w", {"name": "Germans", "filters": [condition]}),
        ("/v1/segments?website_id=w&limit=1000&page=1", None),
        ("/v1/segments/r1", {"description": None}),
        ("/v1/segments/r1", None),
    ]
