"""The organization and its websites, for the client."""

from collections.abc import Iterator
from typing import Any

from query.client.records import Record, RecordClient


class ManagementClient(RecordClient):
    """Manages the organization of the key; fields have their names in the API."""

    def me(self) -> Record:
        """Organization, websites and scopes of the key."""
        found: Record = self._json("GET", "/v1/me")
        return found

    def organization(self) -> Record:
        """The organization of the key, with its plan."""
        return self._record("GET", "/v1/organization")

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
        """Create a website: name, timezone, allowedOrigins."""
        return self._record("POST", "/v1/websites", {"domain": domain, **fields})

    def update_website(self, website_id: str, **fields: Any) -> Record:
        """Update fields of a website."""
        return self._record("PATCH", f"/v1/websites/{website_id}", fields)

    def delete_website(self, website_id: str, domain: str) -> None:
        """Delete a website and its records; `domain` confirms it."""
        self._json("DELETE", f"/v1/websites/{website_id}", where={"domain": domain})

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

    def snippet(self, website_id: str, **options: Any) -> str:
        """The script tag for its pages: collect_url, scripts ("vitals,errors"), persist."""
        found = self._record("GET", f"/v1/websites/{website_id}/snippet", where=options)
        script: str = found["script"]
        return script

    def website_status(self, website_id: str) -> Record:
        """Whether events of the website have arrived, and when."""
        return self._record("GET", f"/v1/websites/{website_id}/status")
