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
        """Delete a website, its events and records; `domain` confirms it."""
        self._json("DELETE", f"/v1/websites/{website_id}", where={"domain": domain})

    def snippet(self, website_id: str, **options: Any) -> str:
        """The script tag for its pages: collect_url, scripts ("vitals,errors"), persist."""
        found = self._record("GET", f"/v1/websites/{website_id}/snippet", where=options)
        script: str = found["script"]
        return script

    def website_status(self, website_id: str) -> Record:
        """Whether events of the website have arrived, and when."""
        return self._record("GET", f"/v1/websites/{website_id}/status")
