"""Rules of settings that hold addresses: each tells what a value must be, or None when it fits.

They look at the text only. No rule repeats the value, which may contain a password.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from schemas.runtime.app_schemes import parse_app_schemes

Rule = Callable[[str], str | None]

LAKE_RULE = (
    "must be a folder, file:///folder or s3://bucket/folder; the AWS_ variables have the "
    "credentials"
)
REGISTRY_RULE = "must be like sqlite:////folder/registry.db or postgresql://user@host/database"
KAFKA_RULE = (
    "must be host:port, several separated by commas; TIDEMARK_KAFKA_USERNAME and "
    "TIDEMARK_KAFKA_PASSWORD_FILE have the login"
)
URL_RULE = (
    "must have a host, and a port from 1 to 65535 if any; special characters of a password are "
    "percent-encoded"
)
TRACES_RULE = (
    "must be http://host:port or https://host:port without a login; "
    "OTEL_EXPORTER_OTLP_HEADERS has headers that the receiver needs"
)
COUNTRY_HEADERS_RULE = "must be names of HTTP headers, separated by commas"

_BUCKET = re.compile(r"s3://[A-Za-z0-9][A-Za-z0-9._-]*(/[^\s?#]*)?")
_DATABASE = re.compile(r"(sqlite(\+pysqlite)?|postgres|postgresql(\+psycopg)?)://")
_BROKER = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>\d{1,5}))?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def lake_problem(value: str) -> str | None:
    """A local folder, or a bucket of an object store without credentials in the address."""
    local = "://" not in value or value.startswith("file:///")
    return None if local or _BUCKET.fullmatch(value) else LAKE_RULE


def registry_problem(value: str) -> str | None:
    """One of the databases whose driver is installed."""
    return None if _DATABASE.match(value) else REGISTRY_RULE


def kafka_problem(value: str) -> str | None:
    """Hosts and ports without protocol or login."""
    brokers = [_BROKER.fullmatch(part.strip()) for part in value.split(",")]
    fits = all(broker and _is_port(broker["port"]) for broker in brokers)
    return None if fits else KAFKA_RULE


def url_problem(value: str) -> str | None:
    """A URL whose host and port can be read."""
    try:
        parts = urlsplit(value)
        fits = bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    return None if fits else URL_RULE


def traces_problem(value: str) -> str | None:
    """An http(s) URL without login: what the receiver needs of it is in the OTEL_ variables."""
    if not value.startswith(("http://", "https://")) or "@" in value or "?" in value:
        return TRACES_RULE
    return url_problem(value)


def engine_problem(value: str) -> str | None:
    """DuckDB, or the URL of a server; a password is only sent with TLS."""
    if value == "duckdb":
        return None
    if problem := url_problem(value):
        return problem
    open_password = value.startswith("trino://") and urlsplit(value).password
    return "has a password, which needs HTTPS: use trinos://" if open_password else None


def country_headers_problem(value: str) -> str | None:
    """Names that HTTP allows."""
    names = [part.strip() for part in value.split(",") if part.strip()]
    return None if all(map(_HEADER.fullmatch, names)) else COUNTRY_HEADERS_RULE


def link_schemes_problem(value: str) -> str | None:
    """Schemes that run no code."""
    try:
        parse_app_schemes(value)
    except ValueError as error:
        return f"must be schemes of apps such as myapp, other-app: {error}"
    return None


def _is_port(text: str | None) -> bool:
    return text is None or 1 <= int(text) <= 65_535


ADDRESS_RULES: Mapping[str, Rule] = {
    "lake": lake_problem,
    "registry": registry_problem,
    "limits_url": url_problem,
    "smtp_url": url_problem,
    "kafka": kafka_problem,
    "collect_url": url_problem,
    "query_url": url_problem,
    "oidc_issuer": url_problem,
    "country_headers": country_headers_problem,
    "link_schemes": link_schemes_problem,
    "engine": engine_problem,
    "traces": traces_problem,
}
"""Rules of settings by name; an empty value fits every one."""
