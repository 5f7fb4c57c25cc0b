"""The Python client and the command line against a running installation."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from query.client import Client
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


def tidemark(tenant: Tenant, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**tenant.stack.environment, "TIDEMARK_KEY": tenant.key}
    return subprocess.run(
        (sys.executable, "-m", "deploy.cli", *arguments),
        cwd=ROOT,
        env=environment,
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


def test_the_command_line_exports(tenant_with_views: tuple[Tenant, Client], tmp_path: Path) -> None:
    tenant, _ = tenant_with_views
    where = ("--website", tenant.website.id, "--from", str(DAY), "--to", str(DAY))
    file = tmp_path / "events.parquet"

    lines = tidemark(tenant, "export", "events", *where, "--columns", "path")
    saved = tidemark(
        tenant, "export", "events", *where, "--format", "parquet", "--output", str(file)
    )

    assert lines.stdout == '{"path":"/0"}\n{"path":"/1"}\n'
    assert saved.returncode == 0, saved.stderr
    assert pq.read_table(file)["path"].to_pylist() == ["/0", "/1"]
    assert [path.name for path in tmp_path.iterdir()] == ["events.parquet"]


def test_a_service_that_is_not_there_is_one_line(tenant_with_views: tuple[Tenant, Client]) -> None:
    tenant, _ = tenant_with_views

    done = tidemark(tenant, "export", "events", "--website", "w", "--url", "http://127.0.0.1:1")

    assert done.returncode == 1
    assert done.stderr.startswith("tidemark: no whole answer came: ConnectionRefusedError")
    assert done.stderr.count("\n") == 1
