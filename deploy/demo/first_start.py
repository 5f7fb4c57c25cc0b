"""The first start: make the demo, send it a week of traffic, and wait until it can be asked for."""

import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from deploy.demo.example_queries import count_items
from deploy.demo.registry_records import Demo, read_demo
from deploy.demo.sender import NotSent, Stopped, Target, send_all
from deploy.demo.tenant import create_demo
from deploy.demo.traffic import Visit, last_week, visits
from deploy.demo.visitor_profiles import BOT
from schemas.registry import Link, Store
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

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
    before = count_items(demo) or 0
    told = 0.0
    for sent in send_all(target_of(settings, demo), made, stopped, rate):
        if sent.visits == sent.of or time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            say(
                f"demo traffic: {sent.visits} of {sent.of} visits, "
                f"{sent.items} items, {sent.clicks} link clicks"
            )
    if not stopped():
        _wait_until_visible(demo, before, stored_of(made), say, stopped)


def target_of(settings: Settings, demo: Demo) -> Target:
    """Where the demo's visits go."""
    store = Store(settings.registry_url)
    try:
        return Target(demo.collect_url, demo.website_id, store.get(Link, demo.link_id).slug)
    finally:
        store.close()


def _wait_until_visible(
    demo: Demo, before: int, stored: "Stored", say: Say, stopped: Stopped
) -> None:
    until = time.monotonic() + VISIBLE_SECONDS
    while (count_items(demo) or 0) < before + stored.items and not stopped():
        if time.monotonic() > until:
            say("demo traffic: sent; the stream is still storing it")
            return
        time.sleep(0.3)
    if not stopped():
        say(f"demo traffic: stored: {stored.told}")


class Stored(Struct, frozen=True):
    """What a week of visits leaves in the tables; questions leave programs out unless asked."""

    people: int
    programs: int
    vitals: int
    errors: int

    @property
    def items(self) -> int:
        """All rows, clicks on links aside."""
        return self.people + self.programs + self.vitals + self.errors

    @property
    def told(self) -> str:
        """The same for a person."""
        return (
            f"{self.people} events of people, {self.programs} of programs, "
            f"{self.vitals} vitals, {self.errors} errors"
        )


def stored_of(made: Sequence[Visit]) -> Stored:
    """What these visits send, counted by where it goes."""
    programs = sum(len(visit.events) for visit in made if visit.user_agent == BOT)
    return Stored(
        people=sum(len(visit.events) for visit in made) - programs,
        programs=programs,
        vitals=sum(len(visit.vitals) for visit in made),
        errors=sum(len(visit.errors) for visit in made),
    )
