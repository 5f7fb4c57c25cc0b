"""People who use the query service of this process with browsers of their own."""

from collections.abc import Mapping
from typing import Any

from tests.http_client import Reply
from tests.query.query_service import InProcessService
from tests.query.sign_in.browser import Browser

PASSWORD = "tide pools at dawn"
OWNER = "olga@shop.example"


class PersonBrowser(Browser):
    """The browser of a person."""

    landed: str = ""
    """The page at which single sign-on ended."""

    def sign_in_with(self, email: str, password: str = PASSWORD, **more: Any) -> Reply:
        """Sign in with a password."""
        return self.ask("POST", "/v1/sign-in", {"email": email, "password": password, **more})

    def me(self) -> Mapping[str, Any]:
        """Who is signed in."""
        reply = self.ask("GET", "/v1/me")
        assert reply.status == 200, reply.json
        json: Mapping[str, Any] = reply.json
        return json

    def data(self, method: str, url: str, body: object = None, status: int = 200) -> Any:
        """The data of an answer."""
        reply = self.ask(method, url, body)
        assert reply.status == status, reply.json
        return reply.json["data"]


def owner_of(service: InProcessService) -> PersonBrowser:
    """The first owner, who has just made the account with the admin key."""
    browser = PersonBrowser(service)
    browser.sign_in("acme-admin")
    account = {"email": OWNER, "password": PASSWORD, "name": "Olga"}
    reply = browser.ask("POST", "/v1/account", account)
    assert reply.status == 201, reply.json
    return browser


def token_of(link: str) -> str:
    """The token of a link."""
    return link.partition("#")[2]


def invited(owner: PersonBrowser, email: str, **roles: Any) -> Any:
    """An invited person, with the invitation."""
    return owner.data("POST", "/v1/people", {"email": email, **roles}, status=201)


def colleague(owner: PersonBrowser, email: str, **roles: Any) -> PersonBrowser:
    """A person who has accepted an invitation."""
    link = invited(owner, email, **roles)["invitation"]["link"]
    browser = PersonBrowser(owner.service)
    body = {"token": token_of(link), "password": PASSWORD}
    reply = browser.ask("POST", "/v1/invitations/accept", body)
    assert reply.status == 200, reply.json
    return browser
