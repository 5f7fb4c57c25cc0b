"""Changes of websites, keys and links that change nothing, and a registry that hangs."""

import threading

import pytest

from query import dependencies
from tests.query.query_service import InProcessService

CREATED = pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/websites", {"domain": "new.example", "allowedOrigins": ["https://new.example"]}),
        ("/v1/keys", {"name": "reports", "scopes": ["read:data"], "expiresAt": None}),
        ("/v1/links", {"name": "Launch", "targetUrl": "https://t.example/", "externalId": "x"}),
    ],
    ids=("website", "key", "link"),
)


def created(service: InProcessService, path: str, body: dict[str, object]) -> tuple[str, object]:
    """The path of a new record, and the record as it is shown."""
    made = service.ask("POST", path, body, key="acme-admin")
    assert made.status == 201, made.json
    own = f"{path}/{made.json['data']['id']}"
    return own, service.ask("GET", own, key="acme-admin").json


def audited(service: InProcessService) -> int:
    """The number of the newest change."""
    return service.store.changes(1)[0].number


@CREATED
def test_a_body_without_a_field_is_refused(
    service: InProcessService, path: str, body: dict[str, object]
) -> None:
    own, record = created(service, path, body)
    before = audited(service)

    reply = service.ask("PATCH", own, {}, key="acme-admin")

    assert (reply.status, audited(service)) == (400, before)
    rule = "The body has nothing to change; give at least one of '"
    assert reply.json["error"].startswith(rule)
    assert service.ask("GET", own, key="acme-admin").json == record


@CREATED
def test_equal_values_are_no_change(
    service: InProcessService, path: str, body: dict[str, object]
) -> None:
    own, record = created(service, path, body)
    before = audited(service)

    same = service.ask("PATCH", own, body, key="acme-admin")
    assert (same.status, same.json, audited(service)) == (200, record, before)

    name = {"name": "Another"}
    assert service.ask("PATCH", own, name, key="acme-admin").json["data"]["name"] == "Another"
    assert service.store.changes(1)[0].fields == ("name",)


def test_a_registry_that_does_not_answer_holds_no_request(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(dependencies, "REGISTRY_SECONDS", 0.05)
    monkeypatch.setattr(type(service.store), "count", lambda *_, **__: answers.wait(60))

    replies = [service.ask("GET", "/v1/websites", key="acme-admin") for _ in range(6)]

    assert [reply.status for reply in replies] == [503] * 6
    assert replies[0].json["error"] == dependencies.REGISTRY_SILENT
    answers.set()
