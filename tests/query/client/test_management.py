"""The organization and its websites through the client."""

from tests.query.client.scripted_service import Playing, answering
from tests.query.client.test_records import record


def test_websites_are_managed(playing: Playing) -> None:
    client, script = playing(
        *(record() for _ in range(5)), answering(), record(), answering(meta={"total": 0})
    )

    client.create_website("shop.example", timezone="Europe/Berlin")
    client.website("r1")
    client.update_website("r1", allowedOrigins=[])
    client.website_status("r1")
    client.organization()
    client.delete_website("r1", "shop.example")
    client.rename_organization("Acme")
    assert list(client.websites()) == []

    assert [(target, body) for target, _, body in script.requests] == [
        ("/v1/websites", {"domain": "shop.example", "timezone": "Europe/Berlin"}),
        ("/v1/websites/r1", None),
        ("/v1/websites/r1", {"allowedOrigins": []}),
        ("/v1/websites/r1/status", None),
        ("/v1/organization", None),
        ("/v1/websites/r1?domain=shop.example", None),
        ("/v1/organization", {"name": "Acme"}),
        ("/v1/websites?limit=1000&page=1", None),
    ]
