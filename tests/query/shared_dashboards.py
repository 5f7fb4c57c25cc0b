"""A shared dashboard in tests: created with a key, opened by its link, asked by its access."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from msgspec import Struct

from tests.asgi_client import ADDRESS, request_once
from tests.http_client import Reply
from tests.query.query_service import NOVEMBER, InProcessService

NUMBERS = count()


def link_of(share: Mapping[str, Any]) -> str:
    """The text of the link in a response that creates a share."""
    return str(share["path"]).removeprefix("/s/")


class SharedDashboard(Struct, kw_only=True):
    """One share of the shop, and its access token once it is open."""

    service: InProcessService
    share: Mapping[str, Any]
    access: str = ""

    def ask(self, method: str, path: str, body: object = None, address: str = ADDRESS) -> Reply:
        """One request with the access token."""
        headers = {"authorization": f"Bearer {self.access}"} if self.access else {}
        return request_once(self.service.app, method, path, body, headers, address)

    def open(self, password: str | None = None, address: str = ADDRESS) -> Reply:
        """Open the link, and keep the access token."""
        body = {"link": link_of(self.share)} | ({"password": password} if password else {})
        reply = request_once(self.service.app, "POST", "/v1/shares/open", body, {}, address)
        if reply.status == 200:
            self.access = reply.json["access"]
        return reply

    def query(self, *parameters: object, website: str = "shop", **more: Any) -> Reply:
        """One standard request about November 2026."""
        body = {"parameters": list(parameters), **NOVEMBER, **more}
        return self.ask("POST", f"/v1/query?website_id={website}", body)

    def metrics(self, **body: Any) -> Reply:
        """One metrics query about November 2026."""
        return self.ask("POST", "/v1/query/metrics?website_id=shop", {**NOVEMBER, **body})


def share(service: InProcessService, website: str = "shop", **members: Any) -> SharedDashboard:
    """A new share that nobody has opened yet."""
    body = {"name": f"For client {next(NUMBERS)}", **members}
    reply = service.ask("POST", "/v1/shares", body, key="acme-admin", website_id=website)
    assert reply.status == 201, reply.json
    return SharedDashboard(service=service, share=reply.json["data"])


def opened(service: InProcessService, **members: Any) -> SharedDashboard:
    """A new share that is open."""
    dashboard = share(service, **members)
    reply = dashboard.open(members.get("password"))
    assert reply.status == 200, reply.json
    return dashboard
