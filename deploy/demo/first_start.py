"""First start: create the demo, import four weeks of traffic, send one, wait until it is queryable.

In this order: the sender, the import, the records of the demo, the first start itself.
"""

import http.client
import itertools
import os
import signal
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct, structs

from deploy.demo.demo_file import Demo, count_items, read_demo, write_demo
from deploy.demo.traffic import BOT_USER_AGENT, DemoVisit, generate_visits, last_week
from deploy.importer.import_records import save_progress, temporary_key
from deploy.importer.import_run import ImportProgress
from deploy.importer.sender import MAX_ITEMS, CollectorClient, ImportSendFailed, Notify
from schemas.registry import Import, ImportState, KeyScope, Link, RegistryStore, Website, parse_key
from schemas.registry.validation import new_import, new_key, new_link, new_organization, new_website
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.environment import load_settings
from schemas.runtime.service_urls import collector_url, query_service_url
from schemas.runtime.settings import Settings

SENDER_THREADS = 4
VISITS_PER_ROUND = 40
"""Visits sent between two progress reports."""
RETRY_TIMEOUT_SECONDS = 30.0
# With 401 or 403 the collector has not read the new website from the registry yet.
RETRYABLE_STATUSES = frozenset({401, 403, 404, 429, 503})

IsStopped = Callable[[], bool]


class DemoSendFailed(Exception):
    """The collector rejected a request or did not respond; the message contains its response."""


class DemoTarget(Struct, frozen=True):
    """The collector, website and short link that receive the visits."""

    collect_url: str
    website_id: str
    slug: str


class SendProgress(Struct, frozen=True):
    """How much has been sent so far."""

    visits: int
    total_visits: int
    items: int
    clicks: int


def send_visits(
    target: DemoTarget, visits: Sequence[DemoVisit], stopped: IsStopped, rate: float = 0
) -> Iterator[SendProgress]:
    """Send the visits in rounds, at most `rate` items/s (0: unlimited); yields the progress."""
    started, done, items, clicks = time.monotonic(), 0, 0, 0
    with ThreadPoolExecutor(SENDER_THREADS) as senders:
        for number in range(0, len(visits), VISITS_PER_ROUND):
            if stopped():
                return
            these = visits[number : number + VISITS_PER_ROUND]
            shares = [these[sender::SENDER_THREADS] for sender in range(SENDER_THREADS)]
            list(senders.map(_send_share, itertools.repeat(target), shares))
            done += len(these)
            items += sum(visit.items for visit in these)
            clicks += sum(visit.by_link for visit in these)
            yield SendProgress(done, len(visits), items, clicks)
            if rate:
                time.sleep(max(0.0, started + items / rate - time.monotonic()))


def _send_share(target: DemoTarget, share: Sequence[DemoVisit]) -> None:
    address = urlsplit(target.collect_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    try:
        for visit in share:
            for method, path, items in _requests(target, visit):
                _send(connection, method, path, items, _headers(visit))
    finally:
        connection.close()


def _requests(target: DemoTarget, visit: DemoVisit) -> Iterator[tuple[str, str, Sequence[Any]]]:
    client = urlencode({"client_id": target.website_id})
    if visit.by_link:
        yield "GET", f"/l/{target.slug}", ()
    yield "POST", f"/track?{urlencode({'website_id': target.website_id})}", visit.events
    if visit.vitals:
        yield "POST", f"/vitals?{client}", visit.vitals
    if visit.errors:
        yield "POST", f"/errors?{client}", visit.errors


def _headers(visit: DemoVisit) -> dict[str, str]:
    headers = {
        "User-Agent": visit.user_agent,
        "Accept-Language": visit.language,
        "CF-IPCountry": visit.country,
        "Content-Type": "application/json",
    }
    return {**headers, "Referer": visit.referrer} if visit.referrer else headers


def _send(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    items: Sequence[Any],
    headers: dict[str, str],
) -> None:
    """Send one request, with retries while the collector is not ready or limits the rate."""
    body = msgspec.json.encode(items) if items else None
    until = time.monotonic() + RETRY_TIMEOUT_SECONDS
    while True:
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            body_text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise DemoSendFailed(f"{method} {path}: {error}") from None
        if response.status < 400:
            return
        if response.status not in RETRYABLE_STATUSES or time.monotonic() > until:
            raise DemoSendFailed(
                f"{method} {path}: {response.status} {body_text[:200].decode(errors='replace')}"
            )
        time.sleep(0.5)


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
    "explorations": (
        {
            "name": "Bounce rate by entry page",
            "description": "Landing pages that visitors leave at once.",
            "metricsQuery": {
                "metrics": ["visits", "bounce_rate"],
                "dimensions": ["visit.entry_page"],
                "limit": 20,
            },
        },
        {
            "name": "Revenue by channel",
            "metricsQuery": {
                "metrics": [{"metric": "revenue"}],
                "dimensions": ["visit.channel", "currency"],
                "limit": 100,
            },
        },
        {
            "name": "Visitors by browser and day",
            "metricsQuery": {"metrics": ["visitors"], "dimensions": ["time:day", "browser_name"]},
            "shape": "line",
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
    """Goals, a segment, a funnel, a money property, explorations, and a note on the first day."""
    # Imported here: `tidemark keys` needs no query compiler.
    from query.resources.saved_types import SAVED_TYPES, convert_body, new_record

    secret = store.sign_ins().read(now_ms).secret
    note = {"start": str(format_instant(now_ms))[:10], "text": "Tidemark was started"}
    bodies = {**DEMO_SAVED_RECORDS, "annotations": (note,)}
    for saved in SAVED_TYPES:
        for members in bodies.get(saved.record.plural, ()):
            body = convert_body(saved.bodies.new, members)
            store.create(new_record(saved.record, website, body, now_ms, secret))


def replace_demo_key(folder: Path, old_id: str, text: str) -> None:
    """Store a rotated key in demo.json, if the old one is the demo's."""
    demo = read_demo(folder)
    parts = parse_key(demo.api_key) if demo else None
    if demo and parts and parts[0] == old_id:
        write_demo(folder, structs.replace(demo, api_key=text))


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


DEFAULT_VISITORS = 1200
DEFAULT_SEED = 2026
WEEKLY_VISITORS = 850
"""Of a first start; some come again in later weeks."""
VISIBLE_TIMEOUT_SECONDS = 60.0
PROGRESS_INTERVAL_SECONDS = 1.0


def first_start(settings: Settings, say: Notify, stopped: IsStopped) -> None:
    """Create the demo unless there is one; send traffic unless the setting `demo` is off."""
    if read_demo(settings.data):
        return
    demo = create_demo(settings)
    if settings.demo:
        try:
            older, recent = first_visits(now_ms())
            send_history(settings, demo, older, say, stopped)  # it is stored meanwhile
            send_visits_of_week(settings, demo, recent, say, stopped)
        except (DemoSendFailed, ImportSendFailed) as error:
            say(f"demo traffic: {error}")


def first_visits(now_ms: int) -> tuple[list[DemoVisit], list[DemoVisit]]:
    """The visits of a first start: those of the weeks before the last, and those of the last."""
    begin, end = last_week(now_ms)
    weeks = HISTORY_WEEKS * timedelta(weeks=1) // timedelta(milliseconds=1)
    visitors = (HISTORY_WEEKS + 1) * WEEKLY_VISITORS
    visits = generate_visits(DEFAULT_SEED, visitors, begin - weeks, end)
    recent = bisect_left(visits, begin, key=lambda visit: visit.start_ms)
    return visits[:recent], visits[recent:]


def send_week(
    settings: Settings,
    demo: Demo,
    visitors: int,
    seed: int,
    say: Notify,
    stopped: IsStopped,
    rate: float = 0,
) -> None:
    """Generate visits of the last seven days, and send them."""
    visits = generate_visits(seed, visitors, *last_week(now_ms()))
    send_visits_of_week(settings, demo, visits, say, stopped, rate)


def send_visits_of_week(
    settings: Settings,
    demo: Demo,
    visits: Sequence[DemoVisit],
    say: Notify,
    stopped: IsStopped,
    rate: float = 0,
) -> None:
    """Send visits of the last seven days, and wait until queries return them."""
    before = count_items(demo) or 0
    reported_at = 0.0
    for sent in send_visits(demo_target(settings, demo), visits, stopped, rate):
        if (
            sent.visits == sent.total_visits
            or time.monotonic() - reported_at > PROGRESS_INTERVAL_SECONDS
        ):
            reported_at = time.monotonic()
            say(
                f"demo traffic: {sent.visits} of {sent.total_visits} visits, "
                f"{sent.items} items, {sent.clicks} link clicks"
            )
    if not stopped():
        _wait_until_visible(demo, before, expected_counts(visits), say, stopped)


def demo_target(settings: Settings, demo: Demo) -> DemoTarget:
    """The target of the demo traffic."""
    store = RegistryStore(settings.registry_url)
    try:
        return DemoTarget(demo.collect_url, demo.website_id, store.get(Link, demo.link_id).slug)
    finally:
        store.close()


def _wait_until_visible(
    demo: Demo, before: int, stored: "ExpectedCounts", say: Notify, stopped: IsStopped
) -> None:
    until = time.monotonic() + VISIBLE_TIMEOUT_SECONDS
    while (count_items(demo) or 0) < before + stored.items and not stopped():
        if time.monotonic() > until:
            say("demo traffic: sent; still being stored")
            return
        time.sleep(0.3)
    if not stopped():
        say(f"demo traffic: stored: {stored.summary}")


class ExpectedCounts(Struct, frozen=True):
    """Rows expected in the tables after sending, bots counted separately."""

    human_events: int
    bot_events: int
    vitals: int
    errors: int

    @property
    def items(self) -> int:
        """All items except link clicks."""
        return self.human_events + self.bot_events + self.vitals + self.errors

    @property
    def summary(self) -> str:
        """The counts as text."""
        return (
            f"{self.human_events} events from people, {self.bot_events} from bots, "
            f"{self.vitals} vitals, {self.errors} errors"
        )


def expected_counts(visits: Sequence[DemoVisit]) -> ExpectedCounts:
    """Count the items of these visits by table."""
    bots = sum(len(visit.events) for visit in visits if visit.user_agent == BOT_USER_AGENT)
    return ExpectedCounts(
        human_events=sum(len(visit.events) for visit in visits) - bots,
        bot_events=bots,
        vitals=sum(len(visit.vitals) for visit in visits),
        errors=sum(len(visit.errors) for visit in visits),
    )


def main() -> None:
    """The first start as a process, which SIGTERM stops in order."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stopped.set())
    first_start(load_settings(os.environ), lambda line: print(line, flush=True), stopped.is_set)


if __name__ == "__main__":
    main()
