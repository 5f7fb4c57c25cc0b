"""Address of a Trino coordinator: `trino://user@host:8080/catalog.schema`."""

from urllib.parse import unquote, urlsplit

from msgspec import Struct

FORM = "trino://user@host:8080/catalog.schema, or trinos:// for HTTPS"
SCHEMES = {"trino": "http", "trinos": "https"}


class TrinoAddress(Struct, frozen=True):
    """Where the coordinator is, who asks it, and which schema has the tables."""

    url: str
    user: str
    catalog: str
    schema: str
    password: str | None = None

    def __str__(self) -> str:
        """Without the password."""
        return f"{self.url} ({self.catalog}.{self.schema})"


def parse_address(text: str) -> TrinoAddress:
    """The address of a setting; ValueError with what it should be."""
    parts = urlsplit(text)
    catalog, _, schema = parts.path.strip("/").partition(".")
    if parts.scheme not in SCHEMES or not (parts.hostname and parts.username and schema):
        raise ValueError(f"must be {FORM}")
    scheme = SCHEMES[parts.scheme]
    if parts.password and scheme == "http":
        raise ValueError("has a password, which needs HTTPS: use trinos://")
    port = parts.port or (8443 if scheme == "https" else 8080)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    password = unquote(parts.password) if parts.password else None
    return TrinoAddress(
        f"{scheme}://{host}:{port}", unquote(parts.username), catalog, schema, password
    )
