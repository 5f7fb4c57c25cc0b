"""A browser that signs in to the query service of this process."""

from collections.abc import Mapping

from msgspec import Struct

from query.sign_in.session_cookie import SESSION_COOKIE
from tests.asgi_client import ADDRESS, request_once
from tests.http_client import Reply
from tests.query.query_service import InProcessService

OWN_PAGE: Mapping[str, str] = {"x-tidemark-request": "1", "sec-fetch-site": "same-origin"}


class Browser(Struct):
    """It sends the session cookie that it was given, with the headers of its page."""

    service: InProcessService
    cookie: str | None = None
    address: str = ADDRESS

    def ask(
        self, method: str, url: str, body: object = None, headers: Mapping[str, str] = OWN_PAGE
    ) -> Reply:
        """One request; it keeps the cookie of the answer."""
        sent = dict(headers)
        if self.cookie is not None:
            sent["cookie"] = self.cookie
        reply = request_once(self.service.app, method, url, body, sent, self.address)
        if given := reply.headers.get("set-cookie"):
            pairs = [line.partition(";")[0] for line in given.split("\n")]
            self.cookie = next(pair for pair in pairs if f"{SESSION_COOKIE}=" in pair)
        return reply

    def sign_in(self, key: str = "acme") -> Reply:
        """Sign in with a key of the service."""
        return self.ask("POST", "/v1/sign-in", {"key": self.service.keys[key]})
