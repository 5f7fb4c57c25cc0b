"""People whom an identity provider vouches for: what they join, and who else gets in with them."""

import asyncio
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from query.app import ENDPOINTS
from query.dependencies import QueryDependencies, QueryEndpoint
from query.resources.vouched_sign_in import sign_in_by_email
from query.response.json_response import json_response
from query.sign_in.identity import Identity
from schemas.http import openapi
from schemas.registry import Account, Member
from schemas.registry.validation import new_key
from tests.asgi_client import request_once, send_request
from tests.http_client import Reply
from tests.query.people import OWNER, PASSWORD, PersonBrowser, invited, owner_of, token_of
from tests.query.query_service import NOW, InProcessService, start_service

VICTIM = "vic@shop.example"
PATH = "/v1/vouched"


def service_for(folder: Path, who: Identity, **settings: Any) -> InProcessService:
    """A service with an endpoint that signs this person in, as the end of single sign-on does."""

    async def vouched(dependencies: QueryDependencies, request: Request) -> Response:
        response = json_response({})
        problem = await sign_in_by_email(dependencies, request, response, who)
        return json_response({"problem": problem}) if problem else response

    operation = openapi.Operation(
        method="POST",
        path=PATH,
        operation_id="vouched",
        tag="Sign-in",
        summary="Sign in",
        responses=(),
        errors=(),
    )
    endpoints = (*ENDPOINTS, QueryEndpoint(vouched, operation))
    return start_service(folder, endpoints=endpoints, **settings)


def ask_as_globex(service: InProcessService, method: str, path: str, body: object = None) -> Reply:
    """A request of an admin of the other organization."""
    key, text = new_key("globex", ["admin"], NOW, name="evil")
    service.store.create(key)
    service.follower.refresh()
    return request_once(service.app, method, path, body, {"x-api-key": text})


def test_another_organization_gets_nothing_by_a_password_that_it_set(tmp_path: Path) -> None:
    service = service_for(tmp_path, Identity(VICTIM, "Vic", (), "oidc"))
    owner, victim, evil = owner_of(service), PersonBrowser(service), PersonBrowser(service)
    body = {"email": VICTIM, "role": "viewer"}
    person = ask_as_globex(service, "POST", "/v1/people", body).json["data"]["id"]
    victim.ask("POST", PATH)
    shown = ask_as_globex(service, "POST", f"/v1/people/{person}/password-reset").json["data"]
    new = {"token": token_of(shown["link"]), "password": PASSWORD}
    assert evil.ask("POST", "/v1/sign-in/password", new).status == 200
    assert evil.sign_in_with(VICTIM).status == 200

    invited(owner, VICTIM, role="admin")
    assert victim.ask("POST", PATH).status == 200

    there = {"organizationId": "acme"}
    assert evil.ask("POST", "/v1/account/organization", there).status == 401
    assert PersonBrowser(service).sign_in_with(VICTIM).status == 401


def test_a_group_does_not_take_the_last_owner_from_an_organization(tmp_path: Path) -> None:
    olga = Identity(OWNER, "Olga", ("staff",), "oidc")
    settings = {"oidc_organization": "acme", "oidc_group_roles": "staff=viewer"}
    service = service_for(tmp_path, olga, **settings)
    owner_of(service)

    assert PersonBrowser(service).ask("POST", PATH).status == 200

    assert [member.role for member in service.store.list(Member)] == ["owner"]


def test_two_tabs_of_a_new_person_both_sign_in(tmp_path: Path) -> None:
    service = service_for(tmp_path, Identity(VICTIM, "Vic", (), "oidc"))
    invited(owner_of(service), VICTIM, role="viewer")

    async def tabs() -> list[Reply]:
        return await asyncio.gather(*(send_request(service.app, "POST", PATH) for _ in range(3)))

    assert [reply.status for reply in asyncio.run(tabs())] == [200] * 3
    assert len(service.store.list(Account, email=VICTIM)) == 1


def test_a_name_of_the_provider_that_cannot_be_stored_is_no_error(tmp_path: Path) -> None:
    service = service_for(tmp_path, Identity(VICTIM, "\ud83d\0 Vic\n", (), "oidc"))
    invited(owner_of(service), VICTIM, role="viewer")

    reply = PersonBrowser(service).ask("POST", PATH)

    assert reply.status == 200
    (account,) = service.store.list(Account, email=VICTIM)
    assert not {"\0", "\n", "\ud83d"} & set(account.name)
