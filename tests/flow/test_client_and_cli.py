"""The Python client and the command line against a running installation."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from query.client import AccessDenied, Client, InvalidRequest, ServiceError
from tests.flow.tenant import DAY, Tenant, at_ms
from tests.installation import ROOT, Installation, eventually

DAYS = {"start": str(DAY), "end": str(DAY)}


@pytest.fixture(scope="module")
def tenant_with_views(stack: Installation) -> tuple[Tenant, Client]:
    """A tenant whose two page views were sent and are stored."""
    tenant = Tenant.create(stack)
    client = Client(stack.query_url, tenant.key, stack.collect_url)
    views = [
        {
            "name": "screen_view",
            "anonymousId": "v",
            "path": f"https://shop.example/{i}",
            "timestamp": at_ms("10:00:00") + i,
        }
        for i in range(2)
    ]
    assert client.track(views, website_id=tenant.website.id).count == 2
    eventually(
        lambda: len(list(client.export("events", website_id=tenant.website.id, **DAYS))) == 2
    )
    return tenant, client


def test_the_client_asks_what_it_sent(tenant_with_views: tuple[Tenant, Client]) -> None:
    tenant, client = tenant_with_views
    subject = {"website_id": tenant.website.id, **DAYS}

    pages = client.ask("top_pages", **subject)
    counted = client.custom(
        {"table": "events", "selects": [{"field": "*", "aggregate": "count", "alias": "n"}]},
        **subject,
    )

    assert [row["name"] for row in pages] == ["/0", "/1"]
    assert counted == [{"n": 2}]
    assert counted.arrow().to_pydict() == {"n": [2]}


def tidemark(
    tenant: Tenant, *arguments: str, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**tenant.stack.environment, "TIDEMARK_KEY": tenant.key}
    return subprocess.run(
        (sys.executable, "-m", "deploy.cli", *arguments),
        cwd=ROOT,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_line_asks(tenant_with_views: tuple[Tenant, Client]) -> None:
    tenant, _ = tenant_with_views
    where = ("--website", tenant.website.id, "--from", str(DAY), "--to", str(DAY))

    table = tidemark(tenant, "ask", "top_pages", *where)
    rows = tidemark(tenant, "ask", "top_pages", "summary_metrics", *where, "--format", "json")
    lines = tidemark(tenant, "ask", "top_pages", *where, "--format", "csv")
    wrong = tidemark(tenant, "ask", "top_pages", "top_pagez", *where)
    usual = tidemark(tenant, "ask", "top_pages", "--website", tenant.website.id)
    undated = tidemark(tenant, "ask", "top_pages", *where[:3], "2026-13-01", *where[4:])

    assert table.stdout.splitlines()[0].split() == ["name", "pageviews", "visitors", "percentage"]
    assert list(json.loads(rows.stdout)) == ["top_pages", "summary_metrics"]
    assert [row["name"] for row in csv.DictReader(lines.stdout.splitlines())] == ["/0", "/1"]
    assert usual.returncode == 0, usual.stderr
    assert undated.stderr.startswith("tidemark: --from is '2026-13-01'; there is no month 13")
    assert wrong.returncode == 1
    assert wrong.stdout == table.stdout
    assert wrong.stderr == (
        "tidemark: top_pagez: Unknown query type 'top_pagez'; did you mean 'top_pages'?\n"
    )


def test_the_command_line_asks_everything(tenant_with_views: tuple[Tenant, Client]) -> None:
    tenant, _ = tenant_with_views
    where = ("--website", tenant.website.id, "--from", str(DAY), "--json")
    query = '{"table": "events", "selects": [{"field": "*", "aggregate": "count", "alias": "n"}]}'

    pages = tidemark(tenant, "ask", "top_pages", *where, "--where", "path ends_with 1")
    funnel = tidemark(tenant, "ask", "funnel", *where, "--step", "/0", "--step", "/1")
    goals = tidemark(tenant, "ask", "goals", *where, "--goal", "/1")
    ordered = tidemark(
        tenant, "ask", "top_pages", *where, "--order", "name desc", "--limit", "1", "--page", "2"
    )
    custom = tidemark(
        tenant, "ask", "--custom", "-", *where, "--where", "path in /1, /2", given=query
    )
    metrics = tidemark(tenant, "ask", "--metrics", "page_views", "--by", "path", *where)
    lines = tidemark(
        tenant, "ask", "--metrics", "visits", *where[:4], "--where", "path = /1", "--format", "csv"
    )
    unstepped = tidemark(tenant, "ask", "funnel", *where)

    assert [row["name"] for row in json.loads(pages.stdout)["top_pages"]] == ["/1"]
    assert [row["visitors"] for row in json.loads(funnel.stdout)["funnel"]] == [1, 1]
    assert [row["conversions"] for row in json.loads(goals.stdout)["goals"]] == [1]
    assert [row["name"] for row in json.loads(ordered.stdout)["top_pages"]] == ["/0"]
    assert json.loads(custom.stdout) == [{"n": 1}]
    assert json.loads(metrics.stdout) == [{"path": f"/{i}", "page_views": 1} for i in range(2)]
    assert lines.stdout.split() == ["visits", "1"]
    assert (unstepped.returncode, unstepped.stderr) == (1, "tidemark: funnel: --step is missing\n")


def test_the_client_explains_and_lists(tenant_with_views: tuple[Tenant, Client]) -> None:
    tenant, client = tenant_with_views
    selects = [{"field": "*", "aggregate": "count", "alias": "n"}]

    subject = {"website_id": tenant.website.id, **DAYS}

    compiled = client.compile(
        {"table": "events", "selects": selects, "filters": "path = /1"}, **subject
    )

    assert [table["rows"] for table in compiled["tables"]] == [2]
    of_type = client.compile("summary", **subject)
    answered = client.ask("summary", **subject)
    assert of_type["prepared"] is answered.meta.get("prepared", False)
    assert client.compile("summary", **subject, prepared=False)["prepared"] is False
    assert "funnel" in client.query_types()
    assert "visits" in [each["name"] for each in client.metrics_catalogue()["metrics"]]
    assert "events" in [table["name"] for table in client.tables()["tables"]]
    with pytest.raises(InvalidRequest, match="Unknown column 'pat'") as raised:
        client.custom({"table": "events", "selects": selects, "filters": "pat = 1"}, **subject)
    assert raised.value.field == "pat"


def test_the_client_manages_links_and_imports(tenant_with_views: tuple[Tenant, Client]) -> None:
    tenant, client = tenant_with_views

    link = client.create_link("Summer", "https://t.example/", ogTitle="Sun")
    changed = client.update_link(link["id"], name="Autumn", ogTitle=None)
    created = client.create_import(tenant.website.id, "history")
    sent = client.identify("u1", {"plan": "pro"}, tenant.website.id, anonymousId="a")

    goal = client.create_saved("goals", tenant.website.id, name="Signup", event="signup")

    assert [each["id"] for each in client.saved("goals", tenant.website.id)] == [goal["id"]]
    assert client.update_saved("goals", goal["id"], name="Joined")["name"] == "Joined"
    client.delete_saved("goals", goal["id"])
    assert list(client.saved("goals", tenant.website.id)) == []
    assert (changed["name"], changed["ogTitle"]) == ("Autumn", None)
    assert link["id"] in [each["id"] for each in client.links()]
    client.delete_link(link["id"])
    with pytest.raises(ServiceError, match="No such link"):
        client.link(link["id"])
    assert [each["id"] for each in client.imports(tenant.website.id)] == [created["id"]]
    assert client.delete_import(created["id"])["state"] == "undoing"
    assert client.receipt(sent.receipts[0])["total"] == 1
    with pytest.raises(AccessDenied):
        client.ask("summary", website_id="web_of_another", preset="today")


def test_the_command_line_exports(tenant_with_views: tuple[Tenant, Client], tmp_path: Path) -> None:
    tenant, _ = tenant_with_views
    where = ("--website", tenant.website.id, "--from", str(DAY), "--to", str(DAY))
    file = tmp_path / "events.parquet"
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / "events.parquet.part").symlink_to(other)  # is not followed

    lines = tidemark(tenant, "export", "events", *where, "--columns", "path")
    saved = tidemark(
        tenant, "export", "events", *where, "--format", "parquet", "--output", str(file)
    )

    assert lines.stdout == '{"path":"/0"}\n{"path":"/1"}\n'
    assert saved.returncode == 0, saved.stderr
    assert pq.read_table(file)["path"].to_pylist() == ["/0", "/1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.parquet", "other"]
    assert other.read_text() == "mine"


@pytest.mark.long
def test_a_service_that_is_not_there_is_one_line(tenant_with_views: tuple[Tenant, Client]) -> None:
    tenant, _ = tenant_with_views

    done = tidemark(tenant, "export", "events", "--website", "w", "--url", "http://127.0.0.1:1")

    assert done.returncode == 1
    assert done.stderr.startswith("tidemark: no whole answer came: ConnectionRefusedError")
    assert done.stderr.count("\n") == 1
