"""Fixed traffic: some hundred coherent sessions with values at the bounds of each definition.

Groups of random rows have one or two members; here they have many, sessions have several pages, and
gaps, durations and instants lie a millisecond before, at and after each limit.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from schemas.tables import CLICKS, ENGAGEMENT, ERRORS, EVENTS, IDENTITIES, VITALS, Table
from tests.oracle import wall_clock
from tests.oracle.random_traffic import DAY_MS, Stage, Traffic
from tests.oracle.traffic_values import (
    AGENTS,
    BOT_REASONS,
    CAMPAIGNS,
    DOMAINS,
    HOSTS,
    NAMES,
    PLACES,
    PLAIN_MESSAGES,
    PROPERTIES,
    SOURCES,
    VITAL_NAMES,
    StoredRow,
)
from tests.oracle.wall_clock import MINUTE
from tests.query.lake import Stored, hashed
from tests.query.query_service import NOW

PEOPLE = 24
PATHS = ("/", "/", "/a", "/a", "/a/b", "/ü ñ", "/pricing", None)
GAPS = (0, 1, 900, 9_999, 10_000, 10_001, 60_000, 899_999, 900_000, 900_001, 1_800_000)
"""Milliseconds between two rows of a visit."""
SECONDS = (
    "0.0001",
    "1",
    "1.0001",
    "9.9994",
    "9.9995",
    "10",
    "10.0001",
    "59.5",
    "3600",
    "3599.9999",
)
"""Visible time on a page."""
DEPTHS = ("0", "24.9999", "25", "50", "74.9999", "75", "100")
VITAL_VALUES = (
    *("0.0500", "0.1", "0.1001", "0.25", "0.2501", "199.9999", "200", "500"),
    *("800", "1800", "2500", "2500.0001", "4000", "4000.0001"),
)
NOWS = [
    edge * MINUTE + by for edge in (-60, -59, -5, -2, -1, 0, 5) for by in (-1, 0, 1)
]  # fmt: skip
"""Timestamps around NOW, for the real-time query types."""


class Person:
    """Who comes again and again, mostly with the same device from the same place."""

    def __init__(self, random: Random, number: int) -> None:
        self.id = None if number == 0 else f"u{number}"
        self.agent: StoredRow = random.choice(AGENTS)
        self.place: StoredRow = random.choice(PLACES)
        self.source: StoredRow = {**random.choice(SOURCES), **random.choice(CAMPAIGNS)}


class FixedTraffic:
    """Writes rows down as people come and go."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.random = Random(seed)
        self.start, self.beyond = wall_clock.bounds(stage.day, stage.day, stage.zone)
        self.people = [Person(self.random, number) for number in range(PEOPLE)]
        self.rows = Traffic()

    def live(self, visits: int) -> Traffic:
        """All rows, in the order in which they arrived."""
        for number, begin in enumerate(self.beginnings(visits)):
            person = self.people[1] if number == 1 else self.random.choice(self.people)
            self.visit(person, None if number % 17 == 0 else f"s{number}", begin)
        self.random.shuffle(self.rows)
        return self.rows

    def beginnings(self, visits: int) -> Iterator[int]:
        """When visits begin: at borders of days and hours, at this moment, and anywhere."""
        edges = [edge + by for edge in (self.start, self.beyond) for by in (-1, 0, 1, -10_000)]
        if self.start - DAY_MS <= NOW <= self.beyond + DAY_MS:
            edges += [NOW + moment for moment in NOWS]
        for number in range(visits):
            anywhere = self.random.randint(self.start - DAY_MS, self.beyond + DAY_MS)
            yield edges[number // 2 % len(edges)] if number % 2 else anywhere

    def visit(self, person: Person, session: str | None, begin: int) -> None:
        """Pages one after the other, what is done on them, and the way out."""
        common = self.common(person, session)
        at = begin
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 6))):
            path = self.random.choice(PATHS)
            self.put(EVENTS, at, common, self.view(person), path=path)
            at = self.act(at, common, path)
            self.put(ENGAGEMENT, at, common, self.used(), path=path)
        if self.random.random() < 0.3:
            self.put(IDENTITIES, at, common, self.known())
        if self.random.random() < 0.5:
            at += self.gap()
            self.put(EVENTS, at, common, self.leaving(), path=path)
        if person.id and self.random.random() < 0.4:
            self.click(at, common, person)

    def act(self, at: int, common: StoredRow, path: str | None) -> int:
        """Events on a page, and the time until the next page."""
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            at += self.gap()
            table, own = self.deed()
            self.put(table, at, common, own, path=path or "/")
        return at + self.gap()

    def deed(self) -> tuple[Table, StoredRow]:
        """A custom event, a click that leaves, an error, a measurement."""
        pick = self.random.choice
        deeds: list[tuple[Table, StoredRow]] = [
            (EVENTS, {"name": pick(NAMES), "properties": pick(PROPERTIES)}),
            (
                EVENTS,
                {
                    "name": "outbound_click",
                    "outbound_domain": (domain := pick(DOMAINS)),
                    "href": f"https://{domain}/{pick('12')}",
                    "link_text": pick(("more", "mehr ü", None)),
                },
            ),
            (
                ERRORS,
                {
                    "message": pick(PLAIN_MESSAGES),
                    "error_type": pick((None, "TypeError")),
                    "level": "error",
                    "lineno": pick((None, 12)),
                },
            ),
            (
                VITALS,
                {"metric_name": pick(VITAL_NAMES), "metric_value": Decimal(pick(VITAL_VALUES))},
            ),
            (
                VITALS,
                {"metric_name": pick(VITAL_NAMES), "metric_value": Decimal(pick(VITAL_VALUES))},
            ),
        ]
        return pick(deeds)

    def view(self, person: Person) -> StoredRow:
        """A page view; only sometimes with a source of its own."""
        pick = self.random.choice
        return {
            "name": pick(("screen_view", "screen_view", "pageview")),
            **(person.source if self.random.random() < 0.7 else pick(SOURCES)),
            "title": pick(("Home", None)),
            "load_time": pick((None, 0, 120, 2_999, 3_000, 3_001)),
            "ttfb": pick((None, 31)),
        }

    def leaving(self) -> StoredRow:
        pick = self.random.choice
        return {
            "name": "page_exit",
            "time_on_page": Decimal(seen) if (seen := pick((None, *SECONDS))) else None,
            "scroll_depth": Decimal(pick(DEPTHS)),
            "interaction_count": pick((None, 0, 3)),
        }

    def used(self) -> StoredRow:
        """How a page was used."""
        pick = self.random.choice
        fields, forms = pick((None, 0, 2)), pick((None, 0, 1))
        return {
            "time_on_page": Decimal(seen) if (seen := pick((None, *SECONDS))) else None,
            "active_time": Decimal(seen) if (seen := pick((None, *SECONDS))) else None,
            "time_to_first_interaction": Decimal(pick((0, 0, 1, 800, 801, 4000))),
            "max_scroll_depth": Decimal(pick(DEPTHS)),
            "interaction_count": pick((None, 0, 3)),
            "rage_click_count": pick((None, 0, 0, 1)),
            "rage_click_target": pick(("", "#buy", "#büy", None)),
            "dead_click_count": pick((None, 0, 4)),
            "dead_click_target": pick(("img", "#logo")),
            "form_field_count": fields,
            "form_submit_count": forms,
            "form_abandoned": bool(fields) and not forms,
            "last_form_field": pick(("email", "name", "")),
            "error_count": pick((None, 0, 1)),
        }

    def known(self) -> StoredRow:
        """Who a visitor is said to be."""
        pick = self.random.choice
        return {"profile_id": pick(("p1", "p2")), "traits": pick((None, '{"plan":"pro"}'))}

    def click(self, at: int, common: StoredRow, person: Person) -> None:
        own = {"link_id": "go", "organization_id": "acme", "slug": "go", **person.source}
        self.put(CLICKS, at + self.gap(), common, own)

    def common(self, person: Person, session: str | None) -> StoredRow:
        """Fields that all rows of a visit share."""
        return {
            "website_id": self.random.choice(("shop",) * 9 + ("blog",)),
            "anonymous_id": person.id,
            "visitor_hash": hashed(person.id),
            "session_id": session,
            "session_hash": hashed(session),
            "host": HOSTS[(hashed(session) or 0) % len(HOSTS)],
            "is_bot": self.random.random() < 0.06,
            "bot_reason": BOT_REASONS[(hashed(person.id) or 0) % len(BOT_REASONS)],
            "rules_version": 1,
            **(person.agent if self.random.random() < 0.9 else self.random.choice(AGENTS)),
            **person.place,
        }

    def gap(self) -> int:
        return self.random.choice(GAPS)

    def put(self, table: Table, ms: int, common: StoredRow, own: StoredRow, **more: Any) -> None:
        """One row, received a moment later, rarely days later."""
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
        late = timedelta(days=2) if self.random.random() < 0.03 else timedelta(milliseconds=250)
        values = {
            **common,
            **own,
            **more,
            "ts": at,
            "received_at": at + late,
            "kafka_partition": self.random.choice((0, 1)),
            "seq": self.random.choice((0, 1)),
        }
        known = {column.name: values.get(column.name) for column in table.columns}
        known.pop("day", None)
        self.rows.append(Stored(table, known))


def fixed_traffic(stage: Stage, seed: int = 1, visits: int = 150) -> Traffic:
    """The rows of all tables around the day of the stage."""
    return FixedTraffic(stage, seed).live(visits)
