"""Links for people arrive by mail, at a real mail server, and work."""

import asyncio
import re
from pathlib import Path

from msgspec.json import encode

from query.resources.invitations import MAILS
from schemas.registry import Account
from tests.asgi_client import send_request
from tests.query.people import OWNER, PASSWORD, PersonBrowser, invited, owner_of, token_of
from tests.query.query_service import InProcessService, start_service
from tests.query.sign_in.browser import OWN_PAGE
from tests.smtp_server import SmtpServer

ANNA = "anna@shop.example"
SENDER = "Tidemark <stats@shop.example>"


def service_with(tmp_path: Path, port: int) -> InProcessService:
    """A service that mails to a port of this machine."""
    return start_service(
        tmp_path,
        smtp_url=f"smtp://127.0.0.1:{port}",
        mail_from=SENDER,
        query_url="https://s.example",
    )


def link_in(server: SmtpServer) -> str:
    """The link of the last mail."""
    body = server.messages[-1].get_body(("plain",))
    assert body is not None
    found = re.search(r"https://\S+", body.get_content())
    assert found is not None
    return found[0]


def test_an_invitation_is_mailed_and_its_link_is_not_shown(tmp_path: Path) -> None:
    with SmtpServer() as server:
        service = service_with(tmp_path, server.port)
        owner = owner_of(service)
        person = invited(owner, ANNA, role="analyst")
        link = link_in(server)
        browser = PersonBrowser(service)
        body = {"token": token_of(link), "password": PASSWORD}
        accepted = browser.ask("POST", "/v1/invitations/accept", body)

    assert person["invitation"]["link"] is None
    assert person["invitation"]["mailed"] is True
    assert server.recipients == [ANNA]
    assert link.startswith("https://s.example/invitation#")
    assert accepted.status == 200
    (account,) = service.store.list(Account, email=ANNA)
    assert account.email_proved is True


def test_a_link_is_shown_when_the_mail_is_refused(tmp_path: Path) -> None:
    with SmtpServer(replies={"RCPT": "550 5.1.1 no such user"}) as server:
        owner = owner_of(service_with(tmp_path, server.port))

        invitation = invited(owner, ANNA, role="viewer")["invitation"]

    assert invitation["mailed"] is False
    assert invitation["link"].startswith("https://s.example/invitation#")
    assert "550 5.1.1 no such user" in invitation["problem"]


def test_a_forgotten_password_is_reset_by_mail(tmp_path: Path) -> None:
    with SmtpServer() as server:
        service = service_with(tmp_path, server.port)
        owner_of(service)
        replies = asyncio.run(forget(service, "nobody@shop.example", OWNER))
        body = {"token": token_of(link_in(server)), "password": "another tide pool"}
        browser = PersonBrowser(service)
        reset = browser.ask("POST", "/v1/sign-in/password", body)

    assert replies == [(202, {"success": True})] * 2  # it gives nothing away
    assert server.recipients == [OWNER]
    assert (reset.status, reset.json["email"]) == (200, OWNER)
    assert browser.sign_in_with(OWNER, "another tide pool").status == 200


async def forget(service: InProcessService, *emails: str) -> list[tuple[int, object]]:
    """Ask for new passwords, and wait for the mails."""
    path, headers = "/v1/sign-in/reset", OWN_PAGE
    replies = [
        await send_request(service.app, "POST", path, [encode({"email": email})], headers)
        for email in emails
    ]
    await asyncio.gather(*MAILS)
    return [(reply.status, reply.json) for reply in replies]
