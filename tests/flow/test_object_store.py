"""The whole of Tidemark with its tables in an object store: events are stored and answered."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.flow.tenant import Tenant
from tests.flow.test_imports import YEAR, a_file, tidemark
from tests.flow.test_receipts import an_event, looked_up, waited
from tests.http_client import call
from tests.installation import ROOT, Installation, eventually, format_storage
from tests.s3.server import S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, server: S3Server) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("object-store")
    format_storage(folder / "kafka")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in server.environment.items():
            patched.setenv(name, value)
        with Installation(
            folder, lake=server.url, batch_seconds=0.5, small_parts=10, compact_seconds=2.0
        ) as stack:
            yield stack


def test_what_was_waited_for_can_be_asked_for_at_once(tenant: Tenant) -> None:
    for number in (1, 2, 3):
        reply = waited(tenant, [an_event(f"e{number}")])

        assert (reply.status, reply.json["stored"]) == (200, True)
        assert tenant.rows("summary")[0]["total_events"] == number
        assert looked_up(tenant, reply.json["receipt"])["counts"]["stored"] == 1


def test_a_receipt_tells_duplicates(tenant: Tenant) -> None:
    waited(tenant, [an_event("a", eventId="1")])

    reply = waited(tenant, [an_event("b", eventId="2"), an_event("a", eventId="1")])

    states = [item["state"] for item in looked_up(tenant, reply.json["receipt"])["items"]]
    assert states == ["stored", "duplicate"]
    assert tenant.grouped_counts("events", "name") == [("a", 1), ("b", 1)]


def test_the_tables_are_only_in_the_object_store(
    stack: Installation, server: S3Server, tenant: Tenant
) -> None:
    waited(tenant, [an_event("a")])

    assert list(server.objects.glob("events/day=*/*.parquet"))
    assert not (stack.data / "lake").exists()
    eventually(lambda: list(server.objects.glob("_registry/r*.json")))  # the keeper backs it up
    assert call("GET", f"{stack.query_url}/health/ready").status == 200


def test_an_import_is_stored_exported_and_undone(
    stack: Installation, tenant: Tenant, tmp_path: Path
) -> None:
    path = a_file(tmp_path, 600)

    done = tidemark(stack, "import", str(path), "--website", tenant.website.id)

    assert done["stored"] == 600
    assert sum(row["pageviews"] for row in tenant.rows("events_by_date", **YEAR)) == 600
    exported = call(
        "GET",
        f"{stack.query_url}/v1/export/events?website_id={tenant.website.id}&format=ndjson"
        "&startDate=2019-01-01&endDate=2019-12-31",
        headers={"x-api-key": tenant.key},
    )
    assert (exported.status, len(exported.body.splitlines())) == (200, 600)
    undone = tidemark(stack, "import", "undo", done["id"])
    assert (undone["state"], undone["removed"]) == ("undone", 600)
    assert sum(row["pageviews"] for row in tenant.rows("events_by_date", **YEAR)) == 0


def test_maintenance_commands_read_and_write_the_object_store(
    stack: Installation, tenant: Tenant
) -> None:
    waited(tenant, [an_event("a")])
    days = ("--from", f"{datetime.now(UTC):%Y-%m-%d}", "--to", f"{datetime.now(UTC):%Y-%m-%d}")

    assert stack.tidemark("scrub") == []
    stack.tidemark("reenrich", *days)  # asserts its exit code
    tables = {table["name"]: table["rows"] for table in tidemark(stack, "status")["tables"]}
    assert tables["events"] >= 1
    assert tenant.rows("summary")[0]["total_events"] == 1


def test_a_store_that_is_gone_is_said_in_words(
    stack: Installation, server: S3Server, tenant: Tenant
) -> None:
    server.kill()
    try:
        reasons = {"scrub": "Generic S3 error", "status": "it refuses connections"}
        for command, reason in reasons.items():
            done = subprocess.run(
                (sys.executable, "-m", "deploy.cli", command),
                cwd=ROOT,
                env=stack.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            said = done.stdout + done.stderr
            assert f"the object store cannot be read: {reason}" in said
            assert "Traceback" not in done.stderr
        reply = call(
            "POST",
            f"{stack.query_url}/v1/query?website_id={tenant.website.id}",
            {"parameters": ["summary_metrics"], "preset": "last_7d"},
            {"x-api-key": tenant.key},
        )
        assert (reply.status, reply.json["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert eventually(lambda: call("GET", f"{stack.query_url}/health/ready").status == 503)
        # A collector that read the log a moment ago notices within FOLLOW_TIMEOUT_SECONDS.
        eventually(lambda: waited(tenant, []).status == 503, seconds=60)
        assert waited(tenant, [an_event("a")]).status == 503
    finally:
        server.start()

    eventually(lambda: waited(tenant, [an_event("b")]).status == 200, seconds=120)
    assert tenant.rows("summary")[0]["total_events"] == 1
