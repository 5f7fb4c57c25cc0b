"""tidemark websites: create, update, delete, and allowed origins."""

from collections.abc import Callable
from typing import Any

from tests.deploy.cli.command_result import Run


def test_a_website_is_created_changed_and_deleted(ask: Callable[..., Any]) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask(
        "websites", "create", "--organization", owner, "--domain", "Shop.example",
        "--timezone", "Europe/Berlin",
    )  # fmt: skip
    assert website == {
        "id": website["id"],
        "organizationId": owner,
        "domain": "shop.example",
        "name": "shop.example",
        "timezone": "Europe/Berlin",
        "allowedOrigins": [],
        "createdAt": website["createdAt"],
        "updatedAt": website["createdAt"],
    }

    changed = ask(
        "websites", "update", website["id"], "--name", "Shop", "--timezone", "Asia/Kolkata"
    )
    assert (changed["name"], changed["timezone"]) == ("Shop", "Asia/Kolkata")
    assert ask("websites", "list", "--organization", owner) == [changed]
    assert ask("websites", "list", "--organization", "another") == []

    ask("websites", "delete", website["id"])
    assert ask("websites", "list") == []


def test_a_website_names_the_origins_that_may_send_for_it(
    ask: Callable[..., Any], run: Run
) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask(
        "websites", "create", "--organization", owner, "--domain", "shop.example",
        "--allow-origin", "https://Shop.example:443/", "--allow-origin", "https://*.shop.example",
    )  # fmt: skip
    assert website["allowedOrigins"] == ["https://shop.example", "https://*.shop.example"]

    changed = ask("websites", "update", website["id"], "--allow-origin", "http://localhost:8080")
    assert changed["allowedOrigins"] == ["http://localhost:8080"]
    assert ask("websites", "update", website["id"], "--any-origin")["allowedOrigins"] == []
    refused = run("websites", "update", website["id"], "--allow-origin", "shop.example")
    assert (refused.code, "'allowedOrigins' has 'shop.example'" in refused.err) == (2, True)
