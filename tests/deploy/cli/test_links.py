"""tidemark links: create, update, delete."""

from collections.abc import Callable
from typing import Any

from click import Option

from deploy.cli.links import links
from schemas.registry.records import LINK_FIELDS


def test_a_link_is_created_changed_and_deleted(ask: Callable[..., Any]) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    link = ask(
        "links", "create", "--organization", owner, "--name", "Autumn",
        "--target-url", "https://shop.example/autumn", "--slug", "autumn",
        "--external-id", "c-17", "--expires-at", "2026-12-31T00:00:00Z",
        "--expired-redirect-url", "https://shop.example/over",
        "--ios-url", "https://shop.example/ios", "--android-url", "https://shop.example/android",
        "--og-title", "Leaves", "--og-description", "All of them",
        "--og-image-url", "https://shop.example/a.png", "--og-video-url", "https://shop.example/a",
    )  # fmt: skip
    assert link == {
        "id": link["id"],
        "organizationId": owner,
        "name": "Autumn",
        "targetUrl": "https://shop.example/autumn",
        "slug": "autumn",
        "externalId": "c-17",
        "expiresAt": "2026-12-31T00:00:00.000Z",
        "expiredRedirectUrl": "https://shop.example/over",
        "iosUrl": "https://shop.example/ios",
        "androidUrl": "https://shop.example/android",
        "ogTitle": "Leaves",
        "ogDescription": "All of them",
        "ogImageUrl": "https://shop.example/a.png",
        "ogVideoUrl": "https://shop.example/a",
        "createdAt": link["createdAt"],
        "updatedAt": link["createdAt"],
        "shortUrl": "http://127.0.0.1:4000/l/autumn",
        "qrCodeUrl": "http://127.0.0.1:4000/l/autumn/qr.svg",
    }

    changed = ask("links", "update", link["id"], "--target-url", "https://shop.example/winter")
    assert changed["targetUrl"] == "https://shop.example/winter"
    assert ask("links", "show", link["id"]) == changed

    ask("links", "delete", link["id"])
    assert ask("links", "list") == []


def test_every_optional_field_is_an_option_of_both_commands() -> None:
    for command in ("create", "update"):
        options = {option.name: option for option in links.commands[command].params}
        for name, field in LINK_FIELDS.items():
            option = options[name]
            assert isinstance(option, Option)
            assert option.opts == [f"--{name.replace('_', '-')}"]
            assert option.help == field.description
