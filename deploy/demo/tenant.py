"""Creates the demo's organization, website, link, API key and saved records."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from deploy.demo.demo_file import Demo, read_demo, write_demo
from schemas.registry import KeyScope, RegistryStore, Website, parse_key
from schemas.registry.validation import new_key, new_link, new_organization, new_website
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.service_urls import collector_url, query_service_url
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
    KeyScope.ADMIN,
)


DEMO_SAVED_RECORDS: Mapping[str, Sequence[Mapping[str, object]]] = {
    "goals": (
        {"name": "Sign-up", "event": "signup"},
        {"name": "Purchase", "event": "purchase", "valueProperty": "properties.amount"},
        {"name": "Pricing seen", "path": "/pricing"},
    ),
    "segments": (
        {
            "name": "Phones",
            "filters": [{"field": "device_type", "operator": "eq", "value": "mobile"}],
        },
    ),
    "funnels": (
        {
            "name": "Pricing to purchase",
            "steps": [{"path": "/pricing"}, {"event": "signup"}, {"event": "purchase"}],
        },
    ),
    "money": (
        {
            "name": "Revenue",
            "event": "purchase",
            "property": "properties.amount",
            "currencyProperty": "properties.currency",
        },
    ),
}
"""Bodies of saved records by the name of their route."""


def create_demo(settings: Settings) -> Demo:
    """Create the records of the demo, and write demo.json."""
    now, store = now_ms(), RegistryStore(settings.registry_url, "first start")
    try:
        owner = store.create(new_organization("Demo", DEMO_PLAN, now))
        website = store.create(new_website(owner.id, DEMO_DOMAIN, now, name="Demo website"))
        link = store.create(new_link(owner.id, "Demo link", f"https://{DEMO_DOMAIN}/pricing", now))
        key, text = new_key(owner.id, DEMO_SCOPES, now, name="Demo key")
        store.create(key)
        _create_saved_records(store, website, now)
    finally:
        store.close()
    urls = collector_url(settings), query_service_url(settings)
    demo = Demo(*urls, owner.id, website.id, text, link.id)
    write_demo(settings.data, demo)
    return demo


def _create_saved_records(store: RegistryStore, website: Website, now_ms: int) -> None:
    """Goals, a segment, a funnel, a money property, and a note on the first day."""
    # Imported here: `tidemark keys` needs no query compiler.
    from query.resources.saved_types import SAVED_TYPES, convert_body, new_record

    note = {"start": str(format_instant(now_ms))[:10], "text": "Tidemark was started"}
    bodies = {**DEMO_SAVED_RECORDS, "annotations": (note,)}
    for saved in SAVED_TYPES:
        for members in bodies.get(saved.record.plural, ()):
            body = convert_body(saved.bodies.new, members)
            store.create(new_record(saved.record, website, body, now_ms))


def replace_demo_key(folder: Path, old_id: str, text: str) -> None:
    """Store a rotated key in demo.json, if the old one is the demo's."""
    demo = read_demo(folder)
    parts = parse_key(demo.api_key) if demo else None
    if demo and parts and parts[0] == old_id:
        write_demo(folder, structs.replace(demo, api_key=text))
