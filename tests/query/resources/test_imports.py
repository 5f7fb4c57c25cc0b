"""Imports over HTTP: permissions to create, list and undo them, and their fields."""

from typing import Any

import pytest

from schemas.registry import Import, ImportState, record_limits
from tests.query.lake import an_event
from tests.query.query_service import NOW, InProcessService

IMPORTS = "/v1/imports"
ADMIN = "acme-admin"
BODY = {"websiteId": "shop", "name": "visits.csv"}


def create(service: InProcessService, **more: Any) -> dict[str, Any]:
    reply = service.ask("POST", IMPORTS, {**BODY, **more}, key=ADMIN)
    assert reply.status == 201, reply.json
    one: dict[str, Any] = reply.json["data"]
    return one


def test_an_import_is_made_and_found(service: InProcessService) -> None:
    one = create(service)

    assert one.pop("id").startswith("imp_")
    assert one == {
        "organizationId": "acme",
        "websiteId": "shop",
        "name": "visits.csv",
        "state": "open",
        "accepted": 0,
        "rejected": 0,
        "removed": 0,
        "createdAt": "2026-11-30T00:53:20.000Z",
        "updatedAt": "2026-11-30T00:53:20.000Z",
    }


def test_imports_are_listed_by_website_page_by_page(service: InProcessService) -> None:
    first, second, other = create(service), create(service), create(service, websiteId="blog")

    everything = service.ask("GET", IMPORTS, key=ADMIN).json
    of_shop = service.ask("GET", IMPORTS, key=ADMIN, websiteId="shop", limit="1", page="2").json

    assert {one["id"] for one in everything["data"]} == {first["id"], second["id"], other["id"]}
    assert of_shop["meta"] == {"page": 2, "limit": 1, "total": 2}
    assert of_shop["data"][0]["websiteId"] == "shop"


def test_the_rows_that_are_stored_are_counted(service: InProcessService) -> None:
    one = create(service)
    path = f"{IMPORTS}/{one['id']}"
    assert service.ask("GET", path, key=ADMIN).json["data"] == {**one, "stored": 0}

    service.holds(
        *(an_event(import_id=name) for name in (one["id"], one["id"], "imp_other", None)),
        an_event(website_id="blog", import_id=one["id"]),
    )

    assert service.ask("GET", path, key=ADMIN).json["data"] == {**one, "stored": 2}


def test_nothing_is_stored_of_what_is_undone_though_the_pinned_version_is_a_moment_old(
    service: InProcessService,
) -> None:
    one = create(service)
    service.holds(an_event(import_id=one["id"]))
    service.store.update(Import, one["id"], NOW, state=ImportState.UNDONE, removed=1)

    found = service.ask("GET", f"{IMPORTS}/{one['id']}", key=ADMIN).json["data"]

    assert (found["state"], found["removed"], found["stored"]) == ("undone", 1, 0)


def test_an_import_that_is_deleted_is_being_undone(service: InProcessService) -> None:
    one = create(service)
    path = f"{IMPORTS}/{one['id']}"

    first, second = service.ask("DELETE", path, key=ADMIN), service.ask("DELETE", path, key=ADMIN)

    assert (first.status, second.status) == (202, 202)
    assert first.json == second.json == {"success": True, "data": {**one, "state": "undoing"}}
    service.store.update(Import, one["id"], NOW, state=ImportState.UNDONE, removed=7)
    again = service.ask("DELETE", path, key=ADMIN).json["data"]
    assert (again["state"], again["removed"]) == ("undone", 7)


@pytest.mark.parametrize("key", [None, "acme", "globex", "acme-track"])
def test_imports_take_a_key_that_manages_websites(
    service: InProcessService, key: str | None
) -> None:
    one = create(service)
    status = 401 if key is None else 403

    answers = [
        service.ask("POST", IMPORTS, BODY, key=key),
        service.ask("GET", IMPORTS, key=key),
        service.ask("GET", f"{IMPORTS}/{one['id']}", key=key),
        service.ask("DELETE", f"{IMPORTS}/{one['id']}", key=key),
    ]

    assert [response.status for response in answers] == [status] * 4


def test_imports_of_others_are_as_if_they_were_not(service: InProcessService) -> None:
    other = Import(
        id="imp_r", organization_id="globex", website_id="rival", name="r",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    service.store.create(other)

    assert service.ask("GET", f"{IMPORTS}/imp_r", key=ADMIN).status == 404
    assert service.ask("DELETE", f"{IMPORTS}/imp_r", key=ADMIN).status == 404
    assert service.ask("GET", IMPORTS, key=ADMIN, websiteId="rival").status == 403
    assert service.ask("POST", IMPORTS, {**BODY, "websiteId": "rival"}, key=ADMIN).status == 403
    assert service.ask("GET", IMPORTS, key=ADMIN).json["data"] == []
    assert service.store.get(Import, "imp_r").state is ImportState.OPEN


def test_too_many_imports_are_refused(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limits, "MAX_RECORDS", {Import: 1})
    create(service)

    reply = service.ask("POST", IMPORTS, BODY, key=ADMIN)

    assert (reply.status, reply.json) == (
        409,
        {
            "success": False,
            "error": "The organization has 1 imports, its maximum; undo one first",
            "code": "CONFLICT",
        },
    )


def test_a_name_is_needed(service: InProcessService) -> None:
    assert service.ask("POST", IMPORTS, {**BODY, "name": " "}, key=ADMIN).status == 400
    assert service.ask("GET", IMPORTS, key=ADMIN, limit="0").status == 400
