"""Shop: a tenant whose traffic is stored, and the queries that an analyst sends about it."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, Self
from urllib.parse import quote

from msgspec import Struct

from schemas.registry import RegistryStore, Website, validation
from schemas.runtime.clock import now_ms
from tests.flow.analyst.shop_traffic import (
    FIRST_DAY,
    FIRST_LIVE_DAY,
    GOOGLEBOT,
    LAST_DAY,
    Act,
    Traffic,
    first_ms,
)
from tests.flow.tenant import Tenant
from tests.http_client import Reply, call
from tests.installation import Installation, eventually

LIVE = {"startDate": str(FIRST_LIVE_DAY), "endDate": str(LAST_DAY)}
ALL = {"startDate": str(FIRST_DAY), "endDate": str(LAST_DAY)}
PURCHASE = {"event": "purchase"}
BOTS = 14
MOST_ITEMS = 500
TABLES = {"/track": "events", "/vitals": "vitals", "/errors": "errors", "/engagement": "engagement"}


def is_(field: str, value: object) -> dict[str, object]:
    """The filter that a field has a value."""
    return {"field": field, "operator": "eq", "value": value}


class Shop(Struct, frozen=True):
    """A tenant, its second website, and what its visitors did."""

    tenant: Tenant
    blog: Website
    acts: Sequence[Act]

    @classmethod
    def open(cls, stack: Installation) -> Self:
        """Created, with all traffic stored."""
        tenant = Tenant.create(stack)
        store = RegistryStore(stack.settings.registry_url)
        blog = validation.new_website(tenant.organization.id, "blog.example", now_ms())
        store.create(blog)
        store.close()
        shop = cls(tenant, blog, Traffic().acts)
        eventually(lambda: shop.send("/track", [], website="blog").status not in (401, 403))
        shop._import()
        shop._send_live()
        shop._send_bots()
        eventually(shop.is_stored, seconds=60)
        return shop

    def id_of(self, website: str) -> str:
        return self.blog.id if website == "blog" else self.tenant.website.id

    def send(
        self, route: str, items: object, website: str = "shop", agent: str = "", more: str = ""
    ) -> Reply:
        """Post items from a browser."""
        url = f"{self.tenant.stack.collect_url}{route}?client_id={self.id_of(website)}{more}"
        return call("POST", url, items, {"user-agent": agent})

    def _send_live(self) -> None:
        """Out of order, some items twice."""
        random = Random(3)
        live = [(n, act) for n, act in enumerate(self.acts) if not _is_imported(act)]
        groups: dict[tuple[str, str, str], list[Any]] = {}
        for number, act in random.sample(live, len(live)):
            key = act.route, act.visit.website, act.visit.device.agent
            items = groups.setdefault(key, [])
            items += [_item(number, act)] * random.choice((1, 1, 1, 2))
        for (route, website, agent), items in groups.items():
            for at in range(0, len(items), MOST_ITEMS):
                reply = self.send(route, items[at : at + MOST_ITEMS], website, agent)
                assert reply.status == 200, reply.body

    def _send_bots(self) -> None:
        at = first_ms(LAST_DAY)
        view = {"name": "screen_view", "path": "https://shop.example/docs"}
        items = [{**view, "timestamp": at + n, "anonymousId": f"bot{n}"} for n in range(BOTS)]
        assert self.send("/track", items, agent=GOOGLEBOT).status == 200

    def _import(self) -> None:
        """History of each website, over HTTP."""
        query, collect = self.tenant.stack.query_url, self.tenant.stack.collect_url
        key = {"x-api-key": self.tenant.key}
        for website in ("shop", "blog"):
            target = {"websiteId": self.id_of(website), "name": "history"}
            record = call("POST", f"{query}/v1/imports", target, key).json["data"]
            items = [
                {**_item(number, act), **_known(act), "line": number + 1}
                for number, act in enumerate(self.acts)
                if _is_imported(act) and act.visit.website == website
            ]
            url = f"{collect}/import?import_id={record['id']}"
            for at in range(0, len(items), MOST_ITEMS):
                post = partial(call, "POST", url, items[at : at + MOST_ITEMS], key)
                eventually(partial(_is_accepted, post))

    def is_stored(self) -> bool:
        """Whether every row of both websites can be read."""
        for website in ("shop", "blog"):
            for route, table in TABLES.items():
                wanted = sum((a.route, a.visit.website) == (route, website) for a in self.acts)
                if self.count(table, website) != wanted:
                    return False
        return self.count("events", include_bots=True) == self.count("events") + BOTS

    def count(self, table: str, website: str = "shop", **more: Any) -> int:
        """All rows of a table."""
        select = {"aggregate": "count", "field": "*", "alias": "n"}
        reply = self.custom({"table": table, "selects": [select]}, website=website, **more)
        return int(reply[0]["n"])

    # Queries

    def post(self, path: str, body: Mapping[str, Any], website: str = "shop") -> Reply:
        """One request about a website, over all its traffic unless the body has other dates."""
        range_: Mapping[str, str] = {} if "preset" in body else ALL
        url = f"{self.tenant.stack.query_url}{path}?website_id={self.id_of(website)}"
        return call("POST", url, {**range_, **body}, {"x-api-key": self.tenant.key})

    def rows(self, parameter: object, website: str = "shop", **body: Any) -> list[dict[str, Any]]:
        """The rows of one standard query."""
        found: list[dict[str, Any]] = self.entry(parameter, website, **body)["data"]
        return found

    def entry(self, parameter: object, website: str = "shop", **body: Any) -> dict[str, Any]:
        """The entry of one standard query, with its comparison."""
        reply = self.post("/v1/query", {"parameters": [parameter], **body}, website)
        entry: dict[str, Any] = reply.json["data"][0] if reply.status == 200 else {}
        assert entry.get("success"), reply.body
        return entry

    def metrics(
        self, *metrics: object, by: Sequence[str] = (), **body: Any
    ) -> list[dict[str, Any]]:
        """The rows of one metrics query."""
        website = body.pop("website", "shop")
        asked = {"metrics": metrics, "dimensions": by, "limit": 10_000, **body}
        return self._data("/v1/query/metrics", asked, website)

    def custom(
        self, query: Mapping[str, Any], website: str = "shop", **body: Any
    ) -> list[dict[str, Any]]:
        """The rows of one custom query."""
        return self._data("/v1/query/custom", {"query": query, **body}, website)

    def _data(self, path: str, body: Mapping[str, Any], website: str) -> list[dict[str, Any]]:
        reply = self.post(path, body, website)
        assert reply.status == 200, reply.body
        data: list[dict[str, Any]] = reply.json["data"]
        return data

    def file(self, path: str, body: Mapping[str, Any]) -> list[dict[str, str]]:
        """The lines of a query as CSV."""
        url = f"{self.tenant.stack.query_url}{path}?website_id={self.id_of('shop')}&format=csv"
        reply = call("POST", url, body, self.headers)
        assert reply.status == 200, reply.body
        return list(csv.DictReader(io.StringIO(reply.body.decode())))

    def save(self, kind: str, record: Mapping[str, Any]) -> None:
        """Create a saved record; queries know it when this returns."""
        url = f"{self.tenant.stack.query_url}/v1/{kind}?website_id={self.id_of('shop')}"
        reply = call("POST", url, record, self.headers)
        assert reply.status in (200, 201), reply.body

    def export(self, table: str, **parameters: str) -> Reply:
        """One exported table."""
        target = "&".join(f"{name}={quote(text)}" for name, text in {**ALL, **parameters}.items())
        url = f"{self.tenant.stack.query_url}/v1/export/{table}?{target}"
        return call("GET", f"{url}&website_id={self.id_of('shop')}", None, self.headers)

    @property
    def headers(self) -> dict[str, str]:
        return {"x-api-key": self.tenant.key}


def _is_accepted(post: Callable[[], Reply]) -> bool:
    """Whether the collector knows the import by now and takes the items."""
    return post().status == 200


def _is_imported(act: Act) -> bool:
    return act.ms < first_ms(FIRST_LIVE_DAY)


def _item(number: int, act: Act) -> dict[str, Any]:
    own = {name: value for name, value in act.item.items() if name != "query"}
    address = f"https://{act.visit.website}.example{quote(act.path)}{act.item.get('query', '')}"
    return {
        "eventId": f"e{number}",
        "timestamp": act.ms,
        "anonymousId": act.visit.visitor,
        "sessionId": act.visit.session,
        "timezone": act.visit.timezone,
        "path": address,
        **own,
    }


def _known(act: Act) -> dict[str, Any]:
    """What an export of another tool says beside the item."""
    return {"user_agent": act.visit.device.agent, "country": act.visit.country}
