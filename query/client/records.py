"""Links, imports, saved records and receipts of the client."""

from collections.abc import Iterator
from typing import Any

from query.client.connection import HttpClient
from query.client.filters import to_filters

_PAGE_ROWS = 1_000

Record = dict[str, Any]


class RecordClient(HttpClient):
    """Manages links, imports and saved records; fields have their names in the API (`ogTitle`)."""

    def links(self, **where: Any) -> Iterator[Record]:
        """All links, oldest first; `externalId` restricts them."""
        return self._listed("/v1/links", where)

    def link(self, link_id: str) -> Record:
        """One link."""
        return self._record("GET", f"/v1/links/{link_id}")

    def create_link(self, name: str, target_url: str, **fields: Any) -> Record:
        """Create a short link."""
        return self._record("POST", "/v1/links", {"name": name, "targetUrl": target_url, **fields})

    def update_link(self, link_id: str, **fields: Any) -> Record:
        """Update fields of a link; None clears one."""
        return self._record("PATCH", f"/v1/links/{link_id}", fields)

    def delete_link(self, link_id: str) -> None:
        """Delete a link; its clicks stay stored."""
        self._json("DELETE", f"/v1/links/{link_id}")

    def imports(self, website_id: str | None = None) -> Iterator[Record]:
        """All imports, oldest first."""
        return self._listed("/v1/imports", {"websiteId": website_id})

    def import_(self, import_id: str) -> Record:
        """One import, with the number of its stored rows."""
        return self._record("GET", f"/v1/imports/{import_id}")

    def create_import(self, website_id: str, name: str) -> Record:
        """Create an import; send its items to POST /import of the collector."""
        return self._record("POST", "/v1/imports", {"websiteId": website_id, "name": name})

    def delete_import(self, import_id: str) -> Record:
        """Undo an import: its rows are removed."""
        return self._record("DELETE", f"/v1/imports/{import_id}")

    def saved(self, kind: str, website_id: str) -> Iterator[Record]:
        """Saved records of a website: goals, segments, annotations, money, shares, funnels."""
        return self._listed(f"/v1/{kind}", {"website_id": website_id})

    def create_saved(self, kind: str, website_id: str, **fields: Any) -> Record:
        """Save a goal, segment, annotation, money property or funnel: create_saved("goals", …)."""
        where = {"website_id": website_id}
        return self._record("POST", f"/v1/{kind}", _saved_fields(fields), where)

    def update_saved(self, kind: str, record_id: str, **fields: Any) -> Record:
        """Update fields of a saved record; None clears one."""
        return self._record("PATCH", f"/v1/{kind}/{record_id}", _saved_fields(fields))

    def delete_saved(self, kind: str, record_id: str) -> None:
        """Delete a saved record."""
        self._json("DELETE", f"/v1/{kind}/{record_id}")

    def receipt(self, receipt: str, bots: bool = False) -> Record:
        """The status of the items of one request to the collector, and which are bots'."""
        where = {"bots": True} if bots else None
        return self._record("GET", f"/v1/receipts/{receipt}", where=where)

    def _record(
        self, method: str, path: str, body: Record | None = None, where: Record | None = None
    ) -> Record:
        # A record that is created twice is two records: a broken connection is not retried.
        record: Record = self._json(method, path, body, where, repeat=method != "POST")["data"]
        return record

    def _listed(self, path: str, where: Record) -> Iterator[Record]:
        page, seen, total = 0, 0, 1
        while seen < total:
            page += 1
            found = self._json("GET", path, where={**where, "limit": _PAGE_ROWS, "page": page})
            yield from found["data"]
            seen, total = seen + _PAGE_ROWS, found["meta"]["total"]


def _saved_fields(fields: Record) -> Record:
    return {n: to_filters(v) if n == "filters" else v for n, v in fields.items()}
