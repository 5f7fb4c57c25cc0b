"""The first start: make the demo, send it a week of traffic, and wait until it can be asked for."""

import time
from collections.abc import Callable

from deploy.local.demo.people import BOT
from deploy.local.demo.question import count_events
from deploy.local.demo.records import Demo, create_demo, read_demo
from deploy.local.demo.sending import NotSent, Stopped, Target, send_all
from deploy.local.demo.traffic import Visit, last_week, visits
from schemas.clock import now_ms
from schemas.registry import Link, Store
from schemas.settings import Settings

VISITORS = 1200
SEED = 2026
VISIBLE_SECONDS = 60.0
TELL_SECONDS = 1.0

Say = Callable[[str], None]


def first_start(settings: Settings, say: Say, stopped: Stopped) -> None:
    """Does nothing when there is a demo; with `demo` off it sends no traffic."""
    if read_demo(settings.data):
        return
    demo = create_demo(settings)
    if settings.demo:
        try:
            send_week(settings, demo, VISITORS, SEED, say, stopped)
        except NotSent as refused:
            say(f"demo traffic: {refused}")


def send_week(
    settings: Settings,
    demo: Demo,
    visitors: int,
    seed: int,
    say: Say,
    stopped: Stopped,
    rate: float = 0,
) -> None:
    """Send the visits of the last seven days, and wait until a query shows them."""
    made = visits(seed, visitors, *last_week(now_ms()))
    before = count_events(demo) or 0
    told = 0.0
    for sent in send_all(target_of(settings, demo), made, stopped, rate):
        if sent.visits == sent.of or time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            say(
                f"demo traffic: {sent.visits} of {sent.of} visits, "
                f"{sent.items} items, {sent.clicks} link clicks"
            )
    if not stopped():
        _wait_until_visible(demo, before + _events(made), say, stopped)


def target_of(settings: Settings, demo: Demo) -> Target:
    """Where the demo's visits go."""
    store = Store(settings.registry_url)
    try:
        return Target(demo.collect_url, demo.website_id, store.get(Link, demo.link_id).slug)
    finally:
        store.close()


def _wait_until_visible(demo: Demo, events: int, say: Say, stopped: Stopped) -> None:
    until = time.monotonic() + VISIBLE_SECONDS
    while (count_events(demo) or 0) < events and not stopped():
        if time.monotonic() > until:
            say("demo traffic: sent; the stream is still storing it")
            return
        time.sleep(0.3)
    say(f"demo traffic: stored; questions see {events} events, vitals and errors beside them")


def _events(made: list[Visit]) -> int:
    """What at least a query shows: it may leave bots out."""
    return sum(len(visit.events) for visit in made if visit.user_agent != BOT)
