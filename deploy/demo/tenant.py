"""Creates the demo's organization, website, link and API key."""

from pathlib import Path

from msgspec import structs

from deploy.demo.demo_file import Demo, read_demo, write_demo
from deploy.local.processes.readiness import collector_url, query_service_url
from schemas.registry import KeyScope, RegistryStore, parse_key
from schemas.registry.validation import new_key, new_link, new_organization, new_website
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

DEMO_DOMAIN = "demo.example"
# A plan with limits high enough for load tests.
DEMO_PLAN = "enterprise"
DEMO_SCOPES = (
    KeyScope.TRACK_EVENTS,
    KeyScope.READ_DATA,
    KeyScope.READ_LINKS,
    KeyScope.WRITE_LINKS,
    KeyScope.MANAGE_WEBSITES,
)


def create_demo(settings: Settings) -> Demo:
    """Create the records of the demo, and write demo.json."""
    now, store = now_ms(), RegistryStore(settings.registry_url, "first start")
    try:
        owner = store.create(new_organization("Demo", DEMO_PLAN, now))
        website = store.create(new_website(owner.id, DEMO_DOMAIN, now, name="Demo website"))
        link = store.create(new_link(owner.id, "Demo link", f"https://{DEMO_DOMAIN}/pricing", now))
        key, text = new_key(owner.id, DEMO_SCOPES, now, name="Demo key")
        store.create(key)
    finally:
        store.close()
    urls = collector_url(settings), query_service_url(settings)
    demo = Demo(*urls, owner.id, website.id, text, link.id)
    write_demo(settings.data, demo)
    return demo


def replace_demo_key(folder: Path, old_id: str, text: str) -> None:
    """Store a rotated key in demo.json, if the old one is the demo's."""
    demo = read_demo(folder)
    parts = parse_key(demo.api_key) if demo else None
    if demo and parts and parts[0] == old_id:
        write_demo(folder, structs.replace(demo, api_key=text))
