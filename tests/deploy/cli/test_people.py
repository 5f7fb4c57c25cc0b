"""tidemark people: invitations, roles, and help for who cannot sign in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from query.app import create_app
from schemas.registry import Account, RegistryStore
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.deploy.cli.command_result import Run
from tests.http_client import Reply
from tests.query.sign_in.browser import OWN_PAGE
from tests.smtp_server import SmtpServer

PASSWORD = "correct horse battery"


@pytest.fixture
def owner(ask: Callable[..., Any]) -> str:
    return str(ask("organizations", "create", "--name", "Acme")["id"])


def post(folder: Path, path: str, body: dict[str, str]) -> Reply:
    """The answer of a query service on the registry of these commands."""
    settings = Settings(data_dir=str(folder))
    store = RegistryStore(settings.registry_url)
    service = create_app(settings, store)
    reply = request_once(service.app, "POST", path, body, OWN_PAGE)
    service.close()
    store.close()
    return reply


def accept(folder: Path, link: str) -> Reply:
    """The answer to a person who opens an invitation and chooses a password."""
    body = {"token": link.partition("#")[2], "password": PASSWORD}
    return post(folder, "/v1/invitations/accept", body)


def sign_in(folder: Path, email: str, password: str = PASSWORD) -> int:
    """The status of a sign-in by password."""
    return post(folder, "/v1/sign-in", {"email": email, "password": password}).status


def test_the_first_owner_is_invited_by_a_link_that_works_once(
    ask: Callable[..., Any], owner: str, tmp_path: Path
) -> None:
    invited = ask(
        "people", "invite", "Ann@Shop.example", "--organization", owner, "--role", "owner"
    )

    assert invited["link"].startswith("http://127.0.0.1:4001/invitation#invite.")
    assert (invited["mailed"], invited["problem"], invited["state"]) == (False, None, "invited")
    assert accept(tmp_path, invited["link"]).json["person"]["role"] == "owner"
    assert accept(tmp_path, invited["link"]).status == 401
    [person] = ask("people", "list", "--organization", owner)
    assert person.pop("lastSignInAt") is not None
    assert person == {
        "id": invited["id"],
        "organizationId": owner,
        "email": "ann@shop.example",
        "name": "",
        "role": "owner",
        "websiteRoles": {},
        "state": "active",
        "secondFactor": False,
        "createdAt": person["createdAt"],
        "updatedAt": person["updatedAt"],
    }


def test_a_new_link_ends_the_one_before(
    ask: Callable[..., Any], run: Run, owner: str, tmp_path: Path
) -> None:
    first = ask("people", "invite", "ann@shop.example", "--organization", owner, "--role", "viewer")
    twice = run("people", "invite", "ann@shop.example", "--organization", owner, "--role", "viewer")

    second = ask("people", "invite-again", "ann@shop.example")

    assert (twice.code, "`tidemark people invite-again` makes a new link" in twice.err) == (2, True)
    assert accept(tmp_path, first["link"]).status == 401
    assert accept(tmp_path, second["link"]).status == 200
    again = run("people", "invite-again", "ann@shop.example")
    assert "has accepted the invitation" in again.err


def test_an_invitation_is_mailed_when_mail_is_set_up(run: Run, owner: str, tmp_path: Path) -> None:
    invite = ("people", "invite", "ann@shop.example", "--organization", owner, "--role", "viewer")
    with SmtpServer() as server:
        mail = {
            "TIDEMARK_SMTP_URL": f"smtp://127.0.0.1:{server.port}",
            "TIDEMARK_MAIL_FROM": "Tidemark <stats@shop.example>",
            "TIDEMARK_QUERY_URL": "https://stats.shop.example/",
        }
        done = run(*invite, **mail)
    failed = run("people", "invite-again", "ann@shop.example", **mail)

    [message] = server.messages
    assert message["Subject"] == "The operator invites you to Acme on Tidemark"
    assert "https://stats.shop.example/invitation#invite." in message.as_string()
    assert (done.code, "#invite." in done.out) == (0, False)
    assert "https://stats.shop.example/invitation#invite." in failed.out
    assert "Error connecting" in failed.out


def test_roles_are_changed_and_the_last_owner_stays(
    ask: Callable[..., Any], run: Run, owner: str, tmp_path: Path
) -> None:
    website = ask("websites", "create", "--organization", owner, "--domain", "shop.example")["id"]
    other = ask("organizations", "create", "--name", "Other")["id"]
    foreign = ask("websites", "create", "--organization", other, "--domain", "other.example")["id"]
    ann = ask("people", "invite", "ann@shop.example", "--organization", owner, "--role", "owner")
    accept(tmp_path, ann["link"])
    ask("people", "invite", "bob@shop.example", "--organization", owner, "--role", "owner")
    change = ("people", "update", "bob@shop.example")

    changed = ask(*change, "--no-role", "--website", f"{website}=analyst")

    assert (changed["role"], changed["websiteRoles"]) == (None, {website: "analyst"})
    for arguments, problem in (
        ((*change,), "nothing to change"),
        ((*change, "--no-websites"), "give --role, or --website with at least one website"),
        ((*change, "--role", "viewer", "--no-role"), "not both"),
        ((*change, "--website", f"{foreign}=viewer"), "does not belong to organization"),
        ((*change, "--website", f"{website}=owner"), "is not ID=ROLE"),
        (("people", "update", "ann@shop.example", "--role", "admin"), "the last owner of an"),
        (("people", "remove", "ann@shop.example"), "the last owner of an organization stays"),
        (("people", "update", "eve@shop.example", "--role", "admin"), "there is nobody with the"),
    ):
        done = run(*arguments)
        assert (done.code, problem in done.err) == (2, True), done.err


def test_who_belongs_to_several_organizations_is_named_with_one(
    ask: Callable[..., Any], run: Run, owner: str, tmp_path: Path
) -> None:
    other = ask("organizations", "create", "--name", "Other")["id"]
    for organization in (owner, other):
        invited = ask(
            "people", "invite", "ann@shop.example", "--organization", organization,
            "--role", "viewer",
        )  # fmt: skip
        assert accept(tmp_path, invited["link"]).status == 200

    assert "is in several; give --organization" in run("people", "remove", "ann@shop.example").err
    assert ask("people", "remove", "ann@shop.example", "--organization", other)["removed"]
    assert sign_in(tmp_path, "ann@shop.example") == 200
    assert ask("people", "remove", "ann@shop.example")["removed"]
    assert sign_in(tmp_path, "ann@shop.example") == 401
    assert ask("people", "list") == []


def test_a_person_gets_a_new_password_by_a_link(
    ask: Callable[..., Any], run: Run, owner: str, tmp_path: Path
) -> None:
    ann = ask("people", "invite", "ann@shop.example", "--organization", owner, "--role", "viewer")
    assert "has no account" in run("people", "reset-password", "ann@shop.example").err
    accept(tmp_path, ann["link"])

    reset = ask("people", "reset-password", "ann@shop.example")

    assert reset["link"].startswith("http://127.0.0.1:4001/sign-in/password#reset.")
    body = {"token": reset["link"].partition("#")[2], "password": "another horse battery"}
    assert post(tmp_path, "/v1/sign-in/password", body).status == 200
    assert post(tmp_path, "/v1/sign-in/password", body).status == 401
    assert sign_in(tmp_path, "ann@shop.example") == 401
    assert sign_in(tmp_path, "ann@shop.example", "another horse battery") == 200


def test_a_lost_second_factor_is_removed(
    ask: Callable[..., Any], owner: str, tmp_path: Path
) -> None:
    ann = ask("people", "invite", "ann@shop.example", "--organization", owner, "--role", "viewer")
    accept(tmp_path, ann["link"])
    store = RegistryStore(Settings(data_dir=str(tmp_path)).registry_url)
    [account] = store.list(Account)
    store.update(Account, account.id, 1, second_factor=True, recovery_hashes=("a", "b"))
    store.close()
    command = ("people", "second-factor", "ann@shop.example")

    shown = {"email": "ann@shop.example", "secondFactor": True, "recoveryCodes": 2}
    assert ask(*command) == shown
    assert sign_in(tmp_path, "ann@shop.example") == 401
    assert ask(*command, "--remove") == {**shown, "secondFactor": False, "recoveryCodes": 0}
    assert sign_in(tmp_path, "ann@shop.example") == 200


def test_all_sessions_of_a_person_are_ended(
    ask: Callable[..., Any], owner: str, tmp_path: Path
) -> None:
    ann = ask("people", "invite", "ann@shop.example", "--organization", owner, "--role", "viewer")
    accept(tmp_path, ann["link"])
    sign_in(tmp_path, "ann@shop.example")

    ended = ask("people", "sign-out", "ann@shop.example")

    assert ended == {"email": "ann@shop.example", "endedSessions": 2}
    assert ask("people", "sign-out", "ann@shop.example")["endedSessions"] == 0
