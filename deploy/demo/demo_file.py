"""`demo.json`: addresses, ids and API key of the demo."""

import os
from pathlib import Path

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
