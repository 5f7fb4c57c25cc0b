"""The weeks before those of the demo: the collector takes older events in imports only."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import msgspec

from deploy.demo.demo_file import Demo
from deploy.demo.sender import IsStopped
from deploy.demo.traffic import DemoVisit
from deploy.importer.import_records import save_progress, temporary_key
from deploy.importer.import_run import ImportProgress
from deploy.importer.sender import MAX_ITEMS, CollectorClient, Notify
from schemas.registry import Import, ImportState, RegistryStore, Website
from schemas.registry.validation import new_import
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

HISTORY_WEEKS = 4
"""Weeks before the last one, so that the last 30 days can be seen and compared."""
IMPORT_NAME = "demo-history.ndjson"


def send_history(
    settings: Settings, demo: Demo, visits: Sequence[DemoVisit], say: Notify, stopped: IsStopped
) -> None:
    """Import visits of earlier weeks; ImportSendFailed when the collector refuses."""
    store = RegistryStore(settings.registry_url, "first start")
    try:
        record = store.create(
            new_import(store.get(Website, demo.website_id), IMPORT_NAME, now_ms())
        )
        lines = [msgspec.json.encode(event) for event in imported_events(visits)]
        at = ImportProgress()
        with (
            temporary_key(store, record) as key,
            closing(CollectorClient(demo.collect_url, key, record.id, say)) as client,
        ):
            for begin in range(0, len(lines), MAX_ITEMS):
                if stopped():
                    return
                items = lines[begin : begin + MAX_ITEMS]
                reply = client.send(items)
                at = ImportProgress(
                    at.lines + len(items),
                    at.accepted + reply.count,
                    at.rejected + len(reply.rejected),
                )
                save_progress(store, record, at)
        store.update(Import, record.id, now_ms(), state=ImportState.DONE)
        say(f"demo traffic: {at.accepted} events of the {HISTORY_WEEKS} weeks before, imported")
    finally:
        store.close()


def imported_events(visits: Sequence[DemoVisit]) -> Iterator[dict[str, Any]]:
    """The events of the visits as lines of an import, with what requests say of live ones."""
    line = 0
    for visit in visits:
        for event in visit.events:
            line += 1
            yield {
                **event,
                "line": line,
                "user_agent": visit.user_agent,
                "country": visit.country,
            }
