"""First start: create the demo, import weeks, send one of traffic, wait until it is queryable."""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import timedelta

from msgspec import Struct

from deploy.demo.demo_file import Demo, read_demo
from deploy.demo.example_queries import count_items
from deploy.demo.history import HISTORY_WEEKS, send_history
from deploy.demo.sender import DemoSendFailed, DemoTarget, IsStopped, send_visits
from deploy.demo.tenant import create_demo
from deploy.demo.traffic import DemoVisit, generate_visits, last_week
from deploy.demo.visitor_profiles import BOT_USER_AGENT
from deploy.importer.sender import ImportSendFailed
from schemas.registry import Link, RegistryStore
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

DEFAULT_VISITORS = 1200
DEFAULT_SEED = 2026
WEEKLY_VISITORS = 850
"""Of a first start; some come again in later weeks."""
VISIBLE_TIMEOUT_SECONDS = 60.0
PROGRESS_INTERVAL_SECONDS = 1.0

Notify = Callable[[str], None]


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
