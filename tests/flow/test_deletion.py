"""A website is deleted, restored with its events, deleted for good, and made again empty."""

from functools import partial
from pathlib import Path

import pytest

from schemas.registry import RegistryStore
from schemas.registry.records import Deletion
from schemas.tables import EVENTS, LEDGER
from tests.flow.tenant import Tenant, at_ms
from tests.http_client import Reply, call
from tests.installation import Installation, eventually
from tests.stream.builders import rows


def events(tenant: Tenant) -> int:
    """Events by the summary; -1 without access."""
    reply = tenant.ask("summary")
    if reply.status != 200 or not reply.json["data"][0]["success"]:
        return -1
    total: int = reply.json["data"][0]["data"][0]["total_events"]
    return total


def holds(tenant: Tenant, count: int) -> bool:
    return events(tenant) == count


def manage(tenant: Tenant, method: str, path: str) -> Reply:
    url = f"{tenant.stack.query_url}/v1/websites/{tenant.website.id}{path}"
    return call(method, url, None, {"x-api-key": tenant.key})


def deleted(tenant: Tenant) -> Reply:
    return manage(tenant, "DELETE", f"?domain={tenant.website.domain}")


def stored_websites(stack: Installation) -> set[str]:
    return {website for (website,) in rows(stack.settings, EVENTS, "website_id")}


def deletion(tenant: Tenant) -> Deletion:
    store = RegistryStore(tenant.stack.settings.registry_url)
    try:
        return store.get(Deletion, tenant.website.id)
    finally:
        store.close()


@pytest.mark.long
def test_a_website_is_deleted_restored_purged_and_made_again(tmp_path: Path) -> None:
    items = [
        {"name": "screen_view", "path": "https://shop.example/", "timestamp": at_ms("10:00:00")},
        {"name": "purchase", "timestamp": at_ms("10:01:00")},
    ]
    with Installation(tmp_path / "data", batch_seconds=0.3, partitions=1) as stack:
        tenant, other = Tenant.create(stack), Tenant.create(stack, "other.example")
        for each in (tenant, other):
            assert each.send(items).json["count"] == 2
            eventually(partial(holds, each, 2))

        statuses = [200]

        def sends() -> int:
            """One more request; its status."""
            statuses.append(tenant.send(items).status)
            return statuses[-1]

        assert deleted(tenant).status == 200
        assert events(tenant) == -1
        eventually(lambda: sends() == 403)
        assert manage(tenant, "POST", "/restore").status == 200
        eventually(lambda: sends() == 200)
        eventually(lambda: events(tenant) == 2 * statuses.count(200))
        assert deleted(tenant).status == 200
        settings = stack.settings

    ports = {name: getattr(settings, name) for name in settings.__struct_fields__ if "port" in name}
    again = {**ports, "batch_seconds": 0.3, "partitions": 1, "compact_seconds": 0.5}
    with Installation(tmp_path / "data", purge_days=0, **again) as stack:
        tenant = Tenant(stack, tenant.organization, tenant.website, tenant.link, tenant.key)
        other = Tenant(stack, other.organization, other.website, other.link, other.key)
        eventually(lambda: deletion(tenant).purged_at is not None)
        assert stored_websites(stack) == {other.website.id}
        entries = rows(stack.settings, LEDGER, "subject_id", "stored")
        assert sum(stored for website, stored in entries if website == tenant.website.id) == 0
        stack.tidemark(
            *("websites", "create", "--organization", tenant.organization.id),
            *("--id", tenant.website.id, "--domain", "shop.example"),
        )
        eventually(lambda: events(tenant) == 0)
        assert events(other) == 2
        assert tenant.send(items).status == 200
        eventually(lambda: events(tenant) == 2)
        findings = [check["findings"] for check in stack.tidemark("doctor")]
        assert not any(findings), findings
