"""The account of a person: password, second factor, sessions, and what sign-in gives away."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pyotp
import pytest

from schemas.registry import Account, Key, Member, Organization, passwords
from tests.asgi_client import request_once, send_request
from tests.postgresql import MIGRATED, PostgreSQL
from tests.query.people import OWNER, PASSWORD, PersonBrowser, colleague, owner_of
from tests.query.query_service import NOVEMBER, NOW, InProcessService, start_service
from tests.query.sign_in.browser import OWN_PAGE

ANNA = "anna@shop.example"
NEW = "another tide pool"


@pytest.fixture
def service(unused_service: InProcessService) -> InProcessService:
    """Sign-ins are limited."""
    return unused_service


@pytest.fixture
def owner(service: InProcessService) -> PersonBrowser:
    return owner_of(service)


def enrol(browser: PersonBrowser) -> tuple[pyotp.TOTP, list[str]]:
    """Set up a second factor; its recovery codes."""
    secret = browser.data("POST", "/v1/account/second-factor", {"password": PASSWORD})["secret"]
    app = pyotp.TOTP(secret)
    code = {"code": app.at(NOW // 1000 - 30)}  # the step before, so that the present one is unused
    return app, browser.data("PUT", "/v1/account/second-factor", code)["recoveryCodes"]


def test_a_person_signs_in_with_a_password(owner: PersonBrowser) -> None:
    browser = PersonBrowser(owner.service)

    reply = browser.sign_in_with(" Olga@SHOP.example ")

    assert reply.status == 200, reply.json
    assert reply.headers["cache-control"] == "no-store"
    session = reply.headers["set-cookie"].split("\n")[0]
    assert sorted(session.split("; ")[1:]) == [
        "HttpOnly",
        "Max-Age=43200",
        "Path=/",
        "SameSite=strict",
    ]
    assert browser.me()["person"]["email"] == OWNER


def test_wrong_password_and_unknown_account_are_refused_alike(owner: PersonBrowser) -> None:
    wrong, unknown = (
        PersonBrowser(owner.service).sign_in_with(email, "not the password")
        for email in (OWNER, "nobody@shop.example")
    )

    assert (
        (wrong.status, wrong.json)
        == (unknown.status, unknown.json)
        == (
            401,
            {
                "success": False,
                "error": "E-mail address or password are wrong",
                "code": "AUTH_REQUIRED",
            },
        )
    )


@pytest.mark.parametrize("email", [OWNER, "nobody@shop.example"])
def test_attempts_are_limited_by_account(owner: PersonBrowser, email: str) -> None:
    browser = PersonBrowser(owner.service, address="198.51.100.7")

    attempts = [browser.sign_in_with(email, "x" * 12) for _ in range(11)]

    assert [reply.status for reply in attempts] == [401] * 10 + [429]
    assert attempts[-1].json["code"] == "RATE_LIMIT_EXCEEDED"


@pytest.mark.long
def test_attempts_are_limited_by_network(owner: PersonBrowser) -> None:
    browser = PersonBrowser(owner.service, address="198.51.100.7")

    attempts = [browser.sign_in_with(f"p{n}@shop.example", "x" * 12) for n in range(31)]

    assert [reply.status for reply in attempts].count(429) == 1
    assert attempts[-1].status == 429


def test_a_sign_in_gets_a_new_session(owner: PersonBrowser) -> None:
    fixed = owner.cookie

    owner.sign_in_with(OWNER)

    assert owner.cookie != fixed
    owner.cookie, current = fixed, owner.cookie
    assert owner.ask("GET", "/v1/me").status == 401
    owner.cookie = current
    assert owner.ask("GET", "/v1/me").status == 200


def test_sessions_are_listed_and_ended(owner: PersonBrowser) -> None:
    phone = PersonBrowser(owner.service, address="198.51.100.9")
    phone.sign_in_with(OWNER)
    laptop = PersonBrowser(owner.service)
    laptop.sign_in_with(OWNER)

    listed = owner.data("GET", "/v1/account/sessions")
    on_phone = next(session for session in listed if session["network"].startswith("198.51.100."))
    ended = owner.ask("DELETE", f"/v1/account/sessions/{on_phone['id']}")

    assert len(listed) == 3
    assert [session["current"] for session in listed].count(True) == 1
    assert ended.status == 204
    assert (phone.ask("GET", "/v1/me").status, laptop.ask("GET", "/v1/me").status) == (401, 200)
    assert owner.ask("DELETE", "/v1/account/sessions").status == 204
    assert (laptop.ask("GET", "/v1/me").status, owner.ask("GET", "/v1/me").status) == (401, 200)


def test_nobody_ends_a_session_of_others(owner: PersonBrowser) -> None:
    anna = colleague(owner, ANNA, role="admin")
    (session,) = anna.data("GET", "/v1/account/sessions")

    assert owner.ask("DELETE", f"/v1/account/sessions/{session['id']}").status == 404
    assert anna.ask("GET", "/v1/me").status == 200


def test_a_new_password_needs_the_present_one_and_ends_other_sessions(
    owner: PersonBrowser,
) -> None:
    other = PersonBrowser(owner.service)
    other.sign_in_with(OWNER)
    path = "/v1/account"

    missing = owner.ask("PATCH", path, {"newPassword": NEW})
    wrong = owner.ask("PATCH", path, {"newPassword": NEW, "currentPassword": "not this one"})
    right = owner.ask("PATCH", path, {"newPassword": NEW, "currentPassword": PASSWORD})

    assert (missing.status, wrong.status, right.status) == (400, 400, 200)
    assert (other.ask("GET", "/v1/me").status, owner.ask("GET", "/v1/me").status) == (401, 200)
    assert PersonBrowser(owner.service).sign_in_with(OWNER, NEW).status == 200


def test_a_second_factor_is_asked_for_and_its_codes_work_once(owner: PersonBrowser) -> None:
    app, recovery = enrol(owner)
    browser = PersonBrowser(owner.service)
    now = app.at(NOW // 1000)

    without = browser.sign_in_with(OWNER)
    wrong = browser.sign_in_with(OWNER, code="000000" if now != "000000" else "111111")
    right = browser.sign_in_with(OWNER, code=now)

    assert (without.status, without.json["code"]) == (401, "SECOND_FACTOR_REQUIRED")
    assert (wrong.status, wrong.json["code"]) == (401, "SECOND_FACTOR_REQUIRED")
    assert right.status == 200
    again = PersonBrowser(owner.service, address="198.51.100.9").sign_in_with(OWNER, code=now)
    assert (again.status, again.json["code"]) == (401, "SECOND_FACTOR_REQUIRED")
    assert len(recovery) == 10


def test_a_recovery_code_signs_in_once(owner: PersonBrowser) -> None:
    _, recovery = enrol(owner)
    code = recovery[3].upper().replace("-", " ")

    first, again = (PersonBrowser(owner.service).sign_in_with(OWNER, code=code) for _ in range(2))

    assert (first.status, again.status) == (200, 401)
    assert owner.data("GET", "/v1/account")["recoveryCodes"] == 9


def test_codes_of_an_account_are_limited(owner: PersonBrowser) -> None:
    enrol(owner)

    attempts = [PersonBrowser(owner.service).sign_in_with(OWNER, code="123456") for _ in range(6)]

    assert [reply.status for reply in attempts] == [401, 401, 401, 401, 401, 429]


def test_a_second_factor_is_not_in_use_before_a_code_confirms_it(owner: PersonBrowser) -> None:
    owner.data("POST", "/v1/account/second-factor", {"password": PASSWORD})

    wrong = owner.ask("PUT", "/v1/account/second-factor", {"code": "000000"})

    assert wrong.status == 400
    assert PersonBrowser(owner.service).sign_in_with(OWNER).status == 200


def test_a_second_factor_needs_the_password(owner: PersonBrowser) -> None:
    path = "/v1/account/second-factor"

    assert owner.ask("POST", path, {}).status == 400
    assert owner.ask("POST", path, {"password": "not the password"}).status == 400


def test_the_secret_is_stored_sealed(owner: PersonBrowser) -> None:
    app, recovery = enrol(owner)
    (account,) = owner.service.store.list(Account, email=OWNER)

    assert account.totp_secret is not None
    assert app.secret not in account.totp_secret
    assert not {code.replace("-", "") for code in recovery} & set(account.recovery_hashes)
    assert account.password_hash is not None
    assert account.password_hash.startswith("$argon2id$")


def test_a_required_second_factor_bars_who_has_none(owner: PersonBrowser) -> None:
    anna = colleague(owner, ANNA, role="admin")
    enrol(owner)
    owner.data("PATCH", "/v1/organization", {"requireSecondFactor": True})
    summary = {"parameters": ["summary"], **NOVEMBER}

    barred = anna.me()
    refused = anna.ask("POST", "/v1/query?website_id=shop", summary)

    assert (barred["scopes"], barred["websites"]) == ([], [])
    assert barred["person"]["secondFactorNeeded"] is True
    assert refused.status == 403
    assert refused.json["error"].startswith("The organization requires a second factor")
    enrol(anna)
    assert anna.ask("POST", "/v1/query?website_id=shop", summary).status == 200


def test_a_person_goes_from_one_organization_to_another(owner: PersonBrowser) -> None:
    store = owner.service.store
    (account,) = store.list(Account, email=OWNER)
    stamps: Any = {"created_at": NOW, "updated_at": NOW}
    names: Any = {"account_id": account.id, "email": OWNER, "role": "viewer"}
    store.create(Member(id="away", organization_id="globex", **names, **stamps))
    owner.sign_in_with(OWNER)

    there = owner.ask("POST", "/v1/account/organization", {"organizationId": "globex"})
    nowhere = owner.ask("POST", "/v1/account/organization", {"organizationId": "nobody"})

    assert [website["id"] for website in there.json["websites"]] == ["rival"]
    assert there.json["scopes"] == ["read:data", "read:links"]
    assert nowhere.status == 403
    assert owner.me()["organization"]["id"] == "globex"
    organizations = owner.data("GET", "/v1/account")["organizations"]
    assert {each["id"]: each["current"] for each in organizations} == {
        "acme": False,
        "globex": True,
    }
    assert len(owner.data("GET", "/v1/account/sessions")) == 1
    assert store.get(Organization, "globex").name == "globex"


def test_keys_have_no_account(service: InProcessService) -> None:
    owner_of(service)

    reply = service.ask("GET", "/v1/account", key="acme-admin")

    assert (reply.status, reply.json["error"][:40]) == (
        403,
        "Only a person who is signed in with a br",
    )


def test_a_page_of_another_site_cannot_use_the_session(owner: PersonBrowser) -> None:
    for headers in (
        {"sec-fetch-site": "cross-site", "x-tidemark-request": "1"},
        {"sec-fetch-site": "same-origin"},
        {"origin": "https://evil.example", "x-tidemark-request": "1"},
    ):
        reply = owner.ask("PATCH", "/v1/account", {"name": "x"}, headers)
        assert reply.status == 403


def test_a_personal_key_reaches_no_further_than_the_person(owner: PersonBrowser) -> None:
    service = owner.service
    anna = colleague(owner, ANNA, websiteRoles={"shop": "viewer"})
    made = anna.data("POST", "/v1/account/keys", {"name": "notebook", "scopes": ["admin"]}, 201)
    summary = {"parameters": ["summary"], **NOVEMBER}

    def ask(method: str, url: str, body: object = None) -> int:
        reply = request_once(service.app, method, url, body, {"x-api-key": made["key"]})
        return reply.status

    assert ask("POST", "/v1/query?website_id=shop", summary) == 200
    assert ask("POST", "/v1/query?website_id=blog", summary) == 403
    assert ask("GET", "/v1/keys") == 403
    assert ask("GET", "/v1/account") == 403
    assert [key["id"] for key in anna.data("GET", "/v1/account/keys")] == [made["id"]]
    assert owner.data("GET", f"/v1/keys/{made['id']}")["personId"] == made["personId"]
    (person,) = [p for p in owner.data("GET", "/v1/people") if p["email"] == ANNA]
    assert person["id"] == made["personId"]
    assert owner.ask("DELETE", f"/v1/people/{person['id']}").status == 200
    assert ask("POST", "/v1/query?website_id=shop", summary) == 401


def test_scopes_limit_a_personal_key(owner: PersonBrowser) -> None:
    made = owner.data("POST", "/v1/account/keys", {"scopes": ["read:data"]}, 201)
    headers = {"x-api-key": made["key"]}

    me = request_once(owner.service.app, "GET", "/v1/me", None, headers).json

    assert me["scopes"] == ["read:data"]
    assert request_once(owner.service.app, "GET", "/v1/people", None, headers).status == 403
    assert owner.ask("DELETE", f"/v1/account/keys/{made['id']}").status == 204
    assert request_once(owner.service.app, "GET", "/v1/me", None, headers).status == 401


def test_a_refused_password_leaves_the_name(owner: PersonBrowser) -> None:
    body = {"name": "Eve", "newPassword": NEW, "currentPassword": "not this one"}

    assert owner.ask("PATCH", "/v1/account", body).status == 400
    assert owner.data("GET", "/v1/account")["name"] == "Olga"


def test_passwords_that_wait_to_be_verified_leave_threads_for_other_work(
    owner: PersonBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One network may send thirty a minute; queries and ends of sessions use these threads."""
    let = threading.Event()
    monkeypatch.setattr(passwords, "password_matches", lambda *_: let.wait(20))
    bodies = [{"email": f"p{n}@shop.example", "password": "x" * 12} for n in range(30)]

    async def waits() -> None:
        asking = [
            asyncio.ensure_future(
                send_request(
                    owner.service.app, "POST", "/v1/sign-in", [json.dumps(body).encode()], OWN_PAGE
                )
            )
            for body in bodies
        ]
        try:
            await asyncio.sleep(1)
            await asyncio.wait_for(asyncio.to_thread(int), 2)
        finally:
            let.set()
            await asyncio.gather(*asking)

    asyncio.run(waits())


def test_a_null_character_in_an_address_is_no_fault_of_the_registry(tmp_path: Path) -> None:
    with PostgreSQL() as server:
        service = start_service(tmp_path, registry=server.new_database(MIGRATED))
        try:
            reply = PersonBrowser(service).sign_in_with("a\0@shop.example")
        finally:
            service.store.close()

    assert reply.status in (400, 401)


def test_a_sign_in_with_the_old_password_does_not_outlast_a_new_one(
    owner: PersonBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches, changed = passwords.password_matches, list[int]()

    def slow(password: str, hashed: str) -> bool:
        monkeypatch.setattr(passwords, "password_matches", matches)
        body = {"newPassword": NEW, "currentPassword": PASSWORD}
        changed.append(owner.ask("PATCH", "/v1/account", body).status)
        return matches(password, hashed)

    monkeypatch.setattr(passwords, "password_matches", slow)
    other = PersonBrowser(owner.service)
    other.sign_in_with(OWNER)

    assert changed == [200]
    assert other.ask("GET", "/v1/me").status == 401


def test_strangers_who_guess_do_not_keep_a_person_from_the_account(owner: PersonBrowser) -> None:
    stranger = PersonBrowser(owner.service, address="198.51.100.7")
    guesses = [stranger.sign_in_with(OWNER, "x" * 12).status for _ in range(10)]
    body = {"newPassword": NEW, "currentPassword": PASSWORD}

    reply = owner.ask("PATCH", "/v1/account", body)

    assert (guesses, reply.status) == ([401] * 10, 200)


def test_who_asks_for_links_bars_nobody_from_signing_in(tmp_path: Path) -> None:
    service = start_service(
        tmp_path, smtp_url="smtp://127.0.0.1:9", mail_from="Tidemark <t@shop.example>"
    )
    owner_of(service)
    stranger = PersonBrowser(service, address="198.51.100.7")

    asked = [stranger.ask("POST", "/v1/sign-in/reset", {"email": OWNER}).status for _ in range(11)]

    assert (asked[0], asked[-1]) == (202, 429)
    assert PersonBrowser(service).sign_in_with(OWNER).status == 200


def test_a_sign_in_is_in_the_audit_trail_of_the_organization(owner: PersonBrowser) -> None:
    (entry,) = owner.data("GET", "/v1/audit?limit=1")

    assert (entry["actor"], entry["kind"]) == (f"person:{OWNER}", "member")
    assert entry["fields"] == ["lastSignInAt"]


def test_new_recovery_codes_replace_the_old_ones(owner: PersonBrowser) -> None:
    app, recovery = enrol(owner)
    path, code = "/v1/account/second-factor/recovery-codes", {"code": app.at(NOW // 1000)}

    renewed = owner.data("POST", path, code)["recoveryCodes"]

    assert len({*renewed, *recovery}) == 20
    browser = PersonBrowser(owner.service)
    assert browser.sign_in_with(OWNER, code=recovery[0]).status == 401
    assert browser.sign_in_with(OWNER, code=renewed[0]).status == 200


def test_nobody_drops_the_own_second_factor_without_a_code(owner: PersonBrowser) -> None:
    enrol(owner)
    (olga,) = owner.data("GET", "/v1/people")

    refused = [
        owner.ask("DELETE", f"/v1/people/{olga['id']}/second-factor"),
        owner.ask("POST", f"/v1/people/{olga['id']}/password-reset"),
    ]

    assert [reply.status for reply in refused] == [409, 409]


def test_the_audit_trail_has_what_people_change_in_their_accounts(owner: PersonBrowser) -> None:
    enrol(owner)
    owner.data("PATCH", "/v1/account", {"newPassword": NEW, "currentPassword": PASSWORD})

    entries = owner.data("GET", "/v1/audit?kind=member")

    assert [entry["fields"] for entry in entries[:2]] == [["password"], ["secondFactor"]]
    assert entries[0]["record"] == {"email": OWNER}


def test_a_personal_key_is_not_rotated_by_others(owner: PersonBrowser) -> None:
    anna = colleague(owner, ANNA, role="viewer")
    made = anna.data("POST", "/v1/account/keys", {"scopes": ["admin"]}, 201)

    reply = owner.ask("POST", f"/v1/keys/{made['id']}/rotate", {})

    assert (reply.status, reply.json["code"]) == (409, "CONFLICT")
    assert len(owner.service.store.list(Key, person_id=made["personId"])) == 1
