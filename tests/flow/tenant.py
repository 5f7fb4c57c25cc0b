"""Tenant of a running installation: website, key and link, and the requests it sends."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from msgspec import Struct

from schemas.registry import KEY_SCOPES, Link, Organization, RegistryStore, Website, validation
from schemas.runtime.clock import now_ms
from tests.http_client import Reply, call
from tests.installation import Installation, eventually

CHROME_USER_AGENT = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/141.0.0.0 Safari/537.36"
)
IPHONE_USER_AGENT = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1"
)

DAY = (datetime.now(UTC) - timedelta(days=3)).date()
"""The day on which the tests' events happen: within what the collector takes as live."""


def at_ms(clock: str) -> int:
    """Unix milliseconds of a UTC time of DAY, e.g. `at("10:00:00")`."""
    return round(datetime.fromisoformat(f"{DAY}T{clock}+00:00").timestamp() * 1000)


class Tenant(Struct, frozen=True):
    """One organization with a website, a link and a key that may do everything but administer."""

    stack: Installation
    organization: Organization
    website: Website
    link: Link
    key: str

    @classmethod
    def create(
        cls, stack: Installation, domain: str = "shop.example", plan: str = "enterprise"
    ) -> Self:
        """Registered, and known to both services."""
        store = RegistryStore(stack.settings.registry_url)
        now = now_ms()
        organization = store.create(validation.new_organization("Acme", plan, now))
        link = store.create(
            validation.new_link(organization.id, "Spring", "https://t.example/", now)
        )
        scopes = [scope for scope in KEY_SCOPES if scope != "admin"]
        key, text = validation.new_key(organization.id, scopes, now)
        store.create(key)
        # The last one: who knows the website has read all the others.
        website = store.create(validation.new_website(organization.id, domain, now))
        store.close()
        tenant = cls(stack, organization, website, link, text)
        eventually(tenant.is_known)
        return tenant

    def is_known(self) -> bool:
        """Whether both services have read the registry since."""
        error_reply = self.custom({"table": "events", "selects": []})
        sent = self.send([])
        return not {error_reply.status, sent.status} & {401, 403}

    def send(self, items: object, route: str = "/track", agent: str = CHROME_USER_AGENT) -> Reply:
        """Post items from a browser."""
        parameter = "website_id" if route == "/track" else "client_id"
        url = f"{self.stack.collect_url}{route}?{parameter}={self.website.id}"
        return call("POST", url, items, {"user-agent": agent, "content-type": "application/json"})

    def ask(
        self, *parameters: object, link: bool = False, key: str | None = None, **more: Any
    ) -> Reply:
        """A standard query over DAY."""
        subject = f"link_id={self.link.id}" if link else f"website_id={self.website.id}"
        body = {"parameters": parameters, "startDate": str(DAY), "endDate": str(DAY), **more}
        return self._query(f"/v1/query?{subject}", body, key)

    def rows(self, parameter: str, **more: Any) -> list[dict[str, Any]]:
        """The rows of one standard query."""
        reply = self.ask(parameter, **more)
        assert reply.status == 200, reply.body
        rows: list[dict[str, Any]] = reply.json["data"][0]["data"]
        return rows

    def custom(self, query: object, key: str | None = None, **more: Any) -> Reply:
        """A custom query over DAY."""
        body = {"query": query, "startDate": str(DAY), "endDate": str(DAY), **more}
        return self._query(f"/v1/query/custom?website_id={self.website.id}", body, key)

    def grouped_counts(
        self, table: str, *fields: str, filters: Sequence[object] = (), **more: Any
    ) -> list[tuple[Any, ...]]:
        """How many rows of a table have which values in up to five columns."""
        reply = self.custom(
            {
                "table": table,
                "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
                "filters": filters,
                "groupBy": fields,
            },
            **more,
        )
        assert reply.status == 200, reply.body
        found = [tuple(row[name] for name in (*fields, "n")) for row in reply.json["data"]]
        return sorted(found, key=repr)

    def _query(self, target: str, body: object, key: str | None) -> Reply:
        headers = {"x-api-key": self.key if key is None else key}
        return call("POST", self.stack.query_url + target, body, headers)
