"""The organization of a key over HTTP."""

from schemas.registry import Organization
from tests.query.query_service import InProcessService

PATH = "/v1/organization"
WHEN = "2026-11-30T00:53:20.000Z"


def test_an_organization_is_shown_and_renamed(service: InProcessService) -> None:
    acme = {
        "id": "acme",
        "name": "acme",
        "plan": "enterprise",
        "limits": {},
        "keepDays": {},
        "requireSecondFactor": False,
        "createdAt": WHEN,
        "updatedAt": WHEN,
    }

    assert service.ask("GET", PATH, key="acme-admin").json == {"success": True, "data": acme}
    renamed = service.ask("PATCH", PATH, {"name": " Acme GmbH "}, key="acme-admin")

    assert renamed.json == {"success": True, "data": acme | {"name": "Acme GmbH"}}
    assert service.ask("GET", "/v1/me").json["organization"]["name"] == "Acme GmbH"
    assert service.store.get(Organization, "globex").name == "globex"


def test_plan_and_limits_are_the_operators(service: InProcessService) -> None:
    for body in ({"name": "a", "plan": "scale"}, {"limits": {"query": 9}}, {"name": " "}):
        reply = service.ask("PATCH", PATH, body, key="acme-admin")
        assert reply.status == 400, reply.json
    assert service.store.get(Organization, "acme").name == "acme"
