"""The contract of the collector and of links, asked for from a running system."""

from datetime import UTC, datetime

from tests.flow.contract_requests import COUNT, EVENT
from tests.flow.tenant import DAY, Tenant, at_ms
from tests.http_client import accepted_body, call
from tests.installation import eventually


def test_one_event_or_an_array_is_accepted_and_counted(tenant: Tenant) -> None:
    one, several = tenant.send(EVENT), tenant.send([EVENT, EVENT, EVENT])

    assert accepted_body(one) == {"status": "success", "type": "custom_event", "count": 1}
    assert accepted_body(several) == {"status": "success", "type": "custom_event", "count": 3}


def test_a_key_may_track_instead_of_the_website_id(tenant: Tenant) -> None:
    url = f"{tenant.stack.collect_url}/track"
    item = {**EVENT, "websiteId": tenant.website.id, "name": "by key"}

    bearer = call("POST", url, item, {"authorization": f"Bearer {tenant.key}"})

    assert (bearer.status, bearer.json["count"]) == (200, 1)
    eventually(lambda: tenant.grouped_counts("events", "name") == [("by key", 1)])


def test_valid_items_of_a_batch_are_accepted_and_invalid_ones_rejected(tenant: Tenant) -> None:
    reply = tenant.send([{**EVENT, "name": "good"}, {"properties": {}}, {**EVENT, "name": 5}])

    assert (reply.status, reply.json["count"]) == (200, 1)
    assert [each["index"] for each in reply.json["rejected"]] == [1, 2]
    assert all("name" in each["message"] and each["code"] for each in reply.json["rejected"])
    eventually(lambda: tenant.grouped_counts("events", "name") == [("good", 1)])


def test_a_batch_without_a_valid_item_is_rejected(tenant: Tenant) -> None:
    reply = tenant.send([{"properties": {}}])

    assert (reply.status, reply.json["status"]) == (400, "error")
    assert isinstance(reply.json["message"], str)


def test_time_may_be_a_number_or_iso_or_absent(tenant: Tenant) -> None:
    noon = at_ms("12:00:00")
    tenant.send([{"name": "t", "timestamp": t} for t in (noon, noon + 0.9, f"{DAY}T12:00:00Z")])
    query = {
        "table": "events",
        "selects": [COUNT],
        "filters": [{"field": "name", "operator": "eq", "value": "t"}],
    }
    eventually(lambda: tenant.custom(query).json["data"] == [{"n": 3}])
    tenant.send({"name": "t"})

    today = str(datetime.now(UTC).date())
    eventually(lambda: tenant.custom(query, endDate=today).json["data"] == [{"n": 4}])


def test_a_link_is_made_read_changed_listed_and_deleted(tenant: Tenant) -> None:
    base = f"{tenant.stack.query_url}/v1/links"
    headers = {"x-api-key": tenant.key}
    body = {
        "organizationId": tenant.organization.id,
        "name": "Launch",
        "targetUrl": "https://t.example/launch",
        "externalId": "campaign-7",
    }

    created = call("POST", base, body, headers)
    link = created.json["data"]
    assert created.status in (200, 201)
    assert {n: link[n] for n in body} == body

    listed = call(
        "GET",
        f"{base}?organizationId={tenant.organization.id}&externalId=campaign-7",
        None,
        headers,
    )
    assert [each["id"] for each in listed.json["data"]] == [link["id"]]
    changed = call("PATCH", f"{base}/{link['id']}", {"name": "Relaunch"}, headers)
    assert (changed.status, changed.json["data"]["name"]) == (200, "Relaunch")
    assert call("GET", f"{base}/{link['id']}", None, headers).json["data"] == changed.json["data"]

    location = f"{tenant.stack.collect_url}/l/{link['slug']}"
    eventually(lambda: call("GET", location).status == 302)
    assert call("DELETE", f"{base}/{link['id']}", None, headers).status in (200, 204)
    assert call("GET", f"{base}/{link['id']}", None, headers).status == 404
    eventually(lambda: call("GET", location).status == 404)
