"""`demo.json`: addresses, ids and API key of the demo; queries with that key."""

import http.client
import os
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct, structs

from schemas.runtime.service_urls import collector_url, query_service_url
from schemas.runtime.settings import Settings

DEMO_FILE = "demo.json"


class Demo(Struct, frozen=True, rename="camel"):
    """The content of `demo.json`."""

    collect_url: str
    query_url: str
    organization_id: str
    website_id: str
    api_key: str
    link_id: str


def read_demo(folder: Path) -> Demo | None:
    """The demo of this data folder; None before a first start."""
    try:
        return msgspec.json.decode((folder / DEMO_FILE).read_bytes(), type=Demo)
    except FileNotFoundError:
        return None


def refresh_addresses(settings: Settings) -> None:
    """Store the addresses of this start: ports may have changed, or the folder was copied."""
    demo = read_demo(settings.data)
    if demo is None:
        return
    present = structs.replace(
        demo, collect_url=collector_url(settings), query_url=query_service_url(settings)
    )
    if present != demo:
        write_demo(settings.data, present)


def write_demo(folder: Path, demo: Demo) -> None:
    """Replace the file atomically, readable only for its owner: it contains a key."""
    path = folder / DEMO_FILE
    waiting = path.with_suffix(f".{os.getpid()}")
    waiting.touch(mode=0o600)
    waiting.write_bytes(msgspec.json.format(msgspec.json.encode(demo), indent=2) + b"\n")
    waiting.replace(path)


def example_query(settings: Settings, shows_key: bool = True) -> str:
    """A `curl` request to try; empty without a demo. `shows_key=False` refers to a key file."""
    demo = read_demo(settings.data)
    if demo is None:
        return ""
    header = f"x-api-key: {demo.api_key}" if shows_key else f"@{_header_file(settings, demo)}"
    body = {"parameters": ["summary", "pages", "traffic"], "preset": "last_7d"}
    address = f"{demo.query_url}/v1/query?{urlencode({'website_id': demo.website_id})}"
    return (
        "\nQuery the last 7 days of the demo website:\n\n"
        f"  curl -s -X POST {shlex.quote(address)} \\\n"
        f"    -H {shlex.quote(header)} -H 'Content-Type: application/json' \\\n"
        f"    -d {shlex.quote(msgspec.json.encode(body).decode())}\n"
    )


def _header_file(settings: Settings, demo: Demo) -> Path:
    """Write the key as a curl header file, readable only for its owner."""
    path = settings.data / "demo.header"
    path.touch(mode=0o600)
    path.write_text(f"x-api-key: {demo.api_key}\n")
    return path


COUNTED_TABLES = ("events", "vitals", "errors")


def count_items(demo: Demo) -> int | None:
    """Items of the demo website that were sent for 7 days until now, bots included.

    None when a query fails.
    """
    counts = [_count(demo, table) for table in COUNTED_TABLES]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _count(demo: Demo, table: str) -> int | None:
    select = {"field": "*", "aggregate": "count", "alias": "items"}
    query = {"table": table, "selects": [select]}
    body = {"query": query, **_week(), "timezone": "UTC", "include_bots": True}
    address = urlsplit(demo.query_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=15)
    try:
        connection.request(
            "POST",
            f"/v1/query/custom?{urlencode({'website_id': demo.website_id})}",
            msgspec.json.encode(body),
            {"x-api-key": demo.api_key, "Content-Type": "application/json"},
        )
        response = connection.getresponse()
        rows: list[dict[str, Any]] = msgspec.json.decode(response.read()).get("data") or []
        return int(rows[0]["items"]) if response.status == 200 and rows else None
    except (OSError, http.client.HTTPException, msgspec.DecodeError):
        return None
    finally:
        connection.close()


def _week() -> dict[str, str]:
    today = datetime.now(UTC).date()
    return {"startDate": str(today - timedelta(days=7)), "endDate": str(today)}
