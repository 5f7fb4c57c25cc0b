"""People, saved goals and metrics with arguments, asked by the command line and the client."""

import json
from typing import Any

import pytest

from query.client import Client, ServiceError
from tests.flow.tenant import DAY, Tenant, at_ms
from tests.flow.test_client_and_cli import tidemark
from tests.installation import Installation, eventually

DAYS = {"start": str(DAY), "end": str(DAY)}


@pytest.fixture(scope="module")
def shop(stack: Installation) -> tuple[Tenant, Client]:
    """One person on a phone and a desktop, who bought; a stranger, who only signed up."""
    tenant = Tenant.create(stack)
    website = tenant.website.id
    client = Client(stack.query_url, tenant.key, stack.collect_url)
    client.create_saved("goals", website, name="Signup", event="signup")
    client.create_saved(
        "money", website, name="Orders", event="purchase", property="properties.total",
        currency="EUR",
    )  # fmt: skip
    client.create_saved("annotations", website, start=str(DAY), text="new shop")
    client.create_saved(
        "segments",
        website,
        name="Buyers",
        filters=[{"has_done": {"event": "purchase"}}],
    )
    items: list[dict[str, Any]] = [
        {"name": "screen_view", "anonymousId": "phone", "path": "https://shop.example/"},
        {"name": "signup", "anonymousId": "phone"},
        {"name": "purchase", "anonymousId": "desktop", "properties": {"total": 12.5}},
        {"name": "screen_view", "anonymousId": "stranger", "path": "https://shop.example/"},
        {"name": "signup", "anonymousId": "stranger"},
    ]
    for i, item in enumerate(items):
        item |= {"timestamp": at_ms("10:00:00") + i * 1000}
    assert client.track(items, website_id=website).count == 5
    for device in ("phone", "desktop"):
        client.identify("user-7", {"plan": "pro"}, website_id=website, anonymousId=device)
    subject = {"website_id": website, "preset": "last_30d"}
    eventually(lambda: len(list(client.export("events", **subject))) == 5, seconds=60)
    eventually(lambda: len(list(client.export("identities", **subject))) == 2, seconds=60)
    eventually(lambda: [row["name"] for row in goals(client, website)] == ["Signup"], seconds=60)
    return tenant, client


def goals(client: Client, website: str) -> list[dict[str, Any]]:
    """The saved goals, once the service knows them; the last of all that was saved is known too."""
    try:
        client.ask("summary", website_id=website, filters="segment = Buyers", **DAYS)
        rows: list[dict[str, Any]] = client.ask("goals", website_id=website, **DAYS)
    except ServiceError:
        return []
    return rows


def ask(shop: tuple[Tenant, Client], *arguments: str) -> Any:
    """What the command line answers, as JSON."""
    tenant, _ = shop
    where = ("--website", tenant.website.id, "--from", str(DAY), "--to", str(DAY), "--json")
    done = tidemark(tenant, "ask", *arguments, *where)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_devices_of_a_profile_are_one_person(shop: tuple[Tenant, Client]) -> None:
    tenant, client = shop
    subject = {"website_id": tenant.website.id, **DAYS}
    people = {"field": "anonymous_id", "aggregate": "uniq", "alias": "people"}

    listed = ask(shop, "profile_list", "--person", "profile")["profile_list"]
    [metrics] = ask(shop, "--metrics", "visitors", "--person", "profile")
    custom = client.custom({"table": "events", "selects": [people]}, person="profile", **subject)
    [summary] = client.ask("summary", person="profile", **subject)
    bought = list(client.export("events", person="profile", filters="has done purchase", **subject))

    known = {
        row["visitor_id"]: (row["profile_id"], json.loads(row["traits"] or "{}")) for row in listed
    }
    assert known == {"desktop": ("user-7", {"plan": "pro"}), "stranger": (None, {})}
    assert (metrics["visitors"], custom, summary["unique_visitors"]) == (2, [{"people": 2}], 2)
    assert {row["anonymous_id"] for row in bought} == {"phone", "desktop"}
    assert client.ask("summary", **subject)[0]["unique_visitors"] == 3


def test_the_timeline_of_a_person_names_devices(shop: tuple[Tenant, Client]) -> None:
    timeline = ask(shop, "visitor_timeline", "--where", "visitor.profile_id = user-7")

    assert [(row["name"], row["anonymous_id"]) for row in timeline["visitor_timeline"]] == [
        ("screen_view", "phone"),
        ("signup", "phone"),
        ("purchase", "desktop"),
    ]


def test_metrics_have_arguments(shop: tuple[Tenant, Client]) -> None:
    metrics = (
        "visitors, conversions(Signup) as signups, revenue(EUR), sum(properties.total) as paid"
    )

    [row] = ask(shop, "--metrics", metrics)
    [bought] = ask(shop, "--metrics", "conversions", "--goal", "purchase")
    rare = ask(shop, "--metrics", "events", "--by", "name", "--having", "events = 1")

    assert row == {"visitors": 3, "signups": 2, "revenue": 12.5, "paid": 12.5}
    assert bought == {"conversions": 1}
    assert rare == [{"name": "purchase", "events": 1}]


def test_a_saved_goal_wins_over_an_event(shop: tuple[Tenant, Client]) -> None:
    tenant, _ = shop
    where = ("--website", tenant.website.id, "--from", str(DAY))

    funnel = ask(shop, "funnel", "--step", "/", "--step", "Signup")["funnel"]
    unclear = tidemark(tenant, "ask", "goals", "--goal", "signup", *where)
    event = ask(shop, "goals", "--goal", "event:signup")["goals"]
    done = ask(shop, "summary", "--where", "has done Signup")["summary"]
    buyers = ask(shop, "summary", "--where", "segment = Buyers")["summary"]

    assert [(step["name"], step["visitors"]) for step in funnel] == [("/", 2), ("Signup", 2)]
    assert unclear.returncode == 1
    assert "the event 'signup', or the saved goal 'Signup'?" in unclear.stderr
    assert [row["conversions"] for row in event] == [2]
    assert (done[0]["unique_visitors"], buyers[0]["unique_visitors"]) == (2, 1)


def test_a_series_shows_annotations_and_csv_begins_with_a_mark(
    shop: tuple[Tenant, Client],
) -> None:
    tenant, _ = shop
    where = ("--website", tenant.website.id, "--from", str(DAY), "--to", str(DAY))

    series = tidemark(tenant, "ask", "events_by_date", *where)
    marked = tidemark(tenant, "ask", "events_by_date", *where, "--format", "csv", "--bom")
    export = tidemark(tenant, "export", "events", *where, "--format", "csv", "--bom")

    assert series.stdout.splitlines()[-1] == f"annotation {DAY}: new shop"
    assert marked.stdout.startswith("\ufeffdate,")
    assert export.stdout.startswith("\ufeff")
