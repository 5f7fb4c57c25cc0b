"""A tracked website of the tests: its pages, and the rows stored for them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from query.client import Client
from tests.browser.web_site import Html, WebSite
from tests.flow.tenant import Tenant
from tests.installation import eventually

OTHER_HOST = "localhost"
"""The pages are there; the collector is at 127.0.0.1, which is another host for a browser."""

NOW = datetime.now(UTC)
TIME_RANGE = {"start": (NOW - timedelta(days=1)).date(), "end": (NOW + timedelta(days=1)).date()}

VIEW, EXIT, OUTBOUND = "screen_view", "page_exit", "outbound_click"

Row = dict[str, Any]


class TrackedWebsite(Struct, frozen=True):
    """One website whose pages say where their items go."""

    tenant: Tenant
    site: WebSite

    @property
    def collect_url(self) -> str:
        return self.tenant.stack.collect_url

    @property
    def client(self) -> Client:
        return Client(self.tenant.stack.query_url, key=self.tenant.key)

    def tag(self, more: str = "", source: str = "", name: str = "tidemark") -> str:
        """A script tag as a site pastes it."""
        source = source or f"{self.collect_url}/{name}.js"
        website = f'data-website-id="{self.tenant.website.id}"'
        return f'<script defer src="{source}" {website} {more}></script>'

    def add_page(self, path: str, *parts: str, policy: str = "", host: str = OTHER_HOST) -> str:
        """Puts a page there; its address."""
        headers = {"content-security-policy": policy} if policy else {}
        title = path.strip("/").replace("/", " ").capitalize()
        head = f"<!doctype html><meta charset=utf-8><title>{title}</title>"
        self.site.pages[path] = Html("".join((head, *parts)), headers)
        return self.site.url(path, host)

    def other_website(self) -> str:
        """The URL of a page on another host."""
        return self.add_page("/other", "<p>Somebody else", host="127.0.0.1")

    def query(self, query_type: str, path: str) -> list[Row]:
        """The rows of a query type, filtered by path."""
        rows: list[Row] = self.client.ask(
            query_type, website_id=self.tenant.website.id, filters=[path_filter(path)], **TIME_RANGE
        )
        return rows

    def rows(self, path: str, table: str = "events") -> list[Row]:
        """What is stored now of the pages below a place, in the order of its time."""
        rows = self.client.export(
            table,
            website_id=self.tenant.website.id,
            filters=[path_filter(path)],
            include_bots=True,
            **TIME_RANGE,
        )
        return sorted(rows, key=lambda row: str(row["ts"]))

    def stored(self, path: str, count: int, *fields: str, table: str = "events") -> list[Any]:
        """The named columns of what is stored there, as soon as there are so many rows."""
        rows = eventually(lambda: self._rows_when_enough(path, count, table), 20)
        return [picked_fields(row, fields) for row in rows]

    def _rows_when_enough(self, path: str, count: int, table: str) -> list[Row]:
        rows = self.rows(path, table)
        return rows if len(rows) >= count else []


def path_filter(path: str) -> dict[str, str]:
    """A filter for the pages below a place."""
    return {"field": "path", "operator": "starts_with", "value": path}


def picked_fields(row: Row, fields: Sequence[str]) -> Any:
    """One column as it is, several as a tuple, all of them when none is named."""
    if not fields:
        return row
    values = tuple(row[field] for field in fields)
    return values if len(values) > 1 else values[0]
