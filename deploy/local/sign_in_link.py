"""The address that signs a browser in to the dashboard, once."""

import os
import sys
from pathlib import Path
from shutil import which

from deploy.demo.demo_file import read_demo
from query.docs.dashboard import INDEX, PAGE_FOLDER
from schemas.registry import DatabaseError, RecordNotFound, RegistryStore, parse_key
from schemas.registry.records import Key
from schemas.registry.signed_tokens import TokenKind, new_token, sign
from schemas.runtime.clock import now_ms as now
from schemas.runtime.service_urls import query_service_url
from schemas.runtime.settings import Settings

LINK_MINUTES = 15


def sign_in_link(store: RegistryStore, query_url: str, key_id: str, now_ms: int) -> str:
    """The address; RecordNotFound for a key that is not active."""
    if not store.get(Key, key_id).is_active(now_ms):
        raise RecordNotFound(f"the API key '{key_id}' is revoked or has expired")
    token = new_token(TokenKind.SIGN_IN_LINK, key_id, now_ms + LINK_MINUTES * 60_000)
    return f"{query_url}/sign-in#{sign(token, store.sign_ins().read(now_ms).secret)}"


def has_dashboard() -> bool:
    """Whether the page is built."""
    return (PAGE_FOLDER / INDEX).is_file()


def command_name() -> str:
    """The command line as it is called in this folder; it may not be on the search path."""
    if which("tidemark"):
        return "tidemark"
    return os.path.relpath(Path(sys.executable).parent / "tidemark")


def address_to_open(settings: Settings, shows_link: bool) -> str:
    """What to open in a browser; a link that signs in only on a terminal, not in a log."""
    address, demo = query_service_url(settings), read_demo(settings.data)
    if not has_dashboard():
        return f"Open {address}/ in a browser: overview and API page"
    key = parse_key(demo.api_key) if demo and settings.demo else None
    if key is None or not shows_link:
        command = f"{command_name()} sign-in-link --url {address}"
        return f"Dashboard: {address}/; `{command}` prints an address that signs in"
    store = RegistryStore(settings.registry_url)
    try:
        link = sign_in_link(store, address, key[0], now())
    except (DatabaseError, RecordNotFound):
        return f"Dashboard: {address}/"
    finally:
        store.close()
    return f"Open the dashboard, signed in (once, within 15 minutes):\n\n  {link}\n"
