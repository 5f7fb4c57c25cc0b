"""The organization, its websites and other records, for the client."""

from collections.abc import Iterator, Mapping
from typing import Any

from query.client.connection import HttpClient
from query.client.filters import to_filters

_PAGE_ROWS = 1_000

Record = dict[str, Any]


class RecordClient(HttpClient):
    """Manages the organization of the key; fields have their names in the API (`ogTitle`)."""

    def me(self) -> Record:
        """Organization, websites and scopes of the key."""
        found: Record = self._json("GET", "/v1/me")
        return found

    def organization(self) -> Record:
        """The organization of the key, with its plan."""
        return self._record("GET", "/v1/organization")

    def keep_days(self, days: dict[str, int]) -> Record:
        """Days after which rows are deleted, by table or `all`, where a website has none."""
        return self._record("PATCH", "/v1/organization", {"keepDays": days})

    def rename_organization(self, name: str) -> Record:
        """Rename the organization of the key."""
        return self._record("PATCH", "/v1/organization", {"name": name})

    def websites(self) -> Iterator[Record]:
        """All websites that the key has access to, oldest first."""
        return self._listed("/v1/websites", {})

    def website(self, website_id: str) -> Record:
        """One website."""
        return self._record("GET", f"/v1/websites/{website_id}")

    def create_website(self, domain: str, **fields: Any) -> Record:
        """Create a website: name, timezone, allowedOrigins, keepDays."""
        return self._record("POST", "/v1/websites", {"domain": domain, **fields})

    def update_website(self, website_id: str, **fields: Any) -> Record:
        """Update fields of a website."""
        return self._record("PATCH", f"/v1/websites/{website_id}", fields)

    def delete_website(self, website_id: str, domain: str) -> None:
        """Delete a website and its records; `domain` confirms it."""
        self._json("DELETE", f"/v1/websites/{website_id}", where={"domain": domain})

    def deleted_websites(self) -> Iterator[Record]:
        """Deleted websites, with `purgedFrom` and whether they are `restorable`; oldest first."""
        return self._listed("/v1/deleted-websites", {})

    def restore_website(self, website_id: str) -> Record:
        """Restore a deleted website with its records, until its events are purged."""
        return self._record("POST", f"/v1/websites/{website_id}/restore")

    def keys(self, website_id: str | None = None) -> Iterator[Record]:
        """All API keys without their secrets, oldest first; or those of one website."""
        return self._listed("/v1/keys", {"website_id": website_id})

    def create_key(self, scopes: list[str], **fields: Any) -> Record:
        """Create an API key: name, websiteId, expiresAt; `key` is its text, shown only now."""
        return self._record("POST", "/v1/keys", {"scopes": scopes, **fields})

    def update_key(self, key_id: str, **fields: Any) -> Record:
        """Update scopes, name or expiresAt of an API key."""
        return self._record("PATCH", f"/v1/keys/{key_id}", fields)

    def rotate_key(self, key_id: str, overlap_hours: float = 24, **fields: Any) -> Record:
        """A new key with the same scopes; the old one ends after the overlap."""
        body = {"overlapHours": overlap_hours, **fields}
        return self._record("POST", f"/v1/keys/{key_id}/rotate", body)

    def revoke_key(self, key_id: str) -> Record:
        """End an API key at once; it stays listed."""
        return self._record("POST", f"/v1/keys/{key_id}/revoke")

    def delete_key(self, key_id: str) -> None:
        """End an API key at once; it is listed no more."""
        self._json("DELETE", f"/v1/keys/{key_id}")

    def changes(self, **where: Any) -> Iterator[Record]:
        """The audit trail, newest first: website_id, kind, record_id and actor restrict it."""
        before = None
        while True:
            page = {**where, "limit": 1_000, "before": before}
            found = self._json("GET", "/v1/audit", where=page)
            yield from found["data"]
            before = found["meta"]["next"]
            if before is None:
                return

    def limits(self, website_id: str | None = None) -> list[Record]:
        """The rate limits of the organization, with what the last minute used of them."""
        where = {"website_id": website_id}
        found: list[Record] = self._json("GET", "/v1/limits", where=where)["data"]
        return found

    def quarantine(self, website_id: str | None = None, days: int = 7) -> list[Record]:
        """Why items of a website were not stored, the most frequent reason first."""
        where = {"website_id": website_id, "days": days}
        found: list[Record] = self._json("GET", "/v1/quarantine", where=where)["data"]
        return found

    def refused(self, website_id: str | None = None) -> list[Record]:
        """Why the collectors refused items of a website, since their start."""
        where = {"website_id": website_id}
        found: list[Record] = self._json("GET", "/v1/quarantine/refused", where=where)["data"]
        return found

    def received(self, website_id: str | None = None) -> Record:
        """The last items that the collectors received, and why they rejected others."""
        where = {"website_id": website_id}
        found: Record = self._json("GET", "/debug", where=where, collect=True)
        return found

    def replay_quarantine(self, website_id: str, **fields: Any) -> Record:
        """Send items of the quarantine again: reasonContains, set, dryRun and others select."""
        return self._record("POST", "/v1/quarantine/replays", {"websiteId": website_id, **fields})

    def quarantine_replay(self, replay_id: str) -> Record:
        """One replay, with its report and what becomes of the items."""
        return self._record("GET", f"/v1/quarantine/replays/{replay_id}")

    def snippet(self, website_id: str, **options: Any) -> str:
        """The script tag for its pages: collect_url, scripts ("vitals,errors"), persist."""
        found = self._record("GET", f"/v1/websites/{website_id}/snippet", where=options)
        script: str = found["script"]
        return script

    def website_status(self, website_id: str) -> Record:
        """Whether events of the website have arrived, and when."""
        return self._record("GET", f"/v1/websites/{website_id}/status")

    def contract(self, website_id: str) -> Record:
        """The event contract of a website, and what it enforces."""
        return self._record("GET", f"/v1/websites/{website_id}/contract")

    def put_contract(
        self, website_id: str, contract: Mapping[str, Any], enforce: str = "off"
    ) -> Record:
        """Give a website an event contract, or replace it; `enforce` is off or refuse."""
        body = {"contract": contract, "enforce": enforce}
        return self._record("PUT", f"/v1/websites/{website_id}/contract", body)

    def remove_contract(self, website_id: str) -> None:
        """Remove the event contract of a website."""
        self._json("DELETE", f"/v1/websites/{website_id}/contract")

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
        """Saved records of a website: goals, segments, annotations, money, shares, aliases, …."""
        return self._listed(f"/v1/{kind}", {"website_id": website_id})

    def create_saved(self, kind: str, website_id: str, **fields: Any) -> Record:
        """Save a goal, segment, funnel, alias or another: create_saved("goals", …)."""
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
