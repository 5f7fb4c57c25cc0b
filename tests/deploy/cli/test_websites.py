"""tidemark websites: create, update, delete, and allowed origins."""

from collections.abc import Callable
from typing import Any

import msgspec

from schemas.registry.privacy import DEFAULT_PRIVACY
from tests.deploy.cli.command_result import Run

DEFAULT = msgspec.json.decode(msgspec.json.encode(DEFAULT_PRIVACY))


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
        "keepDays": {},
        "privacy": DEFAULT,
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


def test_days_to_keep_are_of_all_tables_or_of_one(ask: Callable[..., Any], run: Run) -> None:
    owner = ask("organizations", "create", "--name", "Acme", "--keep-days", "700")
    website = ask(
        "websites", "create", "--organization", owner["id"], "--domain", "shop.example",
        "--keep-days", "400", "--keep-days", "events=90",
    )  # fmt: skip

    assert owner["keepDays"] == {"all": 700}
    assert website["keepDays"] == {"all": 400, "events": 90}
    changed = ask("websites", "update", website["id"], "--keep-days", "errors=30")
    assert changed["keepDays"] == {"errors": 30}
    assert ask("websites", "update", website["id"], "--no-keep-days")["keepDays"] == {}
    assert ask("organizations", "update", owner["id"], "--no-keep-days")["keepDays"] == {}
    for value, problem in {
        "sessions=9": "'keepDays' has 'sessions'; tables are all, events, vitals",
        "events=": "'events=' is not DAYS or TABLE=DAYS",
    }.items():
        refused = run("websites", "update", website["id"], "--keep-days", value)
        assert (refused.code, problem in refused.err) == (2, True), refused.err


def test_privacy_changes_member_by_member(ask: Callable[..., Any], run: Run) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask(
        "websites", "create", "--organization", owner, "--domain", "shop.example",
        "--privacy", "neverStoreQuery=token, sess*",
    )  # fmt: skip
    update = ("websites", "update", website["id"], "--privacy")

    assert website["privacy"] == DEFAULT | {"neverStoreQuery": ["token", "sess*"]}
    changed = ask(*update, "doNotTrack=drop", "--privacy", "maskTexts=false")["privacy"]
    assert changed == website["privacy"] | {"doNotTrack": "drop", "maskTexts": False}
    assert ask(*update, "neverStoreQuery=")["privacy"] == changed | {"neverStoreQuery": []}
    for value, problem in {
        "doNotTrack": "'doNotTrack' is not MEMBER=VALUE, such as doNotTrack=drop",
        "doNotTrack=no": "'doNotTrack' has a value that is not allowed: 'no'",
        "maskTexts=no": "'maskTexts' must be true or false, not a string",
        "dnt=drop": "unknown field `dnt`",
        "neverStoreProperties=a b": "'privacy.neverStoreProperties' has 'a b'; a name has 1 to",
    }.items():
        refused = run(*update, value)
        assert (refused.code, problem in refused.err) == (2, True), refused.err


def test_a_deleted_website_is_listed_and_restored(ask: Callable[..., Any], run: Run) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask("websites", "create", "--organization", owner, "--domain", "shop.example")
    ask("websites", "delete", website["id"])

    (deleted,) = ask("websites", "deleted")
    restored = ask("websites", "restore", website["id"])

    assert (deleted["id"], deleted["name"], deleted["restorable"]) == (
        website["id"],
        "shop.example",
        True,
    )
    assert restored == website
    assert ask("websites", "deleted") == []
    twice = run("websites", "restore", website["id"])
    assert (twice.code, twice.err) == (2, f"tidemark: no deleted website '{website['id']}'\n")


def test_a_deleted_organization_is_restored_with_its_websites(ask: Callable[..., Any]) -> None:
    owner = ask("organizations", "create", "--name", "Acme")
    ask("websites", "create", "--organization", owner["id"], "--domain", "shop.example")
    websites = ask("websites", "list")
    ask("organizations", "delete", owner["id"])

    assert ask("websites", "list") == []
    assert ask("organizations", "restore", owner["id"]) == owner
    assert ask("websites", "list") == websites
