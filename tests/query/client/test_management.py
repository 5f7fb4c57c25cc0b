"""The organization and its websites through the client."""

from tests.query.client.scripted_service import Playing, answering
from tests.query.client.test_records import record

NONE = {"total": 0}


def test_websites_are_managed(playing: Playing) -> None:
    client, script = playing(
        *(record() for _ in range(7)),
        answering(),
        answering(),
        record(),
        record(),
        record(),
        answering(),
        answering(),
        answering(meta=NONE),
        answering(meta=NONE),
    )

    client.create_website("shop.example", timezone="Europe/Berlin")
    client.website("r1")
    client.update_website("r1", allowedOrigins=[])
    client.website_status("r1")
    client.organization()
    client.put_contract("r1", {"events": {}}, "refuse")
    client.contract("r1")
    client.remove_contract("r1")
    client.delete_website("r1", "shop.example")
    client.restore_website("r1")
    client.rename_organization("Acme")
    client.keep_days({"all": 400})
    assert client.quarantine("r1") == client.limits() == []
    assert list(client.websites()) == []
    assert list(client.deleted_websites()) == []

    assert [(target, body) for target, _, body in script.requests] == [
        ("/v1/websites", {"domain": "shop.example", "timezone": "Europe/Berlin"}),
        ("/v1/websites/r1", None),
        ("/v1/websites/r1", {"allowedOrigins": []}),
        ("/v1/websites/r1/status", None),
        ("/v1/organization", None),
        ("/v1/websites/r1/contract", {"contract": {"events": {}}, "enforce": "refuse"}),
        ("/v1/websites/r1/contract", None),
        ("/v1/websites/r1/contract", None),
        ("/v1/websites/r1?domain=shop.example", None),
        ("/v1/websites/r1/restore", None),
        ("/v1/organization", {"name": "Acme"}),
        ("/v1/organization", {"keepDays": {"all": 400}}),
        ("/v1/quarantine?website_id=r1&days=7", None),
        ("/v1/limits", None),
        ("/v1/websites?limit=1000&page=1", None),
        ("/v1/deleted-websites?limit=1000&page=1", None),
    ]


def test_keys_are_managed(playing: Playing) -> None:
    client, script = playing(*(record() for _ in range(4)), answering(), answering(meta=NONE))

    client.create_key(["read:data"], name="reports")
    client.update_key("r1", expiresAt=None)
    client.rotate_key("r1", overlap_hours=0)
    client.revoke_key("r1")
    client.delete_key("r1")
    assert list(client.keys("w")) == []

    assert [(target, body) for target, _, body in script.requests] == [
        ("/v1/keys", {"scopes": ["read:data"], "name": "reports"}),
        ("/v1/keys/r1", {"expiresAt": None}),
        ("/v1/keys/r1/rotate", {"overlapHours": 0}),
        ("/v1/keys/r1/revoke", None),
        ("/v1/keys/r1", None),
        ("/v1/keys?website_id=w&limit=1000&page=1", None),
    ]


def test_the_audit_trail_is_read_page_by_page(playing: Playing) -> None:
    pages = [answering({"number": n}, meta={"next": n}) for n in (9, 4)]
    client, script = playing(*pages, answering({"number": 2}, meta={"next": None}))

    assert [each["number"] for each in client.changes(kind="key")] == [9, 4, 2]
    assert [target for target, _, _ in script.requests] == [
        "/v1/audit?kind=key&limit=1000",
        "/v1/audit?kind=key&limit=1000&before=9",
        "/v1/audit?kind=key&limit=1000&before=4",
    ]
