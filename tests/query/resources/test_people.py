"""People: the first owner, invitations, roles, and who may change whom."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from schemas.registry import KEY_SCOPES, Account, Member, passwords
from schemas.registry.signed_tokens import TokenKind, new_token, sign
from schemas.registry.validation import new_key
from tests.asgi_client import send_request
from tests.http_client import Reply
from tests.query.people import (
    OWNER,
    PASSWORD,
    PersonBrowser,
    colleague,
    invited,
    owner_of,
    token_of,
)
from tests.query.query_service import NOVEMBER, NOW, InProcessService, start_service
from tests.query.sign_in.browser import OWN_PAGE

ANNA = "anna@shop.example"
SUMMARY = {"parameters": ["summary"], **NOVEMBER}


@pytest.fixture
def service(unused_service: InProcessService) -> InProcessService:
    """Sign-ins are limited."""
    return unused_service


@pytest.fixture
def owner(service: InProcessService) -> PersonBrowser:
    return owner_of(service)


def statuses(browser: PersonBrowser, method: str, url: str, body: object = None) -> list[int]:
    """The statuses of a request about shop and about blog."""
    return [browser.ask(method, f"{url}?website_id={w}", body).status for w in ("shop", "blog")]


def test_whoever_holds_the_admin_key_becomes_the_first_owner(service: InProcessService) -> None:
    owner = owner_of(service)

    me = owner.me()
    (person,) = owner.data("GET", "/v1/people")
    assert (me["key"], me["scopes"]) == (None, list(KEY_SCOPES))
    assert me["organization"] == {"id": "acme", "name": "acme", "hasOwner": True}
    assert me["person"] == {
        "id": person["id"],
        "email": OWNER,
        "name": "Olga",
        "role": "owner",
        "secondFactorNeeded": False,
    }
    assert person == {
        "id": me["person"]["id"],
        "organizationId": "acme",
        "email": OWNER,
        "name": "Olga",
        "role": "owner",
        "websiteRoles": {},
        "state": "active",
        "secondFactor": False,
        "lastSignInAt": "2026-11-30T00:53:20.000Z",
        "createdAt": "2026-11-30T00:53:20.000Z",
        "updatedAt": "2026-11-30T00:53:20.000Z",
    }
    again = service.ask(
        "POST", "/v1/account", {"email": ANNA, "password": PASSWORD}, key="acme-admin"
    )
    assert (again.status, again.json["code"]) == (409, "CONFLICT")


def test_an_invitation_makes_an_account_and_works_once(owner: PersonBrowser) -> None:
    person = invited(owner, " Anna@Shop.Example ", role="analyst", name="Anna")
    link = person["invitation"]["link"]
    browser = PersonBrowser(owner.service)
    token = {"token": token_of(link)}

    opened = browser.data("POST", "/v1/invitations/open", token)
    accepted = browser.ask(
        "POST", "/v1/invitations/accept", {**token, "password": PASSWORD, "name": "Ann"}
    )

    assert link.startswith("http://127.0.0.1:4001/invitation#")
    assert person["invitation"]["mailed"] is False
    assert (person["email"], person["state"]) == (ANNA, "invited")
    assert opened == {
        "email": ANNA,
        "name": "Anna",
        "organization": "acme",
        "role": "analyst",
        "websites": [],
        "invitedBy": OWNER,
        "hasAccount": False,
        "expires": "2026-12-07T00:53:20.000Z",
    }
    assert (accepted.status, accepted.json["person"]["name"]) == (200, "Ann")
    for body in ({**token, "password": PASSWORD}, {"token": "none", "password": PASSWORD}):
        refused = PersonBrowser(owner.service).ask("POST", "/v1/invitations/accept", body)
        assert (refused.status, refused.json["code"]) == (401, "AUTH_REQUIRED")


def test_a_new_invitation_ends_the_one_before(owner: PersonBrowser) -> None:
    person = invited(owner, ANNA, role="viewer")

    again = owner.data("POST", f"/v1/people/{person['id']}/invitation")

    browser = PersonBrowser(owner.service)
    old, new = ({"token": token_of(each["link"])} for each in (person["invitation"], again))
    assert browser.ask("POST", "/v1/invitations/open", old).status == 401
    assert browser.ask("POST", "/v1/invitations/open", new).status == 200


def test_a_token_of_another_kind_is_no_invitation(owner: PersonBrowser) -> None:
    person = invited(owner, ANNA, role="viewer")
    secret = owner.service.store.sign_ins().read(NOW).secret
    token = sign(new_token(TokenKind.SIGN_IN_LINK, person["id"], NOW + 1000), secret)

    reply = PersonBrowser(owner.service).ask("POST", "/v1/invitations/open", {"token": token})

    assert reply.status == 401


def test_a_weak_password_is_refused_by_its_rule(owner: PersonBrowser) -> None:
    token = token_of(invited(owner, ANNA, role="viewer")["invitation"]["link"])
    browser = PersonBrowser(owner.service)

    reply = browser.ask("POST", "/v1/invitations/accept", {"token": token, "password": "short"})

    assert (reply.status, reply.json["error"]) == (
        400,
        "'password' must have 10 to 200 characters",
    )


def test_whoever_has_an_account_accepts_with_its_password(owner: PersonBrowser) -> None:
    other = PersonBrowser(owner.service)
    colleague(owner, ANNA, role="viewer")
    made = owner.service.store.list(Account, email=ANNA)[0]
    owner.ask("DELETE", f"/v1/people/{person_id(owner, ANNA)}")
    owner.service.store.create(made)  # it is in another organization too
    token = token_of(invited(owner, ANNA, role="viewer")["invitation"]["link"])

    opened = other.data("POST", "/v1/invitations/open", {"token": token})
    wrong = other.ask(
        "POST", "/v1/invitations/accept", {"token": token, "password": "another password"}
    )
    right = other.ask("POST", "/v1/invitations/accept", {"token": token, "password": PASSWORD})

    assert opened["hasAccount"] is True
    assert (wrong.status, right.status) == (401, 200)


def person_id(browser: PersonBrowser, email: str) -> str:
    """The id of a person by the e-mail address."""
    people = {person["email"]: person["id"] for person in browser.data("GET", "/v1/people")}
    return str(people[email])


def test_roles_permit_what_they_say(owner: PersonBrowser) -> None:
    analyst = colleague(owner, ANNA, role="analyst")
    viewer = colleague(owner, "vera@shop.example", role="viewer")
    client = colleague(owner, "client@agency.example", websiteRoles={"shop": "viewer"})
    goal = {"name": "Trial", "event": "trial"}

    asked = [statuses(each, "POST", "/v1/query", SUMMARY) for each in (analyst, viewer, client)]
    saved = [
        statuses(each, "POST", "/v1/goals", {**goal, "name": f"Goal {number}"})
        for number, each in enumerate((analyst, viewer, client))
    ]

    assert asked == [[200, 200], [200, 200], [200, 403]]
    assert saved == [[201, 201], [403, 403], [403, 403]]
    assert [website["id"] for website in client.me()["websites"]] == ["shop"]
    for browser in (analyst, viewer, client):
        assert browser.ask("GET", "/v1/people").status == 403
        assert browser.ask("GET", "/v1/keys").status == 403


def test_a_role_on_a_website_adds_to_that_in_the_organization(owner: PersonBrowser) -> None:
    person = colleague(owner, ANNA, role="viewer", websiteRoles={"shop": "admin"})
    renamed = {"name": "b"}

    assert statuses(person, "POST", "/v1/query", SUMMARY) == [200, 200]
    assert [
        person.ask("PATCH", f"/v1/websites/{website}", renamed).status
        for website in ("shop", "blog")
    ] == [200, 404]
    assert {website["id"]: website["scopes"] for website in person.me()["websites"]} == {
        "blog": ["read:data", "read:links"],
        "shop": list(KEY_SCOPES),
    }
    assert person.ask("GET", "/v1/people").status == 403
    keys = person.data("POST", "/v1/keys", {"scopes": ["read:data"]}, status=201)
    assert keys["websiteId"] == "shop"


def test_a_changed_role_holds_at_once(owner: PersonBrowser) -> None:
    person = colleague(owner, ANNA, role="admin")
    assert person.ask("GET", "/v1/people").status == 200

    owner.data("PATCH", f"/v1/people/{person_id(owner, ANNA)}", {"role": "viewer"})

    assert person.ask("GET", "/v1/people").status == 403
    assert statuses(person, "POST", "/v1/query", SUMMARY) == [200, 200]


def test_a_removed_person_has_no_access_and_no_account(owner: PersonBrowser) -> None:
    person = colleague(owner, ANNA, role="admin")

    removed = owner.ask("DELETE", f"/v1/people/{person_id(owner, ANNA)}")

    assert removed.status == 200
    assert person.ask("GET", "/v1/me").status == 401
    assert PersonBrowser(owner.service).sign_in_with(ANNA).status == 401
    assert owner.service.store.list(Account, email=ANNA) == []


def test_only_owners_touch_owners_and_the_last_one_stays(owner: PersonBrowser) -> None:
    admin = colleague(owner, ANNA, role="admin")
    olga = person_id(owner, OWNER)
    anna = person_id(owner, ANNA)
    touched = [
        admin.ask("PATCH", f"/v1/people/{olga}", {"role": "viewer"}),
        admin.ask("DELETE", f"/v1/people/{olga}"),
        admin.ask("POST", f"/v1/people/{olga}/password-reset"),
        admin.ask("POST", f"/v1/people/{olga}/sign-out"),
        admin.ask("DELETE", f"/v1/people/{olga}/second-factor"),
        admin.ask("PATCH", f"/v1/people/{anna}", {"role": "owner"}),
        admin.ask("POST", "/v1/people", {"email": "x@shop.example", "role": "owner"}),
        owner.service.ask("PATCH", f"/v1/people/{anna}", {"role": "owner"}, key="acme-admin"),
    ]
    last = [
        owner.ask("PATCH", f"/v1/people/{olga}", {"role": "admin"}),
        owner.ask("DELETE", f"/v1/people/{olga}"),
    ]

    assert [reply.status for reply in touched] == [403] * 8
    assert [reply.status for reply in last] == [409, 409]
    owner.data("PATCH", f"/v1/people/{anna}", {"role": "owner"})
    assert owner.ask("DELETE", f"/v1/people/{olga}").status == 200


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"email": "anna", "role": "viewer"}, "'email' is 'anna'; give an address such as"),
        ({"email": "a@b.example\n", "role": "god"}, "'role' is 'god'; use one of owner, admin"),
        (
            {"email": "\u212aim@b.example", "role": "viewer"},
            "'email' is '\u212aim@b.example'; give",
        ),
        ({"email": ANNA}, "Give 'role', or 'websiteRoles' with at least one website"),
        (
            {"email": ANNA, "websiteRoles": {"shop": "owner"}},
            "'websiteRoles.shop' is 'owner'; use one of admin, analyst, viewer",
        ),
    ],
)
def test_bad_invitations_name_the_rule(
    owner: PersonBrowser, body: dict[str, object], rule: str
) -> None:
    reply = owner.ask("POST", "/v1/people", body)

    assert (reply.status, reply.json["error"][: len(rule)]) == (400, rule)


def test_nobody_is_invited_to_a_website_of_others(owner: PersonBrowser) -> None:
    body = {"email": ANNA, "websiteRoles": {"rival": "viewer"}}

    assert owner.ask("POST", "/v1/people", body).status == 403


def test_nobody_is_invited_twice(owner: PersonBrowser) -> None:
    invited(owner, ANNA, role="viewer")

    reply = owner.ask("POST", "/v1/people", {"email": ANNA.upper(), "role": "viewer"})

    assert (reply.status, reply.json["error"]) == (
        409,
        f"{ANNA} is here already, or invited: change the roles, or invite again",
    )


def test_a_reset_link_sets_the_password_once_and_ends_sessions(owner: PersonBrowser) -> None:
    person = colleague(owner, ANNA, role="viewer")
    links = [
        owner.data("POST", f"/v1/people/{person_id(owner, ANNA)}/password-reset")["link"]
        for _ in range(2)
    ]
    stranger = PersonBrowser(owner.service)
    body = {"token": token_of(links[0]), "password": "another tide pool"}

    first = stranger.ask("POST", "/v1/sign-in/password", body)
    again = stranger.ask("POST", "/v1/sign-in/password", body)
    other = stranger.ask("POST", "/v1/sign-in/password", {**body, "token": token_of(links[1])})

    assert (first.status, first.json) == (200, {"success": True, "email": ANNA})
    assert (again.status, other.status) == (401, 401)
    assert person.ask("GET", "/v1/me").status == 401
    assert stranger.sign_in_with(ANNA).status == 401
    assert stranger.sign_in_with(ANNA, "another tide pool").status == 200


def test_the_audit_trail_names_people(owner: PersonBrowser) -> None:
    admin = colleague(owner, ANNA, role="admin")
    admin.data("POST", "/v1/goals?website_id=shop", {"name": "Trial", "event": "trial"}, 201)

    entries = owner.data("GET", f"/v1/audit?actor=person:{ANNA}")

    assert (entries[0]["actor"], entries[0]["kind"]) == (f"person:{ANNA}", "goal")
    text = str(owner.data("GET", "/v1/audit"))
    assert "argon2" not in text
    assert "password" not in text


@pytest.mark.parametrize(("method", "body"), [("DELETE", None), ("PATCH", {"role": "viewer"})])
def test_the_last_owner_stays_though_another_process_removed_the_others(
    owner: PersonBrowser, method: str, body: object
) -> None:
    colleague(owner, ANNA, role="owner")
    anna, olga = person_id(owner, ANNA), person_id(owner, OWNER)
    owner.service.store.delete(Member, anna)  # this process does not know yet

    reply = owner.ask(method, f"/v1/people/{olga}", body)

    assert reply.status == 409
    assert [member.role for member in owner.service.store.list(Member)] == ["owner"]


def test_an_address_that_is_invited_already_gets_no_account_as_first_owner(
    service: InProcessService,
) -> None:
    service.ask("POST", "/v1/people", {"email": ANNA, "role": "viewer"}, key="acme-admin")

    reply = service.ask(
        "POST", "/v1/account", {"email": ANNA, "password": PASSWORD}, key="acme-admin"
    )

    assert reply.status == 409
    assert service.store.list(Account) == []


def test_an_organization_gets_one_first_owner(service: InProcessService) -> None:
    headers = {"x-api-key": service.keys["acme-admin"]}

    async def both() -> list[Reply]:
        bodies = [{"email": f"{name}@shop.example", "password": PASSWORD} for name in ("a", "b")]
        return await asyncio.gather(
            *(
                send_request(
                    service.app, "POST", "/v1/account", [json.dumps(body).encode()], headers
                )
                for body in bodies
            )
        )

    assert sorted(reply.status for reply in asyncio.run(both())) == [201, 409]
    assert service.store.count(Member) == 1
    assert service.store.count(Account) == 1


def test_an_invitation_that_ends_while_it_is_accepted_makes_no_account(
    owner: PersonBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, store = invited(owner, ANNA, role="viewer"), owner.service.store
    body = {"token": token_of(person["invitation"]["link"]), "password": PASSWORD}
    hashed = passwords.hash_password

    def slow(password: str) -> str:
        store.delete(Member, person["id"])
        return hashed(password)

    monkeypatch.setattr(passwords, "hash_password", slow)
    reply = PersonBrowser(owner.service).ask("POST", "/v1/invitations/accept", body)

    assert reply.status == 401
    assert store.list(Account, email=ANNA) == []


def test_an_invitation_that_was_replaced_while_it_was_accepted_is_refused(
    owner: PersonBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, store = invited(owner, ANNA, role="viewer"), owner.service.store
    body = {"token": token_of(person["invitation"]["link"]), "password": PASSWORD}
    hashed = passwords.hash_password

    def slow(password: str) -> str:
        store.update(Member, person["id"], NOW, invitation="another")
        return hashed(password)

    monkeypatch.setattr(passwords, "hash_password", slow)
    reply = PersonBrowser(owner.service).ask("POST", "/v1/invitations/accept", body)

    assert reply.status == 401
    assert store.get(Member, person["id"]).account_id is None


def test_a_reset_link_that_two_requests_bring_at_once_works_once(owner: PersonBrowser) -> None:
    colleague(owner, ANNA, role="viewer")
    link = owner.data("POST", f"/v1/people/{person_id(owner, ANNA)}/password-reset")["link"]

    async def both() -> list[Reply]:
        bodies = [{"token": token_of(link), "password": f"another pool {n}"} for n in (1, 2)]
        return await asyncio.gather(
            *(
                send_request(
                    owner.service.app,
                    "POST",
                    "/v1/sign-in/password",
                    [json.dumps(body).encode()],
                    OWN_PAGE,
                )
                for body in bodies
            )
        )

    assert sorted(reply.status for reply in asyncio.run(both())) == [200, 401]


def test_the_audit_trail_has_what_admins_do_to_accounts(owner: PersonBrowser) -> None:
    colleague(owner, ANNA, role="viewer")
    path = f"/v1/people/{person_id(owner, ANNA)}"
    before = len(owner.data("GET", "/v1/audit"))

    for method, action in (("POST", "password-reset"), ("POST", "sign-out")):
        assert owner.ask(method, f"{path}/{action}").status == 200
    (account,) = owner.service.store.list(Account, email=ANNA)
    owner.service.store.update(Account, account.id, NOW, second_factor=True)
    assert owner.ask("DELETE", f"{path}/second-factor").status == 200

    entries = owner.data("GET", "/v1/audit")
    assert len(entries) == before + 3
    assert {entry["actor"] for entry in entries[:3]} == {f"person:{OWNER}"}


def test_where_passwords_are_switched_off_the_first_owner_has_none(tmp_path: Path) -> None:
    service = start_service(tmp_path, password_sign_in=False)
    body = {"email": OWNER, "password": PASSWORD}

    reply = service.ask("POST", "/v1/account", body, key="acme-admin")

    assert (reply.status, service.store.count(Account)) == (403, 0)


def test_who_signs_in_with_a_personal_key_stays_within_the_roles(owner: PersonBrowser) -> None:
    colleague(owner, ANNA, role="viewer")
    key, text = new_key("acme", ["admin"], NOW, name="Anna's")
    owner.service.store.create(replace(key, person_id=person_id(owner, ANNA)))
    owner.service.follower.refresh()
    browser, body = PersonBrowser(owner.service), {"name": "Mine"}

    by_header = browser.ask("PATCH", "/v1/organization", body, {"x-api-key": text})
    assert browser.ask("POST", "/v1/sign-in", {"key": text}).status == 200
    by_cookie = browser.ask("PATCH", "/v1/organization", body)

    assert (by_header.status, by_cookie.status) == (403, 403)
